"""Sections: parts of a program that belong to one backend. What crosses their border is counted; the backend before
comes back behind them, after exceptions too."""
import time

import numpy as np

from wafersmith import backends, changes, dtypes, graph_text, sources, transfers, trees
from wafersmith.errors import StaticGraphError, TraceWarning
from wafersmith.sources import warn
from wafersmith.tensors import as_tensor, host_array
from wafersmith.tracer import Tracer, active, check_training

_open = []            # the innermost last
_CHUNK_BYTES = 1 << 26
_CHUNK = 256          # steps that are run in one go at most


def current_backend():
  """That of the innermost section; outside of sections the host."""
  return _open[-1].backend if _open else backends.host_backend()


def running_backend():
  """Where a traced function runs that says nothing itself: the section's backend, else the wafer that was made last."""
  return _open[-1].backend if _open else backends.latest() or backends.host_backend()


class Tap:
  """Brings a value to the host in iterations 0, every, 2 every ...; called with the value in the body of a stream or in
  a traced function."""

  def __init__(self, name, every, to):
    if not (isinstance(every, int) and every >= 1):
      raise ValueError(f"tap '{name}': every is {every!r}, it must be a whole number from 1 on")
    self.name, self.every, self.to = name, every, to
    self._calls = 0

  def __call__(self, value):
    tracer = active()
    value = as_tensor(value)
    if tracer is not None:
      tracer.taps.append((self, tracer.result(value).name))
    else:
      self.give(self._calls, value.numpy())
      self._calls += 1

  def due(self, step):
    return step % self.every == 0

  def give(self, step, value):
    if self.due(step):
      value = np.asarray(value)
      self.to(step, value.item() if value.size == 1 else value)


def fire(taps, results, first, count):
  for step in range(count):
    for tap, name in taps:
      tap.give(first + step, results[name][step])


class Section:
  def __init__(self, backend):
    if not isinstance(backend, backends.Backend):
      raise TypeError("a section is of a backend: ws.section(ws.backend(...))")
    self.backend = backend
    self._log = transfers.Log()
    self._streams = []
    self._marks = None

  @property
  def transfers(self):
    """How many tensors crossed between host and wafer; `.tensors` names them."""
    return self._log.transfers()

  def __enter__(self):
    tracer = active()
    if tracer is not None:
      self._inside(tracer)
    _open.append(self)
    transfers.listen(self._log)
    return self

  def _inside(self, tracer):
    """A section within a step that is being traced: operators that the host computes."""
    if not self.backend.is_host:
      raise StaticGraphError("a section of a wafer within a traced step; a step runs on one wafer", sources.here())
    warn("operators on the host within a step cost a transfer there and one back in every iteration", TraceWarning)
    tracer.marks.append({"origin": "host"})
    self._marks = tracer.marks

  def __exit__(self, *_):
    for stream in self._streams:
      stream.close()
    transfers.stop(self._log)
    _open.remove(self)
    if self._marks is not None:
      self._marks.pop()

  def tap(self, name, every=1, to=None):
    return Tap(name, every, to or (lambda step, value: print(f"{name} {step} {value}")))

  def stream(self, iterable):
    """The body of the loop is a step, run for each of the batches. It is traced once, so the body itself runs once;
    with retrace_every_iteration for each batch."""
    if not _open or _open[-1] is not self:
      raise StaticGraphError("stream() belongs into its section", sources.here())
    stream = _stream(self, iterable, sources.here())
    self._streams.append(stream)
    return stream


def section(backend):
  """`with ws.section(backend) as section:`"""
  return Section(backend)


class _Body:
  """A body that is traced: compared with the first trace, and run."""

  def __init__(self, backend, where):
    self.backend, self.name = backend, f"{where.function} line {where.line}" if where else "stream"
    self.program = self.signature = self.lines = None
    self.taps, self.done = [], 0

  def arrays(self, batch):
    leaves, rebuild = trees.flatten(batch, "batch")
    return {name: host_array(leaf) for name, leaf in leaves}, rebuild

  def accept(self, tracer, seconds):
    check_training(tracer.graph)
    if not tracer.graph.outputs:
      raise StaticGraphError("the body of a stream has no effect: it needs a training step or a tap")
    lines = graph_text.canonical(tracer.graph)
    if self.program is None:
      self.lines, self.tracer, self.taps = lines, tracer, tracer.taps
      self.program = self.backend.program(tracer, lines)
    elif not graph_text.equal(lines, self.lines):
      raise changes.graph_changed(self.name, self.done, self.lines, lines)
    self.backend.statistics.trace_seconds += seconds
    self.backend.statistics.traces += 1

  def check(self, arrays):
    signature = {name: dtypes.type_of(a) for name, a in arrays.items()}
    if self.signature is None:
      self.signature = signature
    elif signature != self.signature:
      raise changes.arguments_changed(self.name, self.done, self.signature, signature, self.tracer.graph)

  def run(self, batches):
    data = {name: np.stack([b[name] for b in batches]) for name in batches[0]}
    self.program = self.backend.program(self.tracer, self.lines)
    results = self.program.run(data, len(batches))
    fire(self.taps, results, self.done, len(batches))
    self.done += len(batches)

  def room(self, batches):
    """Whether a further batch may wait: not behind a step whose value somebody is to see."""
    last = self.done + len(batches) - 1
    size = sum(a.nbytes for a in batches[0].values()) * (len(batches) + 1)
    return len(batches) < _CHUNK and size <= _CHUNK_BYTES and not any(tap.due(last) for tap, _ in self.taps)


def _stream(section, iterable, where):
  body, waiting = _Body(section.backend, where), []
  for batch in iterable:
    arrays, rebuild = body.arrays(batch)
    again = section.backend.retrace_every_iteration
    if not again or body.program is None:
      body.check(arrays)
    if body.program is None or again:
      start = time.perf_counter()
      with Tracer(body.name) as tracer:
        yield rebuild({name: tracer.input(name, a) for name, a in arrays.items()})
      body.accept(tracer, time.perf_counter() - start)
    waiting.append(arrays)
    if again or not body.room(waiting):
      body.run(waiting)
      waiting = []
  if waiting:
    body.run(waiting)
