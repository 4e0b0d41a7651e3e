"""Types of values: an element type, under the compiler's name for it, and a shape."""
from typing import NamedTuple

import numpy as np

NUMPY = {"bool": np.bool_, "i8": np.int8, "u8": np.uint8, "i16": np.int16, "u16": np.uint16, "i32": np.int32,
         "u32": np.uint32, "i64": np.int64, "u64": np.uint64, "f16": np.float16, "f32": np.float32, "f64": np.float64}
_NAMES = {np.dtype(t): name for name, t in NUMPY.items()}
_SPELLED = {"float16": "f16", "half": "f16", "float32": "f32", "float": "f32", "float64": "f64", "double": "f64",
            "int8": "i8", "uint8": "u8", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32",
            "int64": "i64", "uint64": "u64", "int": "i64", "long": "i64"}


class TensorType(NamedTuple):
  dtype: str
  shape: tuple

  def __str__(self):
    return f"{self.dtype}[{', '.join(map(str, self.shape))}]"

  @property
  def elements(self):
    return int(np.prod(self.shape, dtype=np.int64))


def dtype_name(dtype):
  """'f32' for "f32", "float32", np.float32, float, torch.float32."""
  text = str(dtype).removeprefix("torch.") if not isinstance(dtype, (type, np.dtype)) else None
  if text is not None:
    text = _SPELLED.get(text, text)
    if text in NUMPY:
      return text
  try:
    given = np.dtype(dtype) if dtype is not float else np.dtype(np.float32)
  except TypeError:
    given = None
  if given not in _NAMES:
    raise TypeError(f"'{dtype}' is no element type; there are {', '.join(NUMPY)}")
  return _NAMES[given]


def is_float(dtype):
  return dtype[0] == "f"


def promoted(a, b):
  """The element type of a + b, as torch has it: a float beside an integer stays what it is."""
  if a == b:
    return a
  if is_float(a) != is_float(b):
    return a if is_float(a) else b
  return _NAMES[np.promote_types(NUMPY[a], NUMPY[b])]


def array(value, dtype=None):
  """A numpy array of a type that the wafer knows. Lists and numbers become f32 or i64, and f64 becomes f32, which is
  the widest float with kernels, unless `dtype` asks for it."""
  if type(value).__module__.split(".")[0] == "torch":
    value = value.detach().cpu().numpy()
  given = np.asarray(value)
  if dtype is not None:
    given = given.astype(NUMPY[dtype_name(dtype)])
  elif given.dtype == np.float64:
    given = given.astype(np.float32)
  if given.dtype not in _NAMES:
    raise TypeError(f"an array of {given.dtype} cannot be a tensor; element types are {', '.join(NUMPY)}")
  return given


def type_of(given):
  return TensorType(_NAMES[given.dtype], tuple(int(d) for d in given.shape))
