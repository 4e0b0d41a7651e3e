"""Functions of every element for itself, with broadcasting; names and arguments are torch's."""
from wafersmith.functions import unary as u
from wafersmith.functions.apply import apply, broadcast, cast, fail, floating, pair, shaped
from wafersmith.tensors import as_tensor

__all__ = ["add", "sub", "mul", "div", "true_divide", "pow", "remainder", "fmod", "floor_divide", "maximum", "minimum",
           "eq", "ne", "gt", "lt", "ge", "le", "equal", "greater", "less", "logical_and", "logical_or", "logical_xor",
           "logical_not", "where", "masked_fill", "clamp", "clip", "leaky_relu", "elu", "celu", "selu", "gelu", "silu",
           "softplus", "hardtanh", "relu6", "hardsigmoid", "softshrink", "hardshrink", "prelu", "isfinite", "cast"]


def _binary(op, a, b):
  a, b = pair(a, b)
  return apply(op, [a, b], {}, shaped(a, broadcast(op, a.shape, b.shape)))


def _compare(op, a, b):
  a, b = pair(a, b, arithmetic=False)
  return apply(op, [a, b], {}, shaped(a, broadcast(op, a.shape, b.shape), "bool"))


def add(input, other, *, alpha=1):
  return _binary("add", input, other if alpha == 1 else mul(other, alpha))


def sub(input, other, *, alpha=1):
  return _binary("sub", input, other if alpha == 1 else mul(other, alpha))


def mul(input, other):
  return _binary("mul", input, other)


def div(input, other):
  a, b = pair(input, other)
  return _binary("div", floating(a), floating(b))


true_divide = div


def floor_divide(input, other):
  return u.floor(div(input, other))


def remainder(input, other):
  return _binary("mod", input, other)


def fmod(input, other):
  return _binary("fmod", input, other)


def maximum(input, other):
  return _binary("max", input, other)


def minimum(input, other):
  return _binary("min", input, other)


def pow(input, exponent):
  """Small whole exponents, 1/2 and -1 are products and roots; others go by way of a logarithm."""
  if isinstance(exponent, (int, float)):
    x = as_tensor(input)
    if exponent == 1:
      return x
    if exponent == 2:
      return u.square(x)
    if exponent == 3:
      return mul(u.square(x), x)
    if exponent == 4:
      return u.square(u.square(x))
    if exponent == 0.5:
      return u.sqrt(x)
    if exponent == -1:
      return u.reciprocal(x)
    input = floating(x)
  return _binary("pow", input, exponent)


def eq(input, other):
  return _compare("equal", input, other)


def ne(input, other):
  return logical_not(eq(input, other))


def gt(input, other):
  return _compare("greater", input, other)


def lt(input, other):
  return _compare("less", input, other)


def ge(input, other):
  return _compare("greater_or_equal", input, other)


def le(input, other):
  return _compare("less_or_equal", input, other)


equal, greater, less = eq, gt, lt


def _logical(op, input, other):
  a, b = cast(input, "bool"), cast(other, "bool")
  return apply(op, [a, b], {}, shaped(a, broadcast(op, a.shape, b.shape)))


def logical_and(input, other):
  return _logical("and", input, other)


def logical_or(input, other):
  return _logical("or", input, other)


def logical_xor(input, other):
  return _logical("xor", input, other)


def logical_not(input):
  x = cast(input, "bool")
  return apply("not", [x], {}, x.type)


def where(condition, input, other):
  condition, (a, b) = cast(condition, "bool"), pair(input, other, arithmetic=False)
  return apply("where", [condition, a, b], {}, shaped(a, broadcast("where", condition.shape, a.shape, b.shape)))


def masked_fill(input, mask, value):
  return where(mask, value, input)


def isfinite(input):
  return logical_not(logical_or(u.isnan(input), u.isinf(input)))


def _with(op, input, **attrs):
  x = floating(input)
  return apply(op, [x], attrs, x.type)


def clamp(input, min=None, max=None):
  attrs = {key: float(v) for key, v in (("min", min), ("max", max)) if v is not None}
  x = as_tensor(input)
  return apply("clip", [x], attrs, x.type) if attrs else fail("clamp: neither min nor max")


clip = clamp


def leaky_relu(input, negative_slope=0.01):
  return _with("leaky_relu", input, alpha=float(negative_slope))


def elu(input, alpha=1.0):
  return _with("elu", input, alpha=float(alpha))


def celu(input, alpha=1.0):
  return _with("celu", input, alpha=float(alpha))


def selu(input):
  return _with("selu", input)


def gelu(input, approximate="none"):
  if approximate not in ("none", "tanh"):
    raise ValueError(f"gelu: approximate is 'none' or 'tanh', not {approximate!r}")
  return _with("gelu" if approximate == "none" else "gelu_tanh", input)


def silu(input):
  return _with("swish", input)


def softplus(input, beta=1.0, threshold=20.0):
  if beta != 1.0:
    return div(softplus(mul(input, float(beta))), float(beta))
  return _with("softplus", input)


def hardtanh(input, min_val=-1.0, max_val=1.0):
  return _with("hard_tanh", input, min=float(min_val), max=float(max_val))


def relu6(input):
  return clamp(input, 0.0, 6.0)


def hardsigmoid(input):
  return _with("hard_sigmoid", input, alpha=1 / 6, beta=0.5)


def softshrink(input, lambd=0.5):
  return _with("shrink", input, lambd=float(lambd), bias=float(lambd))


def hardshrink(input, lambd=0.5):
  return _with("shrink", input, lambd=float(lambd), bias=0.0)


def prelu(input, weight):
  """One slope for all, or one for every channel (dimension 1)."""
  x, slope = pair(input, weight)
  if slope.numel() > 1 and x.ndim > 1:
    slope = slope.reshape([1, -1] + [1] * (x.ndim - 2))
  return apply("prelu", [x, slope], {}, x.type)


