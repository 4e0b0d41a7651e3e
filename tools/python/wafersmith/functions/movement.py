"""Functions that only move elements: shapes, parts, joins, tables."""
import numpy as np

from wafersmith import dtypes
from wafersmith.functions import elementwise as e
from wafersmith.functions.apply import apply, axis_of, broadcast, cast, fail, only_eager, shaped
from wafersmith.tensors import Tensor, as_tensor

__all__ = ["reshape", "flatten", "squeeze", "unsqueeze", "transpose", "permute", "cat", "concat", "stack", "split",
           "chunk", "expand", "broadcast_to", "tile", "pad", "embedding", "index_select", "take", "gather", "tril",
           "triu", "one_hot", "zeros", "ones", "full", "zeros_like", "ones_like", "arange", "nonzero", "unique"]
_END = 2**63 - 1


def _numbers(given):
  """view(2, 3) and view((2, 3))."""
  return list(given[0]) if len(given) == 1 and isinstance(given[0], (tuple, list)) else list(given)


def reshape(input, *shape):
  x, shape = as_tensor(input), [int(d) for d in _numbers(shape)]
  known = int(np.prod([d for d in shape if d != -1], dtype=np.int64))
  if shape.count(-1) > 1:
    fail(f"reshape: {shape} leaves more than one extent open")
  if -1 in shape and known and x.numel() % known == 0:
    shape[shape.index(-1)] = x.numel() // known
  if int(np.prod(shape, dtype=np.int64)) != x.numel() or -1 in shape:
    fail(f"reshape: {list(x.shape)} has {x.numel()} elements, which {shape} does not hold")
  return x if tuple(shape) == x.shape else apply("reshape", [x], {"shape": shape}, shaped(x, shape))


def flatten(input, start_dim=0, end_dim=-1):
  x = as_tensor(input)
  if not x.shape:
    return reshape(x, [1])
  a, b = axis_of(x, start_dim), axis_of(x, end_dim)
  return reshape(x, [*x.shape[:a], int(np.prod(x.shape[a:b + 1])), *x.shape[b + 1:]])


def squeeze(input, dim=None):
  x = as_tensor(input)
  gone = [axis_of(x, dim)] if dim is not None else range(x.ndim)
  return reshape(x, [d for k, d in enumerate(x.shape) if k not in gone or d != 1])


def unsqueeze(input, dim):
  x = as_tensor(input)
  at = axis_of(x, dim, extra=1)
  return reshape(x, [*x.shape[:at], 1, *x.shape[at:]])


def permute(input, *dims):
  x = as_tensor(input)
  perm = [axis_of(x, d) for d in _numbers(dims)]
  if sorted(perm) != list(range(x.ndim)):
    fail(f"permute: {list(dims)} is no order of the dimensions of {list(x.shape)}")
  return apply("transpose", [x], {"perm": perm}, shaped(x, [x.shape[d] for d in perm]))


def transpose(input, dim0, dim1):
  x = as_tensor(input)
  order = list(range(x.ndim))
  a, b = axis_of(x, dim0), axis_of(x, dim1)
  order[a], order[b] = order[b], order[a]
  return permute(x, order)


def cat(tensors, dim=0):
  parts = [as_tensor(t) for t in tensors]
  if not parts:
    fail("cat: there is nothing to join")
  at, dtype = axis_of(parts[0], dim), parts[0].type.dtype
  for p in parts[1:]:
    dtype = dtypes.promoted(dtype, p.type.dtype)
    if p.ndim != parts[0].ndim or any(a != b for k, (a, b) in enumerate(zip(p.shape, parts[0].shape)) if k != at):
      fail(f"cat: {list(parts[0].shape)} and {list(p.shape)} differ beside dimension {at}")
  parts = [cast(p, dtype) for p in parts]
  shape = list(parts[0].shape)
  shape[at] = sum(p.shape[at] for p in parts)
  return parts[0] if len(parts) == 1 else apply("concat", parts, {"axis": at}, shaped(parts[0], shape))


concat = cat


def stack(tensors, dim=0):
  return cat([unsqueeze(t, dim) for t in tensors], dim)


def part(x, axis, start, end, step=1):
  """Elements start to end (not included) of a dimension."""
  extent = len(range(start, end, step))
  shape = [extent if k == axis else d for k, d in enumerate(x.shape)]
  attrs = {"starts": [start], "ends": [end if end >= 0 else -_END], "axes": [axis], "steps": [step]}
  return apply("slice", [x], attrs, shaped(x, shape))


def split(tensor, split_size_or_sections, dim=0):
  x = as_tensor(tensor)
  at, sizes = axis_of(x, dim), split_size_or_sections
  if isinstance(sizes, int):
    sizes = [min(sizes, x.shape[at] - k) for k in range(0, x.shape[at], sizes)]
  if sum(sizes) != x.shape[at]:
    fail(f"split: parts {sizes} do not make {x.shape[at]}")
  ends = np.cumsum(sizes).tolist()
  return tuple(part(x, at, end - size, end) for size, end in zip(sizes, ends))


def chunk(input, chunks, dim=0):
  x = as_tensor(input)
  extent = x.shape[axis_of(x, dim)]
  return split(x, max(1, -(-extent // chunks)), dim)


def expand(input, *sizes):
  x, sizes = as_tensor(input), _numbers(sizes)
  shape = [x.shape[k - len(sizes)] if d == -1 else int(d) for k, d in enumerate(sizes)]
  if broadcast("expand", x.shape, shape) != tuple(shape):
    fail(f"expand: {list(x.shape)} does not become {shape}")
  return x if x.shape == tuple(shape) else apply("expand", [x], {"shape": shape}, shaped(x, shape))


broadcast_to = expand


def tile(input, *repeats):
  x, repeats = as_tensor(input), _numbers(repeats)
  repeats = [1] * (x.ndim - len(repeats)) + repeats
  x = reshape(x, [1] * (len(repeats) - x.ndim) + list(x.shape))
  return apply("tile", [x], {"repeats": repeats}, shaped(x, [a * b for a, b in zip(x.shape, repeats)]))


def pad(input, pad, mode="constant", value=0.0):
  """As torch.nn.functional.pad: pairs (before, after), the last dimension first."""
  x = as_tensor(input)
  modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge"}
  if mode not in modes or len(pad) % 2 or len(pad) > 2 * x.ndim:
    fail(f"pad: {list(pad)} in mode {mode!r} does not fit {list(x.shape)}")
  before, after = [0] * x.ndim, [0] * x.ndim
  for k in range(len(pad) // 2):
    before[-1 - k], after[-1 - k] = int(pad[2 * k]), int(pad[2 * k + 1])
  attrs = {"pads": before + after, "mode": modes[mode]} | ({"value": float(value)} if mode == "constant" else {})
  return apply("pad", [x], attrs, shaped(x, [a + d + b for a, d, b in zip(before, x.shape, after)]))


def take(x, indices, axis):
  x, indices = as_tensor(x), as_tensor(indices)
  at = axis_of(x, axis)
  return apply("gather", [x, indices], {"axis": at}, shaped(x, [*x.shape[:at], *indices.shape, *x.shape[at + 1:]]))


def embedding(input, weight):
  return take(weight, input, 0)


def index_select(input, dim, index):
  return take(input, index, dim)


def gather(input, dim, index):
  x, index = as_tensor(input), as_tensor(index)
  return apply("gather_elements", [x, index], {"axis": axis_of(x, dim)}, shaped(x, index.shape))


def _triangle(x, diagonal, upper):
  x = as_tensor(x)
  return apply("trilu", [x], {"k": int(diagonal), "upper": upper}, x.type)


def tril(input, diagonal=0):
  return _triangle(input, diagonal, 0)


def triu(input, diagonal=0):
  return _triangle(input, diagonal, 1)


def one_hot(tensor, num_classes):
  places = as_tensor(np.arange(num_classes))
  return cast(e.eq(unsqueeze(tensor, -1), places), "i64")


def full(size, fill_value, dtype=None):
  return Tensor(np.full(tuple(size), fill_value), dtype)


def _constant(value):
  return lambda *size, dtype="f32": Tensor(np.full(tuple(_numbers(size)), value), dtype)


zeros, ones = _constant(0), _constant(1)


def zeros_like(input, dtype=None):
  x = as_tensor(input)
  return zeros(x.shape, dtype=dtype or x.type.dtype)


def ones_like(input, dtype=None):
  x = as_tensor(input)
  return ones(x.shape, dtype=dtype or x.type.dtype)


def arange(*args, dtype=None):
  return Tensor(np.arange(*args), dtype)


def nonzero(input):
  """Where the elements are that are not 0, a row each. The host's: its shape depends on values."""
  return Tensor(np.argwhere(only_eager("nonzero", input)))


def unique(input):
  return Tensor(np.unique(only_eager("unique", input)))


def item(x, key):
  """x[key]: numbers, slices, ..., None, and one tensor of indices."""
  keys = list(key) if isinstance(key, tuple) else [key]
  used = sum(k is not None and k is not Ellipsis for k in keys)
  if used > x.ndim:
    fail(f"{used} indices for a tensor of shape {list(x.shape)}")
  at = keys.index(Ellipsis) if any(k is Ellipsis for k in keys) else len(keys)
  keys[at:at + 1] = [slice(None)] * (x.ndim - used)
  axis = 0
  for k in keys:
    if k is None:
      x, axis = unsqueeze(x, axis), axis + 1
    elif isinstance(k, slice):
      start, end, step = k.indices(x.shape[axis])
      whole = (start, end, step) == (0, x.shape[axis], 1)
      x, axis = x if whole else part(x, axis, start, end, step), axis + 1
    elif isinstance(k, (int, np.integer)):
      if not -x.shape[axis] <= k < x.shape[axis]:
        raise IndexError(f"index {k} in a dimension of {x.shape[axis]}")
      x = squeeze(part(x, axis, int(k) % x.shape[axis], int(k) % x.shape[axis] + 1), axis)
    else:
      indices = as_tensor(k)
      if dtypes.is_float(indices.type.dtype) or indices.type.dtype == "bool":
        fail(f"a tensor of {indices.type.dtype} is no index of a static graph")
      x, axis = take(x, indices, axis), axis + indices.ndim
  return x
