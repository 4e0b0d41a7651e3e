"""Numbers of the program that a traced function reads or changes: what happens once, and looks as if it went on."""
import dis
import inspect
import types

from wafersmith.errors import TraceWarning
from wafersmith.sources import warn

SCALAR = (bool, int, float, str)


class Scalars:
  """The globals and enclosing variables of a function that are plain numbers, truth values or texts."""

  def __init__(self, function):
    self._function = inspect.unwrap(function)
    self._code = getattr(self._function, "__code__", None)
    self._kept, self._warned = {}, set()
    self.arguments = {}   # of the call that was traced, those that are numbers
    self._globals = sorted(_globals_of(self._code)) if self._code else []

  def values(self):
    if self._code is None:
      return {}
    found = {}
    names = self._function.__globals__
    for name in self._globals:
      if isinstance(names.get(name), SCALAR):
        found[name] = names[name]
    for name, cell in zip(self._code.co_freevars, self._function.__closure__ or ()):
      try:
        if isinstance(cell.cell_contents, SCALAR):
          found[name] = cell.cell_contents
      except ValueError:   # not assigned yet
        pass
    return found

  def note(self, step, before):
    """After the one trace: what the function changed itself happens this once."""
    self._kept = self.values()
    for name, value in self._kept.items():
      if name in before and before[name] != value:
        self._warn(f"{step}() changes '{name}' while it is traced; that happens once, not in every iteration", name)

  def warn_of_changes(self, step, arguments):
    """`arguments` are those of this call, as `self.arguments` were of the trace."""
    before = {**self._kept, **self.arguments}
    for name, value in {**self.values(), **arguments}.items():
      if name in before and before[name] != value:
        self._warn(f"'{name}' was {before[name]!r} when {step}() was traced and is a constant of its graph; that "
                   f"it is {value!r} now changes nothing", name)

  def _warn(self, message, name):
    if name not in self._warned:
      self._warned.add(name)
      warn(f"{message} (retrace_every_iteration=True traces in every iteration)", TraceWarning)


def _globals_of(code):
  """Names that the code takes from its module, functions within it too."""
  found = {i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "STORE_GLOBAL")}
  for part in code.co_consts:
    if isinstance(part, types.CodeType):
      found |= _globals_of(part)
  return found
