"""The texts of graphs: what cs-compile is given for inference and for training, and when two graphs are equal."""
import re
import unittest

import numpy as np

import wafersmith as ws
from counting import X, CountingTest
from wafersmith import graph_text
from wafersmith.formulas import formula_of


def text_of(step, **options):
  return graph_text.GraphText(step.step.tracer.graph, **options)


def line(text, key):
  return next(l for l in text.yaml.splitlines() if l.startswith(key))


class TextTest(CountingTest):
  def setUp(self):
    super().setUp()
    self.wafer(reload=True)

  def traced(self, function, *arguments):
    step = ws.trace(function)
    step(*(arguments or [X]))
    return step

  def training(self, optimizer, loss=None, before_step=None):
    layer = ws.nn.Linear(8, 2)
    made = optimizer(layer.parameters())
    loss_fn = loss or ws.losses.CrossEntropyLoss()

    def step(x, y):
      value = loss_fn(layer(x), y)
      value.backward()
      if before_step:
        before_step(layer.parameters())
      made.step()
      made.zero_grad()
      return value
    return self.traced(step, X, np.zeros(1, np.int64))

  def test_inference(self):
    text = text_of(self.traced(lambda x: ws.leaky_relu(x * 0.5, 0.25)))
    self.assertEqual(text.yaml.splitlines()[1:5],
                     ["inputs:", '  - {name: "x", type: "f32[1, 8]"}', "constants:",
                      '  - {name: "constant", type: "f32[]", value: [0.5]}'])
    nodes = text.yaml.split("nodes:\n")[1].splitlines()
    self.assertRegex(nodes[0], r'^  - {name: "mul", op: mul, inputs: \["x", "constant"\], type: "f32\[1, 8\]", '
                               r'where: "test_graph_text.py:\d+ in <lambda>"}$')
    self.assertIn("attrs: {alpha: 0.25}", nodes[1])
    self.assertEqual(nodes[2], 'outputs: ["leaky_relu"]')
    self.assertEqual(text.node_at[7].op, "mul")   # for messages of the compiler

  def test_large_constants_and_parameters_lie_in_the_weights(self):
    table = np.arange(24, dtype=np.float64).reshape(3, 8)
    parameter = ws.nn.Parameter(np.full(8, 7, np.float32))
    text = text_of(self.traced(lambda x: x + ws.tensor(table) + parameter))
    offsets = [int(n) for n in re.findall(r"offset: (\d+)", text.yaml)]
    self.assertEqual(offsets, [0, 96])
    self.assertEqual(np.frombuffer(text.weights, np.float32, 24).tolist(), table.reshape(-1).tolist())
    self.assertEqual(np.frombuffer(text.weights, np.float32, 8, 96).tolist(), [7.0] * 8)

  def test_a_step_of_training(self):
    text = text_of(self.training(lambda p: ws.optim.AdamW(p, lr=1e-3, betas=(0.8, 0.9))))
    self.assertEqual(line(text, "training"), 'training: {loss: "cross_entropy_loss", parameters: ["weight", "bias"], '
                                             'outputs: ["cross_entropy_loss"]}')
    self.assertEqual(line(text, "optimizer"),
                     'optimizer: {optimizer_type: "AdamW", learning_rate: 0.001, betas: [0.8, 0.9], eps: 1.0e-08, '
                     'weight_decay_rate: 0.01, amsgrad: false, maximize: false}')

  def recipe(self, optimizer, **more):
    return line(text_of(self.training(optimizer, **more)), "optimizer")

  def test_optimizers_have_the_defaults_of_torch(self):
    for made, wanted in (
        (lambda p: ws.optim.SGD(p, lr=0.1),
         'optimizer_type: "SGD", learning_rate: 0.1, momentum: 0.0, dampening: 0.0, weight_decay_rate: 0.0, '
         'nesterov: false'),
        (ws.optim.Adam, 'optimizer_type: "Adam", learning_rate: 0.001, betas: [0.9, 0.999], eps: 1.0e-08, '
                        'weight_decay_rate: 0.0, amsgrad: false'),
        (ws.optim.Adagrad, 'optimizer_type: "Adagrad", learning_rate: 0.01, lr_decay: 0.0, weight_decay_rate: 0.0, '
                           'initial_accumulator_value: 0.0, eps: 1.0e-10'),
        (ws.optim.RMSprop, 'optimizer_type: "RMSprop", learning_rate: 0.01, alpha: 0.99, eps: 1.0e-08, '
                           'weight_decay_rate: 0.0, momentum: 0.0, centered: false')):
      self.assertEqual(self.recipe(made), f"optimizer: {{{wanted}, maximize: false}}")

  def test_schedules(self):
    rate = ws.schedules.Linear(0.0, 0.1, 5).then(ws.schedules.CosineDecay(0.1, 0.0, 20))
    self.assertIn('learning_rate: '
                  '[{scheduler: "Linear", initial_learning_rate: 0.0, end_learning_rate: 0.1, steps: 5}, '
                  '{scheduler: "CosineDecay", initial_learning_rate: 0.1, end_learning_rate: 0.0, steps: 20}]',
                  self.recipe(lambda p: ws.optim.SGD(p, lr=rate)))

  def test_clipping(self):
    sgd = lambda p: ws.optim.SGD(p, lr=0.1)  # noqa: E731
    self.assertIn("max_gradient_norm: 2.0",
                  self.recipe(sgd, before_step=lambda p: ws.nn.utils.clip_grad_norm_(p, 2)))
    self.assertIn("max_gradient_value: 0.5",
                  self.recipe(sgd, before_step=lambda p: ws.nn.utils.clip_grad_value_(p, 0.5)))

  def test_wrong_options_of_optimizers(self):
    layer = ws.nn.Linear(2, 2)
    for make, pattern in ((lambda p: ws.optim.SGD(p, lr=-1), "lr is -1"),
                          (lambda p: ws.optim.SGD([], lr=1), "needs param"),
                          (lambda p: ws.optim.SGD(p, lr=1, nesterov=True), "nesterov needs a momentum"),
                          (lambda p: ws.optim.Adam(p, betas=(0.9, 1)), "1 in betas")):
      with self.assertRaisesRegex(ValueError, pattern):
        make(layer.parameters())
    with self.assertRaisesRegex(TypeError, "no such argument of an optimizer: beta"):
      ws.optim.Adam(layer.parameters(), beta=0.9)

  def test_parameters_that_are_not_the_optimizers_stay_constants(self):
    base, head = ws.nn.Linear(8, 8), ws.nn.Linear(8, 1)
    made = ws.optim.SGD(head.parameters(), lr=0.1)

    def step(x):
      value = ws.mean(head(base(x)))
      value.backward()
      made.step()
      made.zero_grad()
    text = text_of(self.traced(step))   # which returns nothing: its loss comes back
    self.assertEqual(line(text, "training"),
                     'training: {loss: "reduce_mean", parameters: ["weight", "bias"], outputs: ["reduce_mean"]}')
    self.assertEqual(text.yaml.count("offset:"), 4)

  def test_everything_on_the_host(self):
    text = text_of(self.traced(lambda x: ws.relu(x)), host=True)
    self.assertIn("origin: host", text.yaml)

  def test_one_kernel_for_a_loss(self):
    fused = self.training(ws.optim.Adam, ws.losses.CrossEntropyLoss(use_autogen=True))
    self.assertIn('reduction: "mean", use_autogen: 1}', text_of(fused).yaml)
    for other in (text_of(fused, marks=False), text_of(fused, host=True), text_of(self.training(ws.optim.Adam))):
      self.assertNotIn("use_autogen", other.yaml)

  def test_a_loss_of_ones_own_is_one_formula(self):
    @ws.autogen_loss
    class Squares(ws.nn.Module):
      def __init__(self, use_autogen=True):
        super().__init__()
        self.use_autogen = use_autogen

      def forward(self, x, table):
        return ws.mean((x - 1.0) ** 2 + table)

    table = np.arange(8, dtype=np.float32)
    step = self.traced(lambda x: Squares()(ws.relu(x), table) + Squares()(x, table))
    nodes = [l for l in text_of(step).yaml.splitlines() if "op: " in l]
    attrs = (r'attrs: {expr: "v0 = in0 - 1.0\nv1 = square(v0)\nv2 = v1 + in1\ny = mean(v2)", inputs: "in0 in1", '
             'reduction: "none", use_autogen: 1}')
    self.assertIn(f'name: "reduce_mean", op: custom_loss, inputs: ["relu", "constant_1"], {attrs}', nodes[1])
    self.assertIn(f'name: "reduce_mean_1", op: custom_loss, inputs: ["x", "constant_3"], {attrs}', nodes[2])
    self.assertIn('op: add, inputs: ["reduce_mean", "reduce_mean_1"]', nodes[3])
    with self.assertWarnsRegex(ws.TraceWarning, "Squares is an @autogen_loss without use_autogen=True"):
      self.assertNotIn("custom_loss", text_of(self.traced(lambda x: Squares(False)(x, table))).yaml)
    with self.assertRaisesRegex(TypeError, "above a class that is a ws.nn.Module"):
      ws.autogen_loss(len)

  def test_use_autogen_without_the_decorator(self):
    class Plain(ws.nn.Module):
      def __init__(self):
        super().__init__()
        self.use_autogen = True

      def forward(self, x):
        return ws.mean(x)

    with self.assertWarnsRegex(ws.TraceWarning, "Plain has use_autogen, which only counts below the decorator"):
      self.assertNotIn("custom_loss", text_of(self.traced(lambda x: Plain()(x))).yaml)

  def formula(self, function, *arguments):
    graph = self.traced(function, *arguments).step.tracer.graph
    return formula_of(graph.nodes, graph.outputs, [])

  def test_formulas(self):
    for function, wanted in (
        (lambda x: -x / -2.0, "v0 = -in0\ny = v0 / (-2.0)"),
        (lambda x: ws.where(x > 0.5, x ** 1.5, 2.0), "v0 = in0 > 0.5\nv1 = in0 ^ 1.5\ny = select(v0, v1, 2.0)"),
        (lambda x: ws.clamp(x, -1.0, 3.0).sum(1), "v0 = clip(in0, max=3.0, min=(-1.0))\ny = sum(v0, axis=1)"),
        (lambda x: x.mean((0, 1), keepdim=True), "y = mean(mean(in0, axis=1, keep=1), axis=0, keep=1)"),
        (lambda x: ws.leaky_relu(ws.log_softmax(x), 0.1),
         "v0 = log_softmax(in0, axis=1)\ny = leaky_relu(v0, alpha=0.1)")):
      found = self.formula(function)
      self.assertEqual((found.text, found.names()), (wanted, "in0"))

  def test_a_loss_that_is_no_formula_stays_apart(self):
    @ws.autogen_loss
    class Shaped(ws.nn.Module):
      use_autogen = True

      def forward(self, x):
        return ws.mean(ws.relu(x).reshape(2, 4), 0).sum()

    text = text_of(self.traced(lambda x: Shaped()(ws.tanh(x))))
    self.assertEqual([node.op for node in text.apart], ["relu"])
    self.assertNotIn("custom_loss", text.yaml)

  def test_what_is_no_formula(self):
    self.assertIsNone(self.formula(lambda x: ws.relu(x).reshape(8)))       # shapes are no part of the language
    self.assertIsNone(self.formula(lambda x: (ws.relu(x), ws.tanh(x))))    # two results
    self.assertIsNone(self.formula(lambda x: ws.sum(sum(ws.tensor(np.arange(8.0) + k) * x for k in range(9)))))

  def test_numbers_are_read_back_as_they_were(self):
    for value in (1e-8, 1e20, 0.1, -2.5, 3.0, float("inf")):
      written = graph_text.number(value)
      self.assertEqual(float(written.replace(".inf", "inf")), value)
      self.assertRegex(written, r"^-?(\d+\.\d+(e[+-]?\d+)?|\.inf)$")   # what YAML reads as a number in floating point
    self.assertEqual([graph_text.number(v) for v in (3, True, np.int64(-4), float("nan"))], ["3", "1", "-4", ".nan"])

  def test_equal_graphs(self):
    def lines(function, *arguments):
      return graph_text.canonical(self.traced(function, *arguments).step.tracer.graph)
    first = lines(lambda x: ws.relu(x) * 2.0)
    again = lines(lambda x: ws.relu(x) * 2.0)      # another line of the program
    self.assertTrue(graph_text.equal(first, again))
    self.assertEqual(graph_text.digest(first), graph_text.digest(again))
    for other in (lines(lambda x: ws.relu(x) * 2.5), lines(lambda x: ws.tanh(x) * 2.0),
                  lines(lambda y: ws.relu(y) * 2.0), lines(lambda x: ws.relu(x) * 2.0, np.ones((2, 8), np.float32))):
      self.assertFalse(graph_text.equal(first, other))
      self.assertNotEqual(graph_text.digest(first), graph_text.digest(other))


if __name__ == "__main__":
  unittest.main()
