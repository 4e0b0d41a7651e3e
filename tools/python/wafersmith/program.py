"""A graph that a backend runs: compiled once, with its parameters between host and wafer."""
import shutil
import tempfile
import time
import weakref

from wafersmith import transfers
from wafersmith.building import build
from wafersmith.execution import Execution
from wafersmith.graphs import PARAMETER
from wafersmith.tensors import Tensor


class Nothing:
  """In place of a program: of a graph without results, which nobody needs to run."""

  def run(self, *_):
    return {}


class Program:
  def __init__(self, graph, backend, hypers=(), run=None):
    self.graph, self.backend, self.hypers = graph, backend, list(hypers)
    own = tempfile.mkdtemp(prefix="wafersmith-")
    weakref.finalize(self, shutil.rmtree, own, ignore_errors=True)   # at the end of the process too
    start = time.perf_counter()
    self.folder, self.report = build(graph, backend, own)
    backend.statistics.compile_seconds += time.perf_counter() - start
    trains = graph.training.optimizer is not None   # gradients alone have no state
    self._execution = run(self) if run else Execution(self.folder, trains, backend.statistics)
    self._trained = {v.source.serial: v for v in graph.training.parameters}
    if trains:
      self._trained.update({v.source.serial: v for v in graph.statistics()})
    # The version of each parameter's value on the host that the wafer's is equal to.
    self._versions = {v.source.serial: v.source.version for v in graph.parameters()}
    for value in graph.parameters():
      self._note(value.name, "to wafer", value.source.numpy().nbytes)

  def _note(self, name, direction, size, times=1):
    if not self.backend.is_host:
      transfers.note(self.backend.statistics, name, direction, size, times)

  def stale(self):
    """Names of parameters that are constants of the program and have other values by now."""
    return [v.name for v in self.graph.parameters()
            if v.source.serial not in self._trained
            and (v.source.is_away or v.source.version != self._versions[v.source.serial])]

  def run(self, inputs, count):
    """`count` steps: arrays with a slice for each, by the names of the graph's inputs."""
    self._bring_parameters()
    data = dict(inputs)
    for value, hyper in self.hypers:
      data[value.name] = hyper.numpy().reshape(1).repeat(count)
    used = {v.name for v in self.graph.inputs}
    data = {name: array for name, array in data.items() if name in used}
    for name, array in data.items():
      self._note(name, "to wafer", array.nbytes, count)
    results = self._execution.step(data, count)
    for name, array in results.items():
      self._note(name, "to host", array.nbytes, count)
    for value in self._trained.values():
      value.source.leave(self)
    for value in self.graph.training.gradients:
      if value.kind == PARAMETER:   # backward() without an optimizer: as torch leaves them
        value.source.grad = Tensor(results[f"gradient.{value.name}"][-1])
    return results

  def _bring_parameters(self):
    """Trained parameters that the host has changed go to the wafer again."""
    changed = {}
    for serial, value in self._trained.items():
      source = value.source
      if source.is_with(self):
        continue
      array = source.numpy()
      if source.version != self._versions[serial]:
        changed[value.name] = array
        self._note(value.name, "to wafer", array.nbytes)
        self._versions[serial] = source.version
    if changed:
      self._execution.set_states(changed)

  def fetch(self, parameter):
    """The newest value of a trained parameter."""
    value = self._trained[parameter.serial]
    array = self._execution.states()[value.name]
    self._note(value.name, "to host", array.nbytes)
    self._versions[parameter.serial] = parameter.version + 1   # what the parameter's value is going to be
    return array
