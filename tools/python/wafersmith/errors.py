"""What can go wrong with graphs, programs and simulations, by name."""
import re

_PLACE = re.compile(r"\bat (\S+\.csl):(\d+)")   # in the simulator's messages


class WafersmithError(RuntimeError):
  """Base of all errors below; `where` is the line of the user's program, None if there is none."""

  def __init__(self, message, where=None):
    super().__init__(f"{where}: {message}" if where else message)
    self.where = where


class StaticGraphError(WafersmithError):
  """The traced function needs something that a static graph does not have, such as the value of a tensor."""


class GraphChanged(WafersmithError):
  """The graph of an iteration is not that of the first one.

  `iteration` is its number (from 0), `node` the number of the first node that differs (None if none does), `before` and
  `after` the lines of the program that made the two.
  """

  def __init__(self, message, iteration=None, node=None, before=None, after=None):
    super().__init__(message)
    self.iteration, self.node, self.before, self.after = iteration, node, before, after


class CompileError(WafersmithError):
  """The compiler refused a graph, a model or a layout.

  `messages` are what it said, each with kind, file, line, column, text and help; `file` and `line` those of the first error
  that has a place, else "" and 0.
  """

  def __init__(self, message, where=None, messages=()):
    super().__init__(message, where)
    self.messages = list(messages)
    errors = [m for m in self.messages if m["kind"] == "error"]
    placed = next((m for m in errors if m["line"] > 0), errors[0] if errors else {"file": "", "line": 0})
    self.file, self.line = placed["file"], placed["line"]


class OperatorError(CompileError):
  """An operator has no kernel on the wafer, and the host must not compute it."""


class SimulationError(WafersmithError):
  """The simulated program failed, or cannot be run so.

  `fault` is its name, such as "deadlock" or "out-of-bounds", and `cycle` when it was; "" and 0 for what is wrong with inputs
  or a call, of which `messages` says more. `file` and `line` are the place in the source where one PE did it, else "" and 0.
  """

  def __init__(self, message, fault="", cycle=0, messages=()):
    super().__init__(message)
    self.fault, self.cycle, self.messages = fault, cycle, list(messages)
    place = _PLACE.search(message)
    self.file, self.line = (place[1], int(place[2])) if place else ("", 0)


class ReloadError(WafersmithError):
  """A second program for a wafer that runs one, without reload=True."""


class BackendError(WafersmithError, ValueError):
  """No such backend, or an option that it does not have."""


class TraceWarning(UserWarning):
  """What happens once while tracing and would be expected to happen in every iteration."""
