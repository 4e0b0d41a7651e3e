"""Traced functions on the simulated wafer: values against numpy, errors with the line of the program, sections."""
import unittest

import numpy as np

import wafersmith as ws

X = np.random.default_rng(3).standard_normal((4, 8)).astype(np.float32)


def line(function, offset):
  return function.__code__.co_firstlineno + offset


class ForwardTest(unittest.TestCase):
  def model(self):
    ws.manual_seed(5)
    return ws.nn.Sequential(ws.nn.Linear(8, 16), ws.nn.Tanh(), ws.nn.Linear(16, 3))

  def by_hand(self, model, x):
    w = [p.numpy().astype(np.float64) for p in model.parameters()]
    return np.tanh(x @ w[0].T + w[1]) @ w[2].T + w[3]

  def test_a_compiled_model(self):
    for machine, options in (("wse2", {"fabric": (16, 16)}), ("wse3", {"fabric": (16, 16)}), ("small", {}),
                             ("small", {"policy": "aggressive"}), ("host", {})):
      with self.subTest(machine=machine, **options):
        model = self.model()
        backend = ws.backend(machine, **options)
        compiled = ws.compile(model, backend)
        for k in range(3):
          np.testing.assert_allclose(compiled(X + k).numpy(), self.by_hand(model, X + k), rtol=1e-5, atol=1e-6)
        self.assertEqual(backend.statistics.iterations, 3)
        self.assertGreater(backend.statistics.interval_cycles, 0)

  def test_other_weights_need_another_program(self):
    model = self.model()
    compiled = ws.compile(model, ws.backend("small", reload=True))
    compiled(X)
    model[0].weight.store(np.ones((16, 8)))
    np.testing.assert_allclose(compiled(X).numpy(), self.by_hand(model, X), rtol=1e-5, atol=1e-6)

  def test_two_functions_of_one_model(self):
    model = self.model()
    compiled = ws.compile(model, ws.backend("small", reload=True))
    first, second = ws.trace(lambda x: ws.sum(compiled(x))), ws.trace(lambda x: ws.amax(compiled(x)))
    for _ in range(2):
      self.assertAlmostEqual(float(first(X)), self.by_hand(model, X).sum(), places=4)
      self.assertAlmostEqual(float(second(X)), self.by_hand(model, X).max(), places=5)

  def test_a_run_time_scalar(self):
    factor = ws.hyper(2.0, "factor")
    step = ws.trace(lambda x: x * factor, backend=ws.backend("small"))
    self.assertTrue(np.array_equal(step(X).numpy(), X * 2))
    factor.set(-0.5)
    self.assertTrue(np.array_equal(step(X).numpy(), X * np.float32(-0.5)))

  def test_names_of_arguments(self):
    step = ws.trace(lambda file, relu: ws.relu(file) - relu, backend=ws.backend("small"))
    self.assertTrue(np.array_equal(step(X, X).numpy(), np.maximum(X, 0) - X))

  def test_two_wafers_and_the_host(self):
    left, right, host = ws.backend("small", fabric=(4, 4)), ws.backend("small", fabric=(8, 8)), ws.backend("host")
    a = ws.with_backend(left, X, lambda x: ws.relu(x))
    b = ws.with_backend(right, X, lambda x: ws.relu(-x))
    with ws.section(host):
      whole = a - b
    self.assertTrue(np.array_equal(ws.to_numpy(whole), X))

  def test_the_trace_is_the_text(self):
    """What a branch and a loop have become is what the compiler gets: five nodes, no tanh."""
    @ws.trace(backend=ws.backend("small"))
    def step(x, deep=True):
      for _ in range(4 if deep else 1):
        x = ws.relu(x) if deep else ws.tanh(x)
      return x + 1.0
    np.testing.assert_array_equal(step(X).numpy(), np.maximum(X, 0) + 1)
    ops = [op["op"] for op in step.step.program.report["ops"]]
    self.assertEqual(ops, ["relu"] * 4 + ["add"])


class HostOperatorTest(unittest.TestCase):
  def step(self, x):
    y = ws.relu(x)
    return ws.square(y.double())   # no kernel computes in 64 bits

  def test_an_operator_without_a_kernel_names_its_line(self):
    with ws.section(ws.backend("small")), self.assertRaises(ws.OperatorError) as caught:
      ws.trace(self.step)(X)
    self.assertEqual(caught.exception.where.line, line(HostOperatorTest.step, 2))
    self.assertRegex(str(caught.exception), r"^on_wafer.py:\d+ in step: .*cast.* runs on the host: .*f64")

  def test_it_may_be_allowed(self):
    with ws.section(ws.backend("small", host_ops="allow")):
      found = ws.trace(self.step)(X).numpy()
    self.assertEqual(found.dtype, np.float64)
    np.testing.assert_allclose(found, np.maximum(X, 0).astype(np.float64) ** 2, rtol=1e-6)

  def test_the_host_needs_no_kernels(self):
    with ws.section(ws.backend("host")):
      found = ws.trace(self.step)(X).numpy()
    np.testing.assert_allclose(found, np.maximum(X, 0).astype(np.float64) ** 2, rtol=1e-6)

  def test_a_part_on_the_host(self):
    host = ws.backend("host")

    def step(x):
      y = ws.relu(x)
      with ws.section(host):
        y = ws.square(y.double()).float()
      return y + 1.0

    with ws.section(ws.backend("small")), self.assertWarns(ws.TraceWarning):
      traced = ws.trace(step)
      found = traced(X).numpy()
    np.testing.assert_allclose(found, np.maximum(X, 0) ** 2 + 1, rtol=1e-6)
    self.assertEqual({op["op"]: op["origin"] == "host" for op in traced.step.program.report["ops"]},
                     {"relu": False, "cast": True, "square": True, "add": False})

  def test_what_only_the_host_can(self):
    with ws.section(ws.backend("host")):
      self.assertEqual(ws.nonzero(ws.tensor([0.0, 2.0, 0.0, 1.0])).tolist(), [[1], [3]])
      self.assertEqual(ws.unique(ws.tensor([3, 1, 3])).tolist(), [1, 3])


class NamesTest(unittest.TestCase):
  def test_the_simulated_machine(self):
    backend = ws.backend("sim", fabric=(8, 8))
    self.assertEqual((backend.machine, backend.is_host), ("wse2", False))
    self.assertTrue(np.array_equal(ws.trace(lambda x: x + x, backend=backend)(X).numpy(), X + X))

  def test_unknown_backends(self):
    with self.assertRaisesRegex(ws.BackendError, "unknown backend 'csx': there is 'host', 'sim' .*small, wse2, wse3"):
      ws.backend("csx")
    with self.assertRaisesRegex(ws.BackendError, "policy 'fast'; there are disabled, default"):
      ws.backend("small", policy="fast")
    with self.assertRaisesRegex(ws.BackendError, "options are fabric, policy"):
      ws.backend("small", fabrics=(4, 4))

  def test_errors_of_the_compiler_name_the_line(self):
    huge = ws.trace(lambda x: ws.matmul(x, np.ones((8, 8), np.float32)), backend=ws.backend("small", fabric=(40, 40)))
    with self.assertRaisesRegex(ws.CompileError, "fabric"):
      huge(X)

  def test_kernels_of_an_evaluation(self):
    t = np.array([1, 0, 3, 2])
    for fused in (True, False):
      found = ws.evaluate(ws.losses.CrossEntropyLoss(use_autogen=fused), (X, t), ws.backend("small"))
      shifted = X.astype(np.float64) - X.max(1, keepdims=True)
      wanted = np.mean(np.log(np.exp(shifted).sum(1)) - shifted[np.arange(4), t])
      self.assertAlmostEqual(float(found.value), wanted, places=5)
      self.assertTrue(found.kernels)
      self.assertTrue(all(k.cycles > 0 for k in found.kernels))
      if fused:
        self.assertEqual({k.origin for k in found.kernels}, {"autogen"})
        self.assertLessEqual(len(found.kernels), 2)  # parts of the sum, and what adds them up


if __name__ == "__main__":
  unittest.main()
