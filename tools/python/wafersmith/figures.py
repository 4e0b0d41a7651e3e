"""What a backend knows of its runs: cycles from the simulator, and where the host's time went."""
from wafersmith.transfers import Log

_MANY = 10         # traces from which on their share says something
_LARGE_SHARE = 0.5


class Statistics:
  def __init__(self):
    self.log = Log()
    self.trace_seconds = self.compile_seconds = self.execute_seconds = 0.0
    self.traces = self.iterations = 0
    self.interval_cycles = None   # between two steps in the steady state; of the last run
    self.cycles = None            # of the last run, all its iterations
    self.raw = {}                 # stats.json of the last run

  @property
  def transfers(self):
    return self.log.transfers()

  def note_run(self, stats, iterations, seconds):
    self.raw, self.cycles = stats, stats.get("cycles")
    self.iterations += iterations
    self.execute_seconds += seconds
    interval = stats.get("interval_cycles")
    if interval is None and self.cycles is not None:
      interval = self.cycles / iterations   # too few samples for a steady state: one step after the other
    if interval is not None and interval == int(interval):
      interval = int(interval)
    self.interval_cycles = interval

  @property
  def trace_share(self):
    """Of the time for tracing and executing, how much tracing takes."""
    whole = self.trace_seconds + self.execute_seconds
    return self.trace_seconds / whole if whole else 0.0

  @property
  def hint(self):
    """What would make it faster; empty if there is nothing to say."""
    if self.traces < _MANY or self.trace_share <= _LARGE_SHARE:
      return ""
    return (f"tracing takes {100 * self.trace_share:.0f} % of the time; without retrace_every_iteration a step is "
            "traced once")

  def __str__(self):
    lines = [f"{self.iterations} iterations, {self.traces} traces",
             f"trace {self.trace_seconds:.3f} s, compile {self.compile_seconds:.3f} s, "
             f"execute {self.execute_seconds:.3f} s"]
    if self.interval_cycles is not None:
      lines.append(f"{self.interval_cycles:,.0f} cycles a step")
    return "\n".join(lines + ([f"hint: {self.hint}"] if self.hint else []))
