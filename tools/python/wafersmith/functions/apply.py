"""From a call of a function to a node: of the graph that is being traced, or of a calculation for the host."""
import numpy as np

from wafersmith import dtypes, lazy, sources
from wafersmith.dtypes import TensorType
from wafersmith.errors import StaticGraphError, WafersmithError
from wafersmith.tensors import Tensor, as_tensor
from wafersmith.tracer import active


class ShapeError(WafersmithError, ValueError):
  """Operands whose shapes do not go together."""


def fail(message):
  raise ShapeError(message, sources.here())


def apply(op, operands, attrs, *types):
  """The results of an operator of the compiler's table; one result comes alone. An operand may be None."""
  tracer = active()
  if tracer is None:
    node = lazy.node(op, operands, attrs, types, sources.here())
  else:
    node = tracer.add(op, operands, attrs, types)
  results = [None if v is None else Tensor(value=v, tracer=tracer) for v in node.outputs]
  return results[0] if len(results) == 1 else results


def only_eager(function, x):
  """The array of an operand, for functions whose result has a shape that depends on values."""
  x = as_tensor(x)
  if x.is_traced:
    raise StaticGraphError(f"{function}() of a traced tensor: the shape of its result depends on values, so it is no "
                           "part of a static graph; call it on the host, outside of the step", sources.here())
  return x.numpy()


def cast(x, dtype):
  x, dtype = as_tensor(x), dtypes.dtype_name(dtype)
  if x.type.dtype == dtype:
    return x
  return apply("cast", [x], {"to": dtype}, TensorType(dtype, x.shape))


def floating(x):
  """Integers and truth values as f32."""
  x = as_tensor(x)
  return x if dtypes.is_float(x.type.dtype) else cast(x, "f32")


def pair(a, b, arithmetic=True):
  """Two operands of one element type; a plain number takes that of the other one."""
  if isinstance(a, (bool, int, float)) and not isinstance(b, (bool, int, float)):
    b = as_tensor(b)
    a = _number(a, b.type.dtype)
  elif isinstance(b, (bool, int, float)):
    a = as_tensor(a)
    b = _number(b, a.type.dtype)
  a, b = as_tensor(a), as_tensor(b)
  dtype = dtypes.promoted(a.type.dtype, b.type.dtype)
  if arithmetic and dtype == "bool":
    dtype = "i64"
  return cast(a, dtype), cast(b, dtype)


def _number(value, beside):
  if dtypes.is_float(beside):
    dtype = beside
  elif isinstance(value, float):
    dtype = "f32"
  elif isinstance(value, bool):
    dtype = "bool"
  else:
    dtype = "i64" if beside == "bool" else beside
  return Tensor(np.asarray(value, dtypes.NUMPY[dtype]), dtype)


def broadcast(op, *shapes):
  try:
    return tuple(np.broadcast_shapes(*shapes))
  except ValueError:
    return fail(f"{op}: the shapes {' and '.join(str(list(s)) for s in shapes)} do not go together")


def axis_of(x, dim, extra=0):
  rank = len(x.shape) + extra
  if not -rank <= dim < max(rank, 1):
    fail(f"dimension {dim} is not one of a tensor of shape {list(x.shape)}")
  return dim % rank if rank else 0


def shaped(x, shape, dtype=None):
  return TensorType(dtype or x.type.dtype, tuple(int(d) for d in shape))
