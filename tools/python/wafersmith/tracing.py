"""Tracing: a Python function becomes a static graph. Branches and loops are resolved by running it.

    @ws.trace
    def step(x): ...

runs once, in its first call; with retrace_every_iteration=True of the backend in every call, and a graph that is not
the first one is an error.
"""
import functools
import inspect
import time

from wafersmith import captured, changes, dtypes, graph_text, sections, trees
from wafersmith.errors import CompileError
from wafersmith.explaining import explain
from wafersmith.program import Nothing, Program
from wafersmith.tensors import Tensor, host_array
from wafersmith.tracer import Tracer, active, check_training


class Step:
  """A traced function with what it has become: the graph, its canonical lines, the program and the trees of arguments
  and results."""

  def __init__(self, function, name, backend=None, alone=False):
    self.function, self.name, self.given_backend = function, name, backend
    self._alone = alone   # no part of the backend's session
    self.iteration = 0
    self.traces = 0
    self.backend = self.program = self.tracer = None
    self._signature = self._lines = self._result = None
    self._scalars = captured.Scalars(function)

  def __call__(self, *args, **kwargs):
    if active() is not None:
      return self.function(*args, **kwargs)   # a step within a step is a part of it
    bound = self._bind(args, kwargs)
    leaves, rebuild = trees.flatten(bound)
    arrays = {name: host_array(leaf) for name, leaf in leaves}
    if self.program is not None and not self.backend.retrace_every_iteration:
      self._check_arguments(arrays)
    numbers = trees.numbers(bound)
    again = self.program is not None and self.backend.retrace_every_iteration
    if self.program is None or again:
      self._trace(rebuild, arrays)
      self._scalars.arguments = numbers
    else:
      self._scalars.warn_of_changes(self.name, numbers)
    if not self._alone and not isinstance(self.program, Nothing):
      self.program = self.backend.program(self.tracer, self._lines)   # what it computes with may have changed
    results = self.program.run({name: a[None] for name, a in arrays.items()}, 1)
    sections.fire(self.tracer.taps, results, self.iteration, 1)
    self.iteration += 1
    make, names = self._result
    return make([Tensor(results[name][0], results[name].dtype) for name in names])

  def explain(self):
    """Which nodes each line of the function made, as text; after the first call."""
    return explain(self.tracer.graph) if self.tracer else f"{self.name}() has not been traced"

  def _bind(self, args, kwargs):
    try:
      bound = inspect.signature(self.function).bind(*args, **kwargs)
    except ValueError:
      return {f"x{k}": a for k, a in enumerate(args)} | kwargs
    named = {}
    for name, value in bound.arguments.items():
      kind = bound.signature.parameters[name].kind
      named[name] = trees.Spread(value, kind) if kind in (kind.VAR_POSITIONAL, kind.VAR_KEYWORD) else value
    return trees.Call(named, bound.signature)

  def _check_arguments(self, arrays):
    signature = _signature(arrays)
    if signature != self._signature:
      raise changes.arguments_changed(self.name, self.iteration, self._signature, signature, self.tracer.graph)

  def _trace(self, rebuild, arrays):
    start = time.perf_counter()
    before = self._scalars.values() if self.program is None else None
    tracer = Tracer(self.name)
    with tracer:
      inputs = {name: tracer.input(name, a) for name, a in arrays.items()}
      result = self._call(rebuild(inputs))
      leaves, make = trees.flatten_tensors(result)
      values = [tracer.result(leaf) for leaf in leaves]
    seconds = time.perf_counter() - start
    self._accept(tracer, seconds)
    self._signature, self._result = _signature(arrays), (make, [v.name for v in values])
    if before is not None and not self.backend.retrace_every_iteration:
      self._scalars.note(self.name, before)

  def _call(self, bound):
    if isinstance(bound, trees.Call):
      args, kwargs = bound.spread()
      return self.function(*args, **kwargs)
    return self.function(**bound)

  def _backend(self, tracer):
    if self.given_backend is not None and tracer.backend not in (None, self.given_backend):
      raise CompileError(f"{self.name}() is traced for {self.given_backend} and uses a model that is compiled for "
                         f"{tracer.backend}")
    return self.given_backend or tracer.backend or sections.running_backend()

  def _accept(self, tracer, seconds):
    """A graph that has just been traced: the first one is compiled, later ones must be equal to it."""
    self.traces += 1
    check_training(tracer.graph)
    lines = graph_text.canonical(tracer.graph)
    if self.program is None:
      self.tracer, self._lines, self.backend = tracer, lines, self._backend(tracer)
      if not tracer.graph.outputs:
        self.program = Nothing()
      elif self._alone:
        self.program = Program(tracer.graph, self.backend, tracer.hypers)
      else:
        self.program = self.backend.program(tracer, lines)
    elif not graph_text.equal(lines, self._lines):
      raise changes.graph_changed(self.name, self.iteration, self._lines, lines)
    self.backend.statistics.trace_seconds += seconds
    self.backend.statistics.traces += 1


def _signature(arrays):
  return {name: dtypes.type_of(a) for name, a in arrays.items()}


def trace(function=None, *, backend=None):
  """Decorator: the function is a step that is traced once and runs on a backend (docs/python.md says on which)."""
  if function is None:
    return functools.partial(trace, backend=backend)
  step = Step(function, getattr(function, "__name__", "step"), backend)

  @functools.wraps(function)
  def call(*args, **kwargs):
    return step(*args, **kwargs)

  call.step = step
  call.explain = step.explain
  return call


def with_backend(backend, inputs, function):
  """function(*inputs) as a part of the program that belongs to `backend`: inputs go there, results come back."""
  given = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
  with sections.section(backend):
    return Step(function, getattr(function, "__name__", "function"), backend, alone=True)(*given)
