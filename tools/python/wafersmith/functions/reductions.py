"""Sums, means, extremes along dimensions; names and arguments are torch's (numpy's axis and keepdims are taken too)."""
from collections import namedtuple

from wafersmith.functions import elementwise as e
from wafersmith.functions import unary as u
from wafersmith.functions.apply import apply, axis_of, cast, fail, floating, shaped
from wafersmith.tensors import Tensor, as_tensor

__all__ = ["sum", "mean", "prod", "amax", "amin", "max", "min", "argmax", "argmin", "var", "std", "norm", "logsumexp",
           "cumsum", "softmax", "log_softmax", "softmin", "topk", "all", "any"]
_Extreme = namedtuple("Extreme", "values indices")


def _axes(x, dim, axis):
  dim = axis if dim is None else dim
  if dim is None:
    return None
  axes = [axis_of(x, d) for d in (dim if isinstance(dim, (tuple, list)) else [dim])]
  if len(set(axes)) != len(axes):
    fail(f"dimension {dim} names one dimension twice")
  return sorted(axes)


def _reduced(x, axes, keep):
  gone = range(len(x.shape)) if axes is None else axes
  return [1 if k in gone else d for k, d in enumerate(x.shape) if keep or k not in gone]


def _reduce(op, x, dim, keepdim, axis=None, keepdims=None):
  keep = keepdim if keepdims is None else keepdims
  axes = _axes(x, dim, axis)
  if not x.shape:
    return x
  attrs = {"keepdims": int(keep)} | ({} if axes is None else {"axes": axes})
  return apply(op, [x], attrs, shaped(x, _reduced(x, axes, keep)))


def _countable(x):
  return cast(x, "i64") if as_tensor(x).type.dtype == "bool" else as_tensor(x)


def sum(input, dim=None, keepdim=False, *, axis=None, keepdims=None):
  return _reduce("reduce_sum", _countable(input), dim, keepdim, axis, keepdims)


def mean(input, dim=None, keepdim=False, *, axis=None, keepdims=None):
  return _reduce("reduce_mean", floating(input), dim, keepdim, axis, keepdims)


def prod(input, dim=None, keepdim=False, *, axis=None, keepdims=None):
  return _reduce("reduce_prod", _countable(input), dim, keepdim, axis, keepdims)


def amax(input, dim=None, keepdim=False, *, axis=None, keepdims=None):
  return _reduce("reduce_max", as_tensor(input), dim, keepdim, axis, keepdims)


def amin(input, dim=None, keepdim=False, *, axis=None, keepdims=None):
  return _reduce("reduce_min", as_tensor(input), dim, keepdim, axis, keepdims)


def max(input, dim=None, keepdim=False, *, axis=None):
  """The largest element; with a dimension (values, indices); of two tensors the larger one of each pair of elements."""
  if isinstance(dim, Tensor):
    return e.maximum(input, dim)
  dim = axis if dim is None else dim
  return amax(input) if dim is None else _Extreme(amax(input, dim, keepdim), argmax(input, dim, keepdim))


def min(input, dim=None, keepdim=False, *, axis=None):
  if isinstance(dim, Tensor):
    return e.minimum(input, dim)
  dim = axis if dim is None else dim
  return amin(input) if dim is None else _Extreme(amin(input, dim, keepdim), argmin(input, dim, keepdim))


def _arg(op, x, dim, keepdim, axis):
  dim = axis if dim is None else dim
  x = as_tensor(x)
  if dim is None:
    x, dim = x.reshape([-1]), 0
  at = axis_of(x, dim)
  return apply(op, [x], {"axis": at, "keepdims": int(keepdim)}, shaped(x, _reduced(x, [at], keepdim), "i64"))


def argmax(input, dim=None, keepdim=False, *, axis=None):
  return _arg("arg_max", input, dim, keepdim, axis)


def argmin(input, dim=None, keepdim=False, *, axis=None):
  return _arg("arg_min", input, dim, keepdim, axis)


def var(input, dim=None, keepdim=False, *, unbiased=True, axis=None):
  x = floating(input)
  axes = _axes(x, dim, axis)
  count = 1
  for k, d in enumerate(x.shape):
    count *= d if axes is None or k in axes else 1
  centered = x - mean(x, axes, True)
  return sum(u.square(centered), axes, keepdim) / float(count - 1 if unbiased else count)


def std(input, dim=None, keepdim=False, *, unbiased=True, axis=None):
  return u.sqrt(var(input, dim, keepdim, unbiased=unbiased, axis=axis))


def norm(input, p=2, dim=None, keepdim=False):
  if p not in (1, 2):
    fail(f"norm: p is 1 or 2, not {p!r}")
  return _reduce("reduce_l1" if p == 1 else "reduce_l2", floating(input), dim, keepdim)


def logsumexp(input, dim, keepdim=False):
  return _reduce("reduce_log_sum_exp", floating(input), dim, keepdim)


def all(input, dim=None, keepdim=False):
  return cast(amin(cast(cast(input, "bool"), "i32"), dim, keepdim), "bool")


def any(input, dim=None, keepdim=False):
  return cast(amax(cast(cast(input, "bool"), "i32"), dim, keepdim), "bool")


def cumsum(input, dim):
  x = _countable(input)
  return apply("cum_sum", [x], {"axis": axis_of(x, dim)}, x.type)


def softmax(input, dim=-1):
  x = floating(input)
  return apply("softmax", [x], {"axis": axis_of(x, dim)}, x.type)


def softmin(input, dim=-1):
  return softmax(u.neg(input), dim)


def log_softmax(input, dim=-1):
  x = floating(input)
  return apply("log_softmax", [x], {"axis": axis_of(x, dim)}, x.type)


def topk(input, k, dim=-1, largest=True, sorted=True):
  x = as_tensor(input)
  at = axis_of(x, dim)
  shape = [k if d == at else n for d, n in enumerate(x.shape)]
  attrs = {"k": k, "axis": at, "largest": int(largest), "sorted": int(sorted)}
  values, indices = apply("top_k", [x], attrs, shaped(x, shape), shaped(x, shape, "i64"))
  return _Extreme(values, indices)


