"""Operators and methods of Tensor: the functions under the names that Python and torch give them."""
from wafersmith import functions as f
from wafersmith.functions import movement
from wafersmith.functions.apply import cast
from wafersmith.tensors import Tensor

_OPERATORS = {"add": f.add, "sub": f.sub, "mul": f.mul, "truediv": f.div, "pow": f.pow, "mod": f.remainder,
              "floordiv": f.floor_divide, "matmul": f.matmul, "and": f.logical_and, "or": f.logical_or,
              "xor": f.logical_xor}
_COMPARISONS = {"eq": f.eq, "ne": f.ne, "gt": f.gt, "lt": f.lt, "ge": f.ge, "le": f.le}
_NOT_METHODS = {"cat", "concat", "stack", "zeros", "ones", "full", "arange", "where", "zeros_like", "ones_like",
                "embedding", "linear", "conv1d", "conv2d", "pad", "dropout", "layer_norm", "group_norm", "batch_norm",
                "max_pool1d", "max_pool2d", "avg_pool1d", "avg_pool2d", "adaptive_avg_pool2d", "normalize",
                "scaled_dot_product_attention"}


def _swapped(function):
  return lambda self, other: function(other, self)


for _name, _function in _OPERATORS.items():
  setattr(Tensor, f"__{_name}__", _function)
  setattr(Tensor, f"__r{_name}__", _swapped(_function))
for _name, _function in _COMPARISONS.items():
  setattr(Tensor, f"__{_name}__", _function)
for _name in f.__all__:
  if _name not in _NOT_METHODS and not hasattr(Tensor, _name):
    setattr(Tensor, _name, getattr(f, _name))
Tensor.__hash__ = object.__hash__   # __eq__ compares element by element
Tensor.__neg__ = f.neg
Tensor.__pos__ = lambda self: self
Tensor.__abs__ = f.abs
Tensor.__invert__ = f.logical_not
Tensor.__getitem__ = movement.item
Tensor.view = f.reshape
Tensor.repeat = f.tile
Tensor.astype = Tensor.to = lambda self, dtype: cast(self, dtype)
Tensor.type_as = lambda self, other: cast(self, other.type.dtype)
Tensor.float = lambda self: cast(self, "f32")
Tensor.half = lambda self: cast(self, "f16")
Tensor.double = lambda self: cast(self, "f64")
Tensor.long = lambda self: cast(self, "i64")
Tensor.int = lambda self: cast(self, "i32")
Tensor.bool = lambda self: cast(self, "bool")
Tensor.contiguous = lambda self: self
Tensor.T = property(lambda self: f.permute(self, list(range(self.ndim))[::-1]))
Tensor.mT = property(lambda self: f.transpose(self, -2, -1))
