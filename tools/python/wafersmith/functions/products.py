"""Products and windows: matmul, linear, convolutions, pools, normalisations over rows."""
import numpy as np

from wafersmith.functions import elementwise as e
from wafersmith.functions import movement as m
from wafersmith.functions import reductions as r
from wafersmith.functions.apply import apply, broadcast, fail, floating, pair, shaped
from wafersmith.tensors import Parameter, Tensor, as_tensor

__all__ = ["matmul", "mm", "bmm", "dot", "linear", "conv1d", "conv2d", "max_pool1d", "max_pool2d", "avg_pool1d",
           "avg_pool2d", "adaptive_avg_pool2d", "layer_norm", "group_norm", "batch_norm", "dropout",
           "scaled_dot_product_attention", "outer", "normalize"]


def matmul(input, other):
  a, b = pair(input, other)
  if not a.shape or not b.shape:
    fail(f"matmul: {a.type} and {b.type}; both need dimensions")
  inner = b.shape[-2] if b.ndim > 1 else b.shape[0]
  if a.shape[-1] != inner:
    fail(f"matmul: {list(a.shape)} and {list(b.shape)}: dimension {a.ndim - 1} of the first is {a.shape[-1]}, "
         f"dimension {max(b.ndim - 2, 0)} of the second is {inner}; they must be equal")
  batch = broadcast("matmul", a.shape[:-2], b.shape[:-2])
  shape = [*batch, *a.shape[-2:-1], *(b.shape[-1:] if b.ndim > 1 else ())]
  return apply("matmul", [a, b], {}, shaped(a, shape))


mm = bmm = dot = matmul


def outer(input, vec2):
  return e.mul(m.unsqueeze(input, 1), m.unsqueeze(vec2, 0))


def linear(input, weight, bias=None):
  """x Wᵀ + b; whatever stands in front of the last dimension counts as rows."""
  x, w = pair(input, weight)
  if not x.shape or x.shape[-1] != w.shape[1]:
    fail(f"linear: the input is {list(x.shape)}, the layer takes {w.shape[1]} features in the last dimension")
  rows = x if x.ndim == 2 else m.reshape(x, [-1, x.shape[-1]])
  y = apply("gemm", [rows, w, None if bias is None else as_tensor(bias)], {"trans_b": 1},
            shaped(x, [rows.shape[0], w.shape[0]]))
  return m.reshape(y, [*x.shape[:-1], w.shape[0]])


def _each(value, n):
  values = list(value) if isinstance(value, (tuple, list)) else [value] * n
  return [int(v) for v in (values * n if len(values) == 1 else values)]


def _extent(size, kernel, stride, padding, dilation, ceil_mode):
  span = size + 2 * padding - dilation * (kernel - 1) - 1
  count = (-(-span // stride) if ceil_mode else span // stride) + 1
  if ceil_mode and (count - 1) * stride >= size + padding:
    count -= 1   # a window must begin within the input or its left padding
  return count


def _windows(name, x, kernel, stride, padding, dilation, ceil_mode=False):
  shape = [_extent(*d, ceil_mode) for d in zip(x.shape[2:], kernel, stride, padding, dilation)]
  if min(shape, default=1) < 1:
    fail(f"{name}: windows of {kernel} do not fit {list(x.shape)}")
  return shape


def _conv(n, input, weight, bias, stride, padding, dilation, groups):
  x, w = pair(input, weight)
  if x.ndim == n + 1:
    return m.squeeze(_conv(n, m.unsqueeze(x, 0), w, bias, stride, padding, dilation, groups), 0)
  if x.ndim != n + 2 or x.shape[1] != w.shape[1] * groups:
    fail(f"conv{n}d: the input is {list(x.shape)}, the weights {list(w.shape)} with {groups} groups take "
         f"{w.shape[1] * groups} channels and {n} dimensions")
  kernel, stride, dilation = list(w.shape[2:]), _each(stride, n), _each(dilation, n)
  if padding == "same":
    if stride != [1] * n or any(d * (k - 1) % 2 for d, k in zip(dilation, kernel)):
      fail("conv: padding 'same' is built for strides of 1 and odd windows")
    padding = [d * (k - 1) // 2 for d, k in zip(dilation, kernel)]
  padding = [0] * n if padding == "valid" else _each(padding, n)
  attrs = {"strides": stride, "pads": padding * 2, "dilations": dilation, "group": int(groups), "kernel_shape": kernel}
  shape = [x.shape[0], w.shape[0], *_windows("conv", x, kernel, stride, padding, dilation)]
  return apply("conv", [x, w, None if bias is None else as_tensor(bias)], attrs, shaped(x, shape))


def conv1d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
  return _conv(1, input, weight, bias, stride, padding, dilation, groups)


def conv2d(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
  return _conv(2, input, weight, bias, stride, padding, dilation, groups)


def _pool(op, n, input, kernel_size, stride, padding, dilation, ceil_mode, more):
  x = floating(input)
  if x.ndim == n + 1:
    return m.squeeze(_pool(op, n, m.unsqueeze(x, 0), kernel_size, stride, padding, dilation, ceil_mode, more), 0)
  if x.ndim != n + 2:
    fail(f"{op}: the input is {list(x.shape)}, it must have {n + 2} dimensions")
  kernel = _each(kernel_size, n)
  stride = kernel if stride is None or stride == [] else _each(stride, n)
  padding, dilation = _each(padding, n), _each(dilation, n)
  attrs = {"kernel_shape": kernel, "strides": stride, "pads": padding * 2, "dilations": dilation,
           "ceil_mode": int(ceil_mode)} | more
  shape = [*x.shape[:2], *_windows(op, x, kernel, stride, padding, dilation, ceil_mode)]
  return apply(op, [x], attrs, shaped(x, shape))


def max_pool1d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
  return _pool("max_pool", 1, input, kernel_size, stride, padding, dilation, ceil_mode, {})


def max_pool2d(input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False):
  return _pool("max_pool", 2, input, kernel_size, stride, padding, dilation, ceil_mode, {})


def avg_pool1d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
  return _pool("average_pool", 1, input, kernel_size, stride, padding, 1, ceil_mode,
               {"count_include_pad": int(count_include_pad)})


def avg_pool2d(input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
  return _pool("average_pool", 2, input, kernel_size, stride, padding, 1, ceil_mode,
               {"count_include_pad": int(count_include_pad)})


def adaptive_avg_pool2d(input, output_size):
  """Where the output divides the input: windows of one size."""
  x, out = floating(input), _each(output_size, 2)
  sizes = list(x.shape[-2:])
  if any(size % o for size, o in zip(sizes, out)):
    fail(f"adaptive_avg_pool2d: {sizes} is no multiple of {out}")
  return avg_pool2d(x, [size // o for size, o in zip(sizes, out)])


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5):
  x, shape = floating(input), list(normalized_shape)
  if list(x.shape[x.ndim - len(shape):]) != shape:
    fail(f"layer_norm: the last dimensions of {list(x.shape)} are not {shape}")
  scale = Tensor(np.ones(shape), x.type.dtype) if weight is None else as_tensor(weight)
  return apply("layer_norm", [x, scale, None if bias is None else as_tensor(bias)],
               {"axis": x.ndim - len(shape), "epsilon": float(eps)}, x.type)


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
  x = floating(input)
  channels = x.shape[1]
  scale = Tensor(np.ones(channels), x.type.dtype) if weight is None else as_tensor(weight)
  shift = Tensor(np.zeros(channels), x.type.dtype) if bias is None else as_tensor(bias)
  return apply("group_norm", [x, scale, shift], {"num_groups": int(num_groups), "epsilon": float(eps)}, x.type)


def batch_norm(input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-5):
  """While training with the statistics of the batch. The running ones, which are parameters that no optimizer moves, go
  on with every step of an optimizer."""
  x = floating(input)
  if training and any(v is not None and not isinstance(v, Parameter) for v in (running_mean, running_var)):
    fail("batch_norm: running statistics that training moves are those of ws.nn's layers; call eval() on this one")
  if training and x.numel() == x.shape[1]:
    fail(f"batch_norm: {x.type} has one value per channel, which has no statistics; call eval() to use the running ones")
  operands = [x] + [as_tensor(v) if v is not None else Tensor(np.full(x.shape[1], other), x.type.dtype)
                    for v, other in ((weight, 1.0), (bias, 0.0), (running_mean, 0.0), (running_var, 1.0))]
  attrs = {"epsilon": float(eps)}
  if training:
    attrs.update(training_mode=1, unbiased=1, momentum=1 - float(momentum))
  return apply("batch_norm", operands, attrs, x.type)


def dropout(input, p=0.5, training=True):
  if training and p != 0:
    fail(f"dropout with p={p}: random masks are no part of a static graph; use p=0 or call eval()")
  return as_tensor(input)


def normalize(input, p=2, dim=1, eps=1e-12):
  x = floating(input)
  return e.div(x, e.maximum(r.norm(x, p, dim, True), float(eps)))


def scaled_dot_product_attention(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False):
  q, k = as_tensor(query), as_tensor(key)
  scores = matmul(q, m.transpose(k, -2, -1)) * (q.shape[-1] ** -0.5)
  if is_causal:
    attn_mask = np.tril(np.ones((q.shape[-2], k.shape[-2]), bool))
  if attn_mask is not None:
    mask = as_tensor(attn_mask)
    scores = e.where(mask, scores, float(np.float32(-3e38))) if mask.type.dtype == "bool" else scores + mask
  return matmul(dropout(r.softmax(scores, -1), dropout_p), value)
