"""Modules, names of parameters, shapes that functions work out, and what importing costs."""
import subprocess
import sys
import unittest

import numpy as np

import wafersmith as ws
from counting import CountingTest


class ModuleTest(unittest.TestCase):
  def test_parameters_have_their_paths_as_names(self):
    model = ws.nn.Sequential(ws.nn.Linear(4, 3), ws.nn.ReLU(), ws.nn.Linear(3, 2, bias=False))
    self.assertEqual([p.name for p in model.parameters()], ["0.weight", "0.bias", "2.weight"])
    self.assertEqual([p.shape for p in model.parameters()], [(3, 4), (3,), (2, 3)])

  def test_a_shared_parameter_is_there_once(self):
    tied = ws.nn.Sequential(ws.nn.Embedding(5, 4), ws.nn.Linear(4, 5, bias=False))
    tied[1].weight = tied[0].weight
    self.assertEqual(len(list(tied.parameters())), 1)

  def test_initial_weights_come_from_the_seed(self):
    ws.manual_seed(3)
    a = ws.nn.Linear(100, 50)
    ws.manual_seed(3)
    b = ws.nn.Linear(100, 50)
    self.assertTrue(np.array_equal(a.weight.numpy(), b.weight.numpy()))
    # Uniform in +-1/sqrt(100): a variance of 0.1^2/3.
    self.assertLess(np.abs(a.weight.numpy()).max(), 0.1)
    self.assertAlmostEqual(float(a.weight.numpy().var()), 0.01 / 3, delta=0.0002)

  def test_state_goes_out_and_in(self):
    a, b = (ws.nn.Sequential(ws.nn.Linear(4, 3), ws.nn.BatchNorm1d(3)) for _ in range(2))
    b.load_state_dict(a.state_dict())
    self.assertTrue(np.array_equal(a[0].weight.numpy(), b[0].weight.numpy()))
    self.assertEqual(sorted(a.state_dict()),
                     ["0.bias", "0.weight", "1.bias", "1.running_mean", "1.running_var", "1.weight"])
    with self.assertRaisesRegex(KeyError, "names that only one side has: 0.bias"):
      b.load_state_dict({k: v for k, v in a.state_dict().items() if k != "0.bias"})
    with self.assertRaisesRegex(ValueError, r"0.weight is f32\[3, 4\], the new value has the shape \[1\]"):
      list(b.parameters())[0].store([1.0])

  def test_mistakes(self):
    class Early(ws.nn.Module):
      def __init__(self):
        self.layer = ws.nn.Linear(1, 1)

    with self.assertRaisesRegex(AttributeError, "must call super"):
      Early()
    with self.assertRaisesRegex(TypeError, "CrossEntropyLoss has no argument label_smooth; there are ignore_index"):
      ws.losses.CrossEntropyLoss(label_smooth=0.1)
    with self.assertRaisesRegex(ValueError, "reduction is 'avg'; there are mean, sum, none, batchmean"):
      ws.losses.KLDivLoss(reduction="avg")
    with self.assertRaisesRegex(TypeError, "LeakyReLU takes negative_slope"):
      ws.nn.LeakyReLU(slope=0.1)

  def test_importing_the_package_imports_nothing_of_it(self):
    def printed(code):
      return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    self.assertEqual(printed("import sys, wafersmith; "
                             "print([m for m in sys.modules if m.startswith('wafersmith.') or m == 'numpy'])"), "[]\n")
    self.assertEqual(printed("import sys, wafersmith.nn, wafersmith as ws; ws.trace; print('torch' in sys.modules)"),
                     "False\n")


class ShapeTest(CountingTest):
  def shape(self, function, *shapes):
    found = []

    @ws.trace
    def step(*tensors):
      found.append(function(*tensors))
      return found[0]

    self.wafer(reload=True)
    step(*[np.zeros(shape, np.float32) for shape in shapes])
    return found[0].shape

  def test_shapes(self):
    for wanted, function, *shapes in (
        ((2, 3, 4), ws.add, (2, 1, 4), (3, 1)), ((5, 2, 7), ws.matmul, (5, 2, 3), (3, 7)),
        ((2,), ws.matmul, (2, 3), (3,)),
        ((2, 1, 4), lambda x: x.mean(1, keepdim=True), (2, 3, 4)), ((3,), lambda x: x.sum((0, 2)), (2, 3, 4)),
        ((2, 12), lambda x: x.flatten(1), (2, 3, 4)), ((4, 3, 2), lambda x: x.T, (2, 3, 4)),
        ((4, 3), lambda x: x[1].transpose(0, 1), (2, 3, 4)), ((2, 2), lambda x: x[:, ::2, 0], (2, 3, 4)),
        ((1, 2, 3, 4), lambda x: x[None], (2, 3, 4)), ((2, 3, 1), lambda x: x[..., -1:], (2, 3, 4)),
        ((4, 4), lambda x: ws.cat([x, x, x]).reshape(4, -1)[:, :4], (2, 8)),
        # (7 + 2 - 3) / 2 + 1 rows
        ((2, 5, 4, 4), lambda x: ws.nn.Conv2d(3, 5, 3, stride=2, padding=1)(x), (2, 3, 7, 7)),
        ((2, 3, 3, 3), ws.nn.MaxPool2d(2), (2, 3, 7, 7)),
        ((2, 3, 4, 4), ws.nn.MaxPool2d(2, ceil_mode=True), (2, 3, 7, 7)),
        ((2, 5, 9), ws.nn.Linear(4, 9), (2, 5, 4)), ((9,), ws.nn.Linear(4, 9), (4,)),
        ((), ws.nn.CrossEntropyLoss(), (4, 3), (4, 3)),
        ((4, 2), ws.nn.CrossEntropyLoss(reduction="none"), (4, 3, 2), (4, 3, 2)),
        ((4,), ws.nn.TripletMarginLoss(reduction="none"), (4, 3), (4, 3), (4, 3))):
      self.assertEqual(self.shape(function, *shapes), wanted)

  def test_shapes_that_do_not_fit(self):
    for function, shapes, pattern in (
        (ws.matmul, ((2, 3), (4, 5)), r"matmul: \[2, 3\] and \[4, 5\]: dimension 1 of the first is 3, "
                                      "dimension 0 of the second is 4; they must be equal"),
        (ws.add, ((2, 3), (4,)), r"add: the shapes \[2, 3\] and \[4\] do not go together"),
        (lambda x: x.reshape(5, -1), ((2, 3),), r"\[2, 3\] has 6 elements"),
        (ws.nn.Linear(4, 9), ((2, 3),), "the layer takes 4 features"),
        (ws.nn.Conv2d(3, 5, 3), ((2, 4, 7, 7),), "take 3 channels"),
        (lambda x: x.sum(3), ((2, 3),), r"dimension 3 is not one of a tensor of shape \[2, 3\]"),
        (ws.nn.Dropout(0.5), ((2, 3),), "use p=0 or call eval")):
      with self.assertRaisesRegex(ValueError, pattern) as caught:
        self.shape(function, *shapes)
      self.assertEqual(caught.exception.where.file, __file__)


if __name__ == "__main__":
  unittest.main()
