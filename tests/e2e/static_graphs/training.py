"""Training from Python: losses and weights against the same steps in float64 by numpy (reference.py)."""
import unittest

import numpy as np

import reference
import wafersmith as ws

SIZES = (6, 5, 3)


def batches(count, rows=4):
  rng = np.random.default_rng(11)
  return [(rng.standard_normal((rows, SIZES[0])).astype(np.float32), rng.integers(0, SIZES[2], rows))
          for _ in range(count)]


class TrainingTest(unittest.TestCase):
  def setUp(self):
    ws.manual_seed(2)
    self.model = ws.nn.Sequential(ws.nn.Linear(*SIZES[:2]), ws.nn.ReLU(), ws.nn.Linear(*SIZES[1:]))
    self.weights = [p.numpy().astype(np.float64) for p in self.model.parameters()]
    self.loss_fn = ws.losses.CrossEntropyLoss()

  def step(self, optimizer, model=None):
    @ws.trace
    def training_step(x, y):
      loss = self.loss_fn((model or self.model)(x), y)
      loss.backward()
      optimizer.step()
      optimizer.zero_grad()
      return loss
    return training_step

  def check_weights(self):
    for p, w in zip(self.model.parameters(), self.weights):
      np.testing.assert_allclose(p.numpy(), w, rtol=1e-5, atol=1e-6)

  def test_step_by_step(self):
    for machine in ("small", "wse3", "host"):
      with self.subTest(machine=machine):
        self.setUp()
        options = {} if machine == "host" else {"fabric": (16, 16)}
        compiled = ws.compile(self.model, ws.backend(machine, **options))
        step = self.step(ws.optim.AdamW(self.model.parameters(), lr=0.01), compiled)
        losses = [float(step(x, y)) for x, y in batches(6)]
        np.testing.assert_allclose(losses, reference.train(self.weights, reference.AdamW(0.01), batches(6)), rtol=1e-5)
        self.check_weights()

  def test_retracing_trains_the_same(self):
    compiled = ws.compile(self.model, ws.backend("small", retrace_every_iteration=True))
    step = self.step(ws.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9), compiled)
    for x, y in batches(5):
      step(x, y)
    self.assertEqual(step.step.traces, 5)
    reference.train(self.weights, reference.Momentum(0.1, 0.9), batches(5))
    self.check_weights()

  def stream(self, backend, data, optimizer, **tap):
    seen = []
    with ws.section(backend) as section:
      loss_tap = section.tap("loss", to=lambda step, value: seen.append((step, value)), **tap)
      for x, y in section.stream(data):
        loss = self.loss_fn(self.model(x), y)
        loss_tap(loss)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return seen

  def test_a_stream_gives_the_steps_in_their_order(self):
    wanted = reference.train(self.weights, reference.Momentum(0.1, 0.9), batches(12))
    optimizer = ws.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9)
    backend, data = ws.backend("small"), batches(12)
    seen = self.stream(backend, data[:7], optimizer, every=3) + self.stream(backend, data[7:], optimizer)
    self.assertEqual([step for step, _ in seen], [0, 3, 6, 0, 1, 2, 3, 4])
    np.testing.assert_allclose([v for _, v in seen], [wanted[k] for k in (0, 3, 6, 7, 8, 9, 10, 11)], rtol=1e-5)
    self.check_weights()

  def test_weights_of_the_host_go_on_from(self):
    optimizer, backend = ws.optim.SGD(self.model.parameters(), lr=0.1), ws.backend("small")
    self.stream(backend, batches(2), optimizer)
    self.model[0].weight.store(np.full((5, 6), 0.25))
    self.stream(backend, batches(3), optimizer)
    plain = reference.Momentum(0.1, 0.0)
    reference.train(self.weights, plain, batches(2))
    self.weights[0][:] = 0.25
    reference.train(self.weights, reference.Momentum(0.1, 0.0), batches(3))
    self.check_weights()

  def test_training_and_evaluation_share_weights(self):
    compiled = ws.compile(self.model, ws.backend("small", reload=True))
    train = self.step(ws.optim.SGD(self.model.parameters(), lr=0.1, momentum=0.9), compiled)
    evaluate = ws.trace(lambda x, y: self.loss_fn(compiled(x), y))
    optimizer = reference.Momentum(0.1, 0.9)
    for x, y in batches(3):
      train(x, y)
      reference.train(self.weights, optimizer, [(x, y)])
      self.assertAlmostEqual(float(evaluate(x, y)), reference.gradients(self.weights, x, y)[0], places=5)
    names = [op["op"] for op in evaluate.step.program.report["ops"]]
    self.assertFalse([name for name in names if name.endswith("_step") or "gradient" in name])

  def test_gradients_without_an_optimizer(self):
    x, y = batches(1)[0]

    @ws.trace(backend=ws.backend("small"))
    def step(x, y):
      loss = self.loss_fn(self.model(x), y)
      loss.backward()
      return loss

    step(x, y)
    for p, g in zip(self.model.parameters(), reference.gradients(self.weights, x, y)[1]):
      np.testing.assert_allclose(p.grad.numpy(), g, rtol=1e-5, atol=1e-6)

  def test_gradients_of_an_evaluation(self):
    x, y = batches(1)[0]
    found = ws.evaluate(ws.nn.Linear(6, 3), (x,), ws.backend("small"))
    self.assertEqual((found.value.shape, found.gradients), ((4, 3), {}))
    scores = (x @ np.ones((6, 3), np.float32)).astype(np.float32) * np.array([1, 2, 3], np.float32)
    found = ws.evaluate(self.loss_fn, (scores, y), ws.backend("small"), gradients=True)
    e = np.exp(scores - scores.max(1, keepdims=True).astype(np.float64))
    p = e / e.sum(1, keepdims=True)
    p[np.arange(4), y] -= 1
    self.assertEqual(list(found.gradients), ["input"])
    np.testing.assert_allclose(found.gradients["input"], p / 4, rtol=1e-4, atol=1e-6)
    with self.assertRaisesRegex(KeyError, "gradient of 'scores': there is no such argument or parameter"):
      ws.evaluate(self.loss_fn, (scores, y), ws.backend("small"), gradients=["scores"])

  def test_schedules(self):
    s = ws.schedules
    for rate, wanted in (
        (s.Constant(0.2), [0.2] * 4), (s.Linear(0.0, 0.3, 3), [0, 0.1, 0.2, 0.3]),
        (s.Polynomial(0.4, 0.0, 4, power=2), [0.4, 0.4 * 9 / 16, 0.1, 0.4 / 16]),
        (s.CosineDecay(0.2, 0.0, 4), [0.2, 0.1 * (1 + 0.5 ** 0.5), 0.1, 0.1 * (1 - 0.5 ** 0.5)]),
        (s.Exponential(0.4, 0.25, 2), [0.4, 0.2, 0.1, 0.05]),
        (s.Exponential(0.4, 0.25, 2, staircase=True), [0.4, 0.4, 0.1, 0.1]),
        (s.PiecewiseConstant([0.3, 0.2, 0.1], [1, 3]), [0.3, 0.2, 0.2, 0.1]),
        (s.InverseSquareRootDecay(0.4, 1.0, 2), [0.4 / 2 ** 0.5] * 3 + [0.4 / 3 ** 0.5]),
        (s.Linear(0.0, 0.2, 2).then(s.CosineDecay(0.2, 0.0, 2)), [0, 0.1, 0.2, 0.1])):
      with self.subTest(str(rate.recipe())):
        self.setUp()
        self.stream(ws.backend("small"), batches(4), ws.optim.SGD(self.model.parameters(), lr=rate))
        for lr, batch in zip(wanted, batches(4)):
          reference.train(self.weights, reference.Momentum(lr, 0.0), [batch])
        self.check_weights()


if __name__ == "__main__":
  unittest.main()
