"""Sections: streams, taps, transfers, what is restored; parameters between host and wafer."""
import unittest

import numpy as np

import wafersmith as ws
from counting import X, CountingTest


def batches(count):
  return [(X * k, np.zeros(1, np.int64)) for k in range(count)]


class SectionTest(CountingTest):
  def setUp(self):
    super().setUp()
    self.layer = ws.nn.Linear(8, 2)
    self.optimizer = ws.optim.SGD(self.layer.parameters(), lr=0.1)
    self.loss_fn = ws.losses.CrossEntropyLoss()

  def train(self, section, count, tap=None, bodies=None):
    for x, y in section.stream(batches(count)):
      if bodies is not None:
        bodies.append(1)
      loss = self.loss_fn(self.layer(x), y)
      if tap:
        tap(loss)
      loss.backward()
      self.optimizer.step()
      self.optimizer.zero_grad()

  def test_the_body_is_traced_once_and_runs_for_every_batch(self):
    bodies, seen = [], []
    with ws.section(self.wafer()) as section:
      tap = section.tap("loss", every=10, to=lambda step, value: seen.append((step, value)))
      self.train(section, 25, tap, bodies)
    self.assertEqual(len(bodies), 1)
    self.assertEqual(seen, [(0, 0.0), (10, 10.0), (20, 20.0)])   # outputs of the test's programs are the step's number

  def test_with_retracing_the_body_runs_for_every_batch(self):
    bodies = []
    with ws.section(self.wafer(retrace_every_iteration=True)) as section:
      self.train(section, 7, None, bodies)
    self.assertEqual(len(bodies), 7)

  def test_a_body_that_changes(self):
    with self.assertRaises(ws.GraphChanged) as caught, \
         ws.section(self.wafer(retrace_every_iteration=True)) as section:
      tap = section.tap("x", to=lambda *_: None)
      for k, x in zip(range(9), section.stream([X] * 9)):
        tap(ws.tanh(x) if k == 3 else ws.relu(x))
    self.assertEqual((caught.exception.iteration, caught.exception.node), (3, 0))

  def test_a_batch_of_another_shape(self):
    with self.assertRaisesRegex(ws.GraphChanged, r"iteration 2.*\n.*argument batch: f32\[1, 8\] -> f32\[3, 8\]"), \
         ws.section(self.wafer()) as section:
      tap = section.tap("y", to=lambda *_: None)
      for x in section.stream([X, X, np.ones((3, 8), np.float32)]):
        tap(ws.relu(x))

  def test_every_crossing_tensor_counts_once(self):
    backend = self.wafer()
    with ws.section(backend) as first:
      self.train(first, 20, first.tap("loss", every=10, to=lambda *_: None))
    names = sorted((name, direction) for name, direction, *_ in first.transfers.tensors)
    self.assertEqual(names, [("batch_0", "to wafer"), ("batch_1", "to wafer"), ("bias", "to wafer"),
                             ("cross_entropy_loss", "to host"), ("weight", "to wafer")])
    self.assertEqual(first.transfers, 5)
    with ws.section(backend) as second:   # the weights are there already
      self.train(second, 20, second.tap("loss", every=10, to=lambda *_: None))
    self.assertEqual(second.transfers, 3)
    with ws.section(ws.backend("host")) as host:
      ws.to_numpy(self.layer.weight)
      ws.to_numpy(self.layer.weight)      # is on the host by now
    self.assertEqual(host.transfers.tensors, [("weight", "to host", 64, 1)])

  def test_parameters_follow_the_wafer_and_the_host(self):
    backend = self.wafer()
    before = self.layer.weight.numpy().copy()
    with ws.section(backend) as section:
      self.train(section, 3)
    # The test's programs add 1 to every state in a step.
    self.assertTrue(np.array_equal(self.layer.weight.numpy(), before + 3))
    self.layer.weight.store(np.zeros((2, 8)))
    with ws.section(backend) as section:
      self.train(section, 2)
    self.assertTrue(np.array_equal(self.layer.weight.numpy(), np.full((2, 8), 2)))
    self.assertIn(("weight", "to wafer", 64, 1), section.transfers.tensors)

  def test_constants_that_the_host_changed_need_another_program(self):
    compiled = ws.compile(self.layer, self.wafer())
    compiled(X)
    compiled(X)
    self.layer.weight.store(np.zeros((2, 8)))
    with self.assertRaisesRegex(ws.ReloadError, "weight has changed since"):
      compiled(X)

  def test_the_backend_before_comes_back(self):
    outer, inner = self.wafer(), self.wafer()
    default = ws.current_backend()
    with ws.section(outer):
      with ws.section(inner):
        self.assertIs(ws.current_backend(), inner)
      self.assertIs(ws.current_backend(), outer)
      with self.assertRaisesRegex(RuntimeError, "early"), ws.section(inner):
        raise RuntimeError("early")
      self.assertIs(ws.current_backend(), outer)
    self.assertIs(ws.current_backend(), default)

  def test_an_exception_in_a_body_ends_its_trace(self):
    with self.assertRaisesRegex(RuntimeError, "early"), ws.section(self.wafer()) as section:
      for _ in section.stream([X]):
        raise RuntimeError("early")
    self.assertFalse(ws.tensor([1.0]).is_traced)
    with self.assertRaisesRegex(ws.StaticGraphError, "belongs into a training step"):
      ws.tensor([1.0]).backward()

  def test_taps_that_are_not_there_cost_nothing(self):
    with ws.section(self.wafer()) as section:
      self.train(section, 20)
    names = [name for name, direction, *_ in section.transfers.tensors if direction == "to host"]
    self.assertEqual(names, ["cross_entropy_loss"])   # a step gives its loss

  def test_a_tap_in_a_traced_function(self):
    seen = []
    self.wafer()
    with ws.section(self.wafer()) as section:
      tap = section.tap("h", every=2, to=lambda step, value: seen.append((step, value.shape)))

      @ws.trace
      def step(x):
        h = ws.relu(x)
        tap(h)
        return ws.sum(h)

      for _ in range(5):
        step(X)
    self.assertEqual(seen, [(0, (1, 8)), (2, (1, 8)), (4, (1, 8))])

  def test_a_part_of_a_step_on_the_host(self):
    host = ws.backend("host")

    @ws.trace
    def step(x):
      h = ws.relu(x)
      with ws.section(host):
        h = ws.tanh(h)
      return ws.exp(h)

    self.wafer()
    with self.assertWarnsRegex(ws.TraceWarning, "cost a transfer there and one back"):
      step(X)
    marks = {n.op: n.mark for n in step.step.tracer.graph.nodes}
    self.assertEqual(marks, {"relu": {}, "tanh": {"origin": "host"}, "exp": {}})

  def test_with_backend(self):
    wafer = self.wafer()
    self.assertEqual(ws.with_backend(wafer, X, lambda x: x + x).shape, (1, 8))
    a, b = ws.with_backend(wafer, (X, X), lambda x, y: (x + y, 3))
    self.assertEqual((a.shape, b), ((1, 8), 3))
    done = []
    self.assertIsNone(ws.with_backend(wafer, 3, done.append))   # a number, and nothing that comes back
    self.assertEqual(done, [3])
    self.assertIsNot(ws.current_backend(), wafer)

  def test_what_is_refused(self):
    with self.assertRaisesRegex(TypeError, "a section is of a backend"):
      ws.section("wse2")
    with self.assertRaisesRegex(ValueError, "every is 0"):
      ws.section(self.wafer()).tap("loss", every=0)
    closed = ws.section(self.wafer())
    with self.assertRaisesRegex(ws.StaticGraphError, "belongs into its section"):
      closed.stream([X])
    with self.assertRaisesRegex(ws.StaticGraphError, "no effect"), ws.section(self.wafer()) as section:
      for x in section.stream([X]):
        ws.relu(x)

  def test_memory_does_not_grow_with_the_steps(self):
    with ws.section(self.wafer()) as section:
      program = None
      tap = section.tap("loss", every=1000, to=lambda *_: None)
      for x, y in section.stream((b for k in range(4) for b in batches(500))):
        loss = self.loss_fn(self.layer(x), y)
        tap(loss)
        loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()
      program = section.backend._loaded
    self.assertEqual(sum(program.execution.calls), 2000)
    self.assertLessEqual(max(program.execution.calls), 256)


if __name__ == "__main__":
  unittest.main()
