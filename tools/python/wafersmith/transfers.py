"""What crosses between host and wafer: each tensor counts once, however often its values go."""
_listening = []   # logs of open sections, the innermost last


class Transfers(int):
  """The number of tensors that crossed; `tensors` has (name, direction, bytes, times) of each."""

  def __new__(cls, entries=()):
    made = super().__new__(cls, len(entries))
    made.tensors = list(entries)
    return made


class Log:
  def __init__(self):
    self._entries = {}

  def note(self, name, direction, size, times=1):
    before = self._entries.get((name, direction), (0, 0))
    self._entries[name, direction] = (before[0] + size, before[1] + times)

  def transfers(self):
    return Transfers([(name, direction, *entry) for (name, direction), entry in self._entries.items()])


def note(statistics, name, direction, size, times=1):
  """`direction` is "to wafer" or "to host". The innermost section counts it, and the backend."""
  statistics.log.note(name, direction, size, times)
  if _listening:
    _listening[-1].note(name, direction, size, times)


def listen(log):
  _listening.append(log)


def stop(log):
  _listening.remove(log)
