"""Host arrays <-> the 32-bit words that travel: views, extensions of 16-bit data, time stamps."""
import numpy as np


def cast_uint32(value):
  """One number as the 32-bit word that a launched function gets: 16-bit types zero-extended, floats by their bits."""
  if isinstance(value, np.generic) and value.dtype.itemsize in (2, 4) and value.dtype.kind in "fiu":
    return np.uint32(value.view(f"u{value.dtype.itemsize}"))
  if isinstance(value, (int, np.integer)):
    if not -2**31 <= value < 2**32:
      raise ValueError(f"{value} does not fit 32 bits")
    return np.uint32(int(value) & 0xFFFFFFFF)
  if isinstance(value, (float, np.floating)):
    return np.float32(value).view(np.uint32)
  raise TypeError(f"a 16-bit or 32-bit number is needed, got {type(value).__name__}")


def memcpy_view(arr, dtype):
  """The low 8, 16 or 32 bits of every 32-bit element as `dtype`, without a copy."""
  dtype = np.dtype(dtype)
  if arr.dtype.itemsize != 4:
    raise ValueError(f"an array of 32-bit elements is needed, got {arr.dtype}")
  if dtype.itemsize not in (1, 2, 4):
    raise ValueError(f"a type of 8, 16 or 32 bits is needed, got {dtype}")
  return np.lib.stride_tricks.as_strided(arr.view(dtype), shape=arr.shape, strides=arr.strides)


def input_array_to_u32(np_arr, sentinel, fast_dim_sz):
  """A flat array as 32-bit words. 16-bit elements get zeros above them or, unless `sentinel` is None, their index in
  rows of `fast_dim_sz` elements."""
  if np_arr.ndim != 1:
    raise ValueError(f"a flat array is needed, got one of shape {np_arr.shape}")
  if np_arr.dtype.itemsize == 4:
    return np_arr.view(np.uint32)
  if np_arr.dtype.itemsize != 2:
    raise ValueError(f"elements of 16 or 32 bits are needed, got {np_arr.dtype}")
  words = np_arr.view(np.uint16).astype(np.uint32)
  if sentinel is not None:
    words |= (np.arange(np_arr.size, dtype=np.uint32) % np.uint32(fast_dim_sz)) << np.uint32(16)
  return words


def calculate_cycles(timestamp_buf):
  """Cycles between two time stamps of three 16-bit words each, packed into three 32-bit elements."""
  halves = np.ascontiguousarray(timestamp_buf[:3]).view(np.uint16).astype(np.int64)
  start, end = (int(h[0] | h[1] << 16 | h[2] << 32) for h in (halves[:3], halves[3:]))
  return np.int64(end - start)
