"""A backend without tools: programs that count their steps and return zeros, states that grow by 1 in every step."""
import unittest
from unittest import mock

import numpy as np

import wafersmith as ws
from wafersmith import backends, dtypes, program, tracing


class CountingExecution:
  """In place of execution.Execution: every output is the number of the step, every state grows by 1 in a step."""

  def __init__(self, made):
    self.program = made
    self.steps, self.calls, self.inputs = 0, [], []
    self.now = {v.name: v.source.numpy().copy() for v in made.graph.training.parameters}

  def step(self, inputs, count):
    graph = self.program.graph
    self.calls.append(count)
    self.inputs.append({name: np.array(array) for name, array in inputs.items()})
    assert sorted(inputs) == sorted(v.name for v in graph.inputs)
    for v in graph.inputs:
      assert inputs[v.name].shape == (count, *v.type.shape), (v.name, inputs[v.name].shape, v.type)
    results = {}
    for v in graph.outputs:
      shape = (count, *[1] * len(v.type.shape))
      numbers = np.arange(self.steps, self.steps + count).reshape(shape)
      results[v.name] = np.broadcast_to(numbers, (count, *v.type.shape)).astype(dtypes.NUMPY[v.type.dtype])
    self.steps += count
    for name in self.now:
      self.now[name] = self.now[name] + np.float32(count)
    return results

  def states(self):
    return self.now

  def set_states(self, values):
    self.now.update(values)


class CountingProgram(program.Program):
  def __init__(self, graph, backend, hypers=()):
    super().__init__(graph, backend, hypers, run=CountingExecution)

  @property
  def execution(self):
    return self._execution


class CountingTest(unittest.TestCase):
  """Tests in which ws.backend("small") makes a backend of such programs."""

  def setUp(self):
    for target, replacement in ((backends, {"Program": CountingProgram, "_check_machine": lambda *_: None}),
                                (tracing, {"Program": CountingProgram}),
                                (program, {"build": lambda *_: ("", {"kernels": [], "ops": []})})):
      for name, value in replacement.items():
        patch = mock.patch.object(target, name, value)
        patch.start()
        self.addCleanup(patch.stop)

  def wafer(self, **options):
    return ws.backend("small", **options)

  def lines(self, step):
    """The nodes of a traced function, as text."""
    return [f"{n.op}({', '.join(v.name for v in n.inputs if v is not None)})" for n in step.step.tracer.graph.nodes]


X = np.ones((1, 8), np.float32)
