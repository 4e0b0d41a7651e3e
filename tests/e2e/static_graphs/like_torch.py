"""Functions, layers and losses against torch's: each case is one expression that both libraries compute.

Exit code 77 (skipped) where torch is not installed.
"""
import copy
import sys
import types
import unittest

import numpy as np

import wafersmith as ws

try:
  import torch
except ImportError:
  sys.exit(77)

RNG = np.random.default_rng(7)
TORCH = types.SimpleNamespace(**{**{k: getattr(torch, k) for k in dir(torch) if not k.startswith("__")},
                                 **{k: v for k, v in vars(torch.nn.functional).items() if not k.startswith("__")},
                                 "nn": torch.nn})
OURS = types.SimpleNamespace(**{k: getattr(ws, k) for k in ws.functions.__all__}, nn=ws.nn)
for name in ws.nn.functional.__dict__:
  if not name.startswith("_"):
    setattr(OURS, name, getattr(ws.nn.functional, name))


def normal(*shape):
  return RNG.standard_normal(shape).astype(np.float32)


def positive(*shape):
  return (RNG.random(shape) + 0.1).astype(np.float32)


A, B, P, Q = normal(3, 4), normal(3, 4), positive(3, 4), positive(3, 4)
IMAGE = normal(2, 3, 7, 7)
CLASSES = RNG.integers(0, 4, 3)
SIGNS = np.sign(normal(3)).astype(np.float32)

CASES = {
    # one operand
    **{name: (lambda f, x, name=name: getattr(f, name)(x), A) for name in (
        "relu tanh sigmoid exp expm1 square abs neg sign floor ceil round erf sin cos tan sinh cosh asinh atan "
        "softsign mish selu elu celu silu gelu softplus hardtanh relu6 hardswish hardsigmoid softshrink hardshrink "
        "tanhshrink logsigmoid leaky_relu isnan isfinite").split()},
    **{name: (lambda f, x, name=name: getattr(f, name)(x), P) for name in
       "log log1p sqrt rsqrt reciprocal".split()},
    **{name: (lambda f, x, name=name: getattr(f, name)(x * 0.5), A.clip(-1.9, 1.9)) for name in
       "asin acos atanh".split()},
    "acosh": (lambda f, x: f.acosh(x + 1), P),
    "gelu_tanh": (lambda f, x: f.gelu(x, approximate="tanh"), A),
    "leaky_slope": (lambda f, x: f.leaky_relu(x, 0.3), A),
    "softplus_beta": (lambda f, x: f.softplus(x, beta=2.0), A),
    "prelu": (lambda f, x, w: f.prelu(x, w), IMAGE, positive(3)),
    "clamp": (lambda f, x: f.clamp(x, -0.5, 0.25), A), "clamp_min": (lambda f, x: f.clamp(x, min=0.1), A),
    # operators
    "arithmetic": (lambda f, x, y: (1.0 - x) * 2 / (y + 3.0) - -x, A, P),
    "broadcast": (lambda f, x, y: x[:, None] * y - 1, A, B),
    "powers": (lambda f, x: x ** 2 + x ** 3 - x ** 4 + x ** 0.5 + x ** -1 + x ** 1.5 + 2.0 ** x, P),
    "pow": (lambda f, x, y: x ** y, P, B), "remainder": (lambda f, x, y: x % y, A, P),
    "fmod": (lambda f, x, y: f.fmod(x, y), A, P), "floordiv": (lambda f, x, y: x // y, A, P),
    "integers": (lambda f, x: x / 2 + x * 3, CLASSES),
    "comparisons": (lambda f, x, y: f.stack([x < y, x <= y, x > y, x >= y, x == y, x != y]), A, B),
    "logic": (lambda f, x, y: f.logical_not((x > 0) & (y > 0) | (x > y) ^ (y < 0)), A, B),
    "where": (lambda f, x, y: f.where(x > y, x, y * 0.5), A, B),
    "masked_fill": (lambda f, x: x.masked_fill(x > 0, 2.0), A),
    "maximum": (lambda f, x, y: f.maximum(x, y) - f.minimum(x, y), A, B),
    # reductions
    "sum": (lambda f, x: x.sum() + x.sum(0) + x.sum(dim=1, keepdim=True), A),
    "mean": (lambda f, x: x.mean((0, 2)), IMAGE), "prod": (lambda f, x: x.prod(1), A),
    "all_max": (lambda f, x: x.max(), A),
    "max": (lambda f, x: x.max(1).values - x.min(1)[0], A), "argmax": (lambda f, x: x.argmax(1) + x.argmin(-1), A),
    "argmax_of_all": (lambda f, x: x.argmax(), A), "var": (lambda f, x: x.var() + x.var(1, unbiased=False), A),
    "std": (lambda f, x: f.std(x, 0), A), "norm": (lambda f, x: f.norm(x, dim=1), A),
    "logsumexp": (lambda f, x: f.logsumexp(x, 1), A), "cumsum": (lambda f, x: f.cumsum(x, 1), A),
    "softmax": (lambda f, x: f.softmax(x, dim=1) + f.log_softmax(x, dim=0), A),
    "topk": (lambda f, x: f.topk(x, 2, dim=1)[0], A), "any": (lambda f, x: (x > 1).any(1), A),
    "all": (lambda f, x: (x > -1).all(), A),
    # movement
    "reshape": (lambda f, x: x.reshape(2, -1).T.contiguous().view(6, 2), A),
    "index": (lambda f, x: x[:, 1] + x[..., -1] - x[1, 2] + x[0, 1:2], A), "step": (lambda f, x: x[::2, 1:], A),
    "rows": (lambda f, x, i: x[i], B, np.array([2, 0])), "permute": (lambda f, x: x.permute(0, 2, 3, 1), IMAGE),
    "cat": (lambda f, x, y: f.cat([x, y], dim=1), A, B), "stack": (lambda f, x, y: f.stack([x, y], -1), A, B),
    "split": (lambda f, x: f.split(x, 3, dim=1)[1] + x.chunk(2, 1)[0][:, :1], A),
    "expand": (lambda f, x: x[:, None].expand(3, 2, 4), A), "repeat": (lambda f, x: x.repeat(2, 1, 3), A),
    "pad": (lambda f, x: f.pad(x, (1, 2, 0, 1), value=0.5), A),
    "reflect": (lambda f, x: f.pad(x, (2, 1), "reflect"), IMAGE[0]),
    "gather": (lambda f, x, i: x.gather(1, i), A, np.array([[0, 3], [1, 1], [2, 0]])),
    "embedding": (lambda f, w, i: f.embedding(i, w), normal(9, 4), np.array([[3, 1], [8, 0]])),
    "triangle": (lambda f, x: f.tril(x) - f.triu(x, 1), A),
    "squeeze": (lambda f, x: x.unsqueeze(1).squeeze(1).flatten(), A),
    "one_hot": (lambda f, i: f.one_hot(i, 4), CLASSES),
    "types": (lambda f, x: (x * 10).long().float() + (x > 0).float(), A),
    # products and windows
    "matmul": (lambda f, x, y: x @ y.T, A, B),
    "batched": (lambda f, x, y: f.matmul(x, y), normal(2, 3, 4), normal(4, 5)),
    "vector": (lambda f, x, y: x @ y, A, normal(4)),
    "linear": (lambda f, x, w, b: f.linear(x, w, b), normal(2, 5, 4), normal(3, 4), normal(3)),
    "conv2d": (lambda f, x, w, b: f.conv2d(x, w, b, stride=2, padding=1), IMAGE, normal(4, 3, 3, 3), normal(4)),
    "conv_groups": (lambda f, x, w: f.conv2d(x, w, padding="same", dilation=2, groups=3), IMAGE, normal(6, 1, 3, 3)),
    "conv1d": (lambda f, x, w: f.conv1d(x, w), IMAGE[0], normal(2, 7, 3)),
    "max_pool": (lambda f, x: f.max_pool2d(x, 3, 2, 1), IMAGE),
    "ceil_pool": (lambda f, x: f.max_pool2d(x, 2, ceil_mode=True), IMAGE),
    "avg_pool": (lambda f, x: f.avg_pool2d(x, 3, 2, 1, count_include_pad=False), IMAGE),
    "padded_mean": (lambda f, x: f.avg_pool2d(x, 3, 2, 1), IMAGE),
    "global_pool": (lambda f, x: f.adaptive_avg_pool2d(x, 1), IMAGE),
    "layer_norm": (lambda f, x, w, b: f.layer_norm(x, (7, 7), w, b, eps=1e-3), IMAGE, normal(7, 7), normal(7, 7)),
    "group_norm": (lambda f, x, w, b: f.group_norm(x, 3, w, b), IMAGE, normal(3), normal(3)),
    "batch_norm": (lambda f, x, m, v: f.batch_norm(x, m, v), IMAGE, normal(3), positive(3)),
    # losses
    "l1": (lambda f, x, y: f.nn.L1Loss()(x, y), A, B),
    "mse": (lambda f, x, y: f.nn.MSELoss(reduction="sum")(x, y), A, B),
    "huber": (lambda f, x, y: f.nn.HuberLoss(delta=0.5)(x, y), A, B),
    "smooth_l1": (lambda f, x, y: f.nn.SmoothL1Loss(beta=0.3, reduction="none")(x, y), A, B),
    "bce": (lambda f, x, y: f.nn.BCELoss()(f.sigmoid(x), f.sigmoid(y)), A, B),
    "bce_logits": (lambda f, x, y: f.nn.BCEWithLogitsLoss()(x, f.sigmoid(y)), A, B),
    "cross_entropy": (lambda f, x, y: f.nn.CrossEntropyLoss(label_smoothing=0.1, ignore_index=1)(x, y), A, CLASSES),
    "cross_entropy_none": (lambda f, x, y: f.cross_entropy(x, y, reduction="none"), A, CLASSES),
    "probabilities": (lambda f, x, y: f.nn.CrossEntropyLoss()(x, f.softmax(y, dim=1)), A, B),
    "nll": (lambda f, x, y: f.nn.NLLLoss()(f.log_softmax(x, dim=1), y), A, CLASSES),
    "gaussian": (lambda f, x, y, v: f.nn.GaussianNLLLoss(full=True)(x, y, v), A, B, P),
    "gaussian_rows": (lambda f, x, y, v: f.nn.GaussianNLLLoss()(x, y, v), A, B, positive(3)),
    "poisson": (lambda f, x, y: f.nn.PoissonNLLLoss(log_input=False, full=True)(x, y), P, Q * 9),
    "kl": (lambda f, x, y: f.nn.KLDivLoss(reduction="batchmean")(f.log_softmax(x, dim=1), f.softmax(y, dim=1)), A, B),
    "hinge": (lambda f, x, y: f.nn.HingeEmbeddingLoss(margin=0.5)(x, y), A, np.sign(B)),
    "ranking": (lambda f, x, y, s: f.nn.MarginRankingLoss(0.2)(x[:, 0], y[:, 0], s), A, B, SIGNS),
    "cosine": (lambda f, x, y, s: f.nn.CosineEmbeddingLoss(margin=0.1)(x, y, s), A, B, SIGNS),
    "multi_margin": (lambda f, x, y: f.nn.MultiMarginLoss(p=2, margin=0.7)(x, y), A, CLASSES),
    "soft_margin": (lambda f, x, y: f.nn.MultiLabelSoftMarginLoss(reduction="none")(x, (y > 0).float()), A, B),
    "triplet": (lambda f, x, y, z: f.nn.TripletMarginLoss(p=2.0, swap=True)(x, y, z), A, B, P),
    "triplet_distance": (lambda f, x, y, z: f.nn.TripletMarginWithDistanceLoss(
        distance_function=lambda a, b: (a - b).abs().sum(1), margin=0.5, reduction="sum")(x, y, z), A, B, P),
    "ctc": (lambda f, x, y, n, m: f.nn.CTCLoss()(f.log_softmax(x, dim=2), y, n, m), normal(6, 2, 4),
            np.array([[1, 2, 3], [2, 2, 1]]), np.array([6, 5]), np.array([3, 2])),
    # modules
    **{name: (lambda f, x, name=name: getattr(f.nn, name)()(x), A) for name in
       "ReLU Tanh Sigmoid SiLU GELU LeakyReLU ELU Softplus Hardtanh LogSigmoid Identity".split()},
    "Softmax": (lambda f, x: f.nn.Softmax(dim=0)(x), A), "Dropout": (lambda f, x: f.nn.Dropout(0.0)(x), A),
    "Flatten": (lambda f, x: f.nn.Sequential(f.nn.MaxPool2d(2), f.nn.Flatten())(x), IMAGE),
    "LayerNorm": (lambda f, x: f.nn.LayerNorm(4)(x), A),
}


class LikeTorchTest(unittest.TestCase):
  def check(self, ours, theirs):
    theirs = theirs.detach().numpy()
    self.assertEqual(ours.shape, theirs.shape)
    self.assertEqual(ours.numpy().dtype, theirs.dtype)
    np.testing.assert_allclose(ours.numpy(), theirs, rtol=2e-5, atol=2e-6)


def case(function, *arrays):
  def test(self):
    self.check(function(OURS, *map(ws.tensor, arrays)), function(TORCH, *map(torch.from_numpy, arrays)))
  return test


for name, given in CASES.items():
  setattr(LikeTorchTest, f"test_{name}", case(*given))


OPTIMIZERS = [
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}), ("SGD", {"lr": 0.1, "maximize": True}),
    ("Adam", {}), ("Adam", {"amsgrad": True, "weight_decay": 0.1}), ("Adam", {"lr": 0.01, "betas": (0.5, 0.6)}),
    ("AdamW", {}), ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.1, "initial_accumulator_value": 0.2, "weight_decay": 0.01}),
    ("RMSprop", {}), ("RMSprop", {"centered": True, "momentum": 0.5, "weight_decay": 0.1, "alpha": 0.9})]


class OptimizerTest(unittest.TestCase):
  """Weights after four steps are those of torch in float64."""

  def train(self, name, options):
    torch.manual_seed(0)
    ours = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    theirs = copy.deepcopy(ours).double()
    compiled = ws.compile(ours, ws.backend("small"))
    our_optimizer = getattr(ws.optim, name)(ours.parameters(), **options)
    their_optimizer = getattr(torch.optim, name)(theirs.parameters(), **options)

    @ws.trace
    def step(x, y):
      loss = ws.nn.functional.mse_loss(compiled(x), y)
      loss.backward()
      our_optimizer.step()
      our_optimizer.zero_grad()

    for _ in range(4):
      x, y = normal(3, 5), normal(3, 2)
      step(x, y)
      their_optimizer.zero_grad()
      torch.nn.functional.mse_loss(theirs(torch.from_numpy(x).double()), torch.from_numpy(y).double()).backward()
      their_optimizer.step()
    compiled.store()
    for a, b in zip(ours.parameters(), theirs.parameters()):
      np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-5, atol=1e-6)

  def test_optimizers(self):
    for name, options in OPTIMIZERS:
      with self.subTest(name, **options):
        self.train(name, options)


class TorchModuleTest(unittest.TestCase):
  """A torch.nn.Module in place of one of ours."""

  def net(self):
    class Net(torch.nn.Module):
      def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(1, 3, 3, padding=1)
        self.head = torch.nn.Sequential(torch.nn.Linear(12, 5), torch.nn.GELU(), torch.nn.LayerNorm(5))
        self.words = torch.nn.Embedding(7, 5)

      def forward(self, x, i):
        h = torch.nn.functional.max_pool2d(torch.relu(self.conv(x)), 2)
        h = self.head(torch.flatten(h, 1)) * 2.0 + self.words(i)
        return torch.softmax(1.0 - h, dim=-1), h.view(-1).mean()
    torch.manual_seed(1)
    return Net()

  def test_forward_on_the_wafer(self):
    net, x, i = self.net(), normal(2, 1, 4, 4), np.array([3, 6])
    compiled = ws.compile(net, ws.backend("small"))
    ours, theirs = compiled(x, i), net(torch.from_numpy(x), torch.from_numpy(i))
    for a, b in zip(ours, theirs):
      np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=2e-5, atol=2e-6)
    self.assertEqual([n for n, _ in compiled.named_parameters()], [n for n, _ in net.named_parameters()])

  def train_both(self, compiled, ours_optimizer, theirs, theirs_optimizer, batches):
    """A step for each batch, ours on the wafer and torch's in float64, with equal losses."""
    @ws.trace
    def step(x, y):
      loss = ws.nn.functional.cross_entropy(compiled(x), y)
      loss.backward()
      ours_optimizer.step()
      ours_optimizer.zero_grad()
      return loss

    for x, y in batches:
      loss = torch.nn.functional.cross_entropy(theirs(torch.from_numpy(x).double()), torch.from_numpy(y))
      theirs_optimizer.zero_grad()
      loss.backward()
      theirs_optimizer.step()
      self.assertAlmostEqual(float(step(x, y)), float(loss), places=5)

  def test_training(self):
    """Losses of three steps and the weights behind them are those of torch in float64."""
    torch.manual_seed(0)
    nn = torch.nn
    ours = nn.Sequential(nn.Conv2d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 4, 3), nn.Tanh(),
                         nn.AvgPool2d(2), nn.Flatten(), nn.Linear(4, 5))
    theirs = copy.deepcopy(ours).double()
    compiled = ws.compile(ours, ws.backend("wse2", fabric=(40, 40)))
    ours_optimizer, theirs_optimizer = ws.optim.Adam(ours.parameters()), torch.optim.Adam(theirs.parameters())

    batches = [(normal(3, 1, 8, 8), RNG.integers(0, 5, 3)) for _ in range(3)]
    self.train_both(compiled, ours_optimizer, theirs, theirs_optimizer, batches)
    compiled.store()
    for a, b in zip(ours.parameters(), theirs.parameters()):
      np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), atol=1e-5)

  def test_batch_norm_trains_with_its_batch(self):
    """Losses, weights and running statistics of four steps, and then the running ones in use."""
    ws.manual_seed(1)
    ours = ws.nn.Sequential(ws.nn.Linear(6, 5, bias=False), ws.nn.BatchNorm1d(5), ws.nn.ReLU(), ws.nn.Linear(5, 3))
    nn = torch.nn
    theirs = nn.Sequential(nn.Linear(6, 5, bias=False), nn.BatchNorm1d(5), nn.ReLU(), nn.Linear(5, 3)).double()
    theirs.load_state_dict({**{k: torch.from_numpy(v) for k, v in ours.state_dict().items()},
                            "1.num_batches_tracked": torch.tensor(0)})
    compiled = ws.compile(ours, ws.backend("wse2", fabric=(32, 32)))
    ours_optimizer, theirs_optimizer = ws.optim.AdamW(ours.parameters(), lr=0.01), torch.optim.AdamW(theirs.parameters(), lr=0.01)

    batches = [(normal(4, 6), RNG.integers(0, 3, 4)) for _ in range(4)]
    self.train_both(compiled, ours_optimizer, theirs, theirs_optimizer, batches)
    x = batches[-1][0]
    for name, value in ours.state_dict().items():
      np.testing.assert_allclose(value, theirs.state_dict()[name].numpy(), atol=1e-5, err_msg=name)
    np.testing.assert_allclose(ours.eval()(ws.tensor(x)).numpy(), theirs.eval()(torch.from_numpy(x).double()).detach().numpy(), atol=1e-5)

  def test_a_loss_of_torch(self):
    found = ws.evaluate(torch.nn.CrossEntropyLoss(), (A, CLASSES), ws.backend("small"))
    self.assertAlmostEqual(float(found.value),
                           float(torch.nn.CrossEntropyLoss()(torch.from_numpy(A), torch.from_numpy(CLASSES))), places=5)

  def test_values_go_back(self):
    net = self.net()
    compiled = ws.compile(net, ws.backend("small"))
    compiled.conv.bias.store([1, 2, 3])
    compiled.store()
    self.assertEqual(net.conv.bias.tolist(), [1, 2, 3])

  def test_a_function_that_is_not_there(self):
    with self.assertRaisesRegex(ws.StaticGraphError, "like_torch.py:.*torch's function 'fft_fft' has no counterpart"):
      ws.trace(lambda x: torch.fft.fft(x))(A)


if __name__ == "__main__":
  unittest.main()
