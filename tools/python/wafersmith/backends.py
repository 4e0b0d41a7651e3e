"""Where graphs run: a machine by its name, or the host, which computes the same graph without a wafer."""
import functools
import subprocess

from wafersmith import graph_text, tools
from wafersmith.errors import BackendError, ReloadError
from wafersmith.figures import Statistics
from wafersmith.program import Program

_DEFAULT_MACHINE = "wse2"
_POLICIES = ("disabled", "default", "medium", "aggressive")
_made = []   # wafers, in the order in which they were made


class Backend:
  """One wafer (or the host) with at most one program at a time; `reload=True` lets it take another one."""

  def __init__(self, name, *, fabric=None, policy="default", retrace_every_iteration=False, reload=False,
               host_ops="forbid"):
    self.name, self.is_host = name, name == "host"
    self.machine = _DEFAULT_MACHINE if name in ("sim", "host") else name
    self.fabric, self.policy, self.host_ops = _fabric(fabric), policy, host_ops
    self.retrace_every_iteration, self.reload = bool(retrace_every_iteration), bool(reload)
    if policy not in _POLICIES:
      raise BackendError(f"policy '{policy}'; there are {', '.join(_POLICIES)}")
    if host_ops not in ("forbid", "warn", "allow"):
      raise BackendError(f"host_ops '{host_ops}'; there are forbid, warn, allow")
    if not self.is_host:
      _check_machine(self.name, self.machine)
    self.statistics = Statistics()
    self.compiled = None      # what ws.compile was called with
    self._programs, self._loaded = {}, None

  def compile_options(self):
    if self.is_host:
      return ["-m", self.machine, "--autogen-policy", "disabled"]
    fabric = [] if self.fabric is None else ["--fabric", f"{self.fabric[0]}x{self.fabric[1]}"]
    return ["-m", self.machine, *fabric, "--autogen-policy", self.policy]

  def program(self, tracer, lines):
    """The program of a graph: the one that is loaded, if it is the same graph."""
    if tracer.key is None:
      tracer.key = (graph_text.digest(lines), tuple(hyper.serial for _, hyper in tracer.hypers))
    found = self._programs.get(tracer.key)
    stale = found.stale() if found is not None else []
    if found is not None and found is self._loaded and not stale:
      return found
    if self._loaded is not None and not self.reload and not self.is_host:
      running = self._loaded.graph.name
      why = f"{stale[0]} has changed since" if stale else f"the graph of {tracer.graph.name}() is another one"
      raise ReloadError(f"this wafer has been programmed with {running}(), and {why}; a wafer is programmed once, "
                        f"unless backend('{self.name}', reload=True) allows more")
    if found is None or stale:
      found = self._programs[tracer.key] = Program(tracer.graph, self, tracer.hypers)
    self._loaded = found
    return found

  def evaluate(self, graph):
    """A graph without inputs, outside of any session: its results by name."""
    program = Program(graph, self)
    return {name: array[0] for name, array in program.run({}, 1).items()}

  def __repr__(self):
    fabric = "" if self.fabric is None else f", fabric={self.fabric}"
    return f"backend('{self.name}'{fabric})"


def _fabric(given):
  if given is None:
    return None
  fabric = tuple(given)
  if len(fabric) != 2 or not all(isinstance(n, int) and n > 0 for n in fabric):
    raise BackendError(f"fabric is (width, height), two numbers above 0; got {given!r}")
  return fabric


@functools.lru_cache(maxsize=None)
def _check_machine(name, machine):
  command = [tools.find("cs-compile"), "-m", str(machine), "--list-machine"]
  result = subprocess.run(command, capture_output=True, text=True, check=False)
  if result.returncode != 0:
    told = result.stderr.strip().split("help: ")[-1]
    raise BackendError(f"unknown backend '{name}': there is 'host', 'sim' ({_DEFAULT_MACHINE}) and any machine; {told}")


def backend(name=_DEFAULT_MACHINE, **options):
  """A backend by the name of a machine (wse2, wse3, small, or a path), "sim" or "host"."""
  try:
    made = Backend(name, **options)
  except TypeError as error:
    raise BackendError(f"{error}; options are fabric, policy, retrace_every_iteration, reload, host_ops") from None
  if not made.is_host:
    _made.append(made)
  return made


@functools.lru_cache(maxsize=None)
def host_backend():
  """The host that computes what is outside of sections."""
  return Backend("host")


def latest():
  """The wafer that was made last; None if there is none."""
  return _made[-1] if _made else None
