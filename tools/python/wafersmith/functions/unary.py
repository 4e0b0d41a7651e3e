"""Functions of one operand without options, each an operator of the compiler's table; names are torch's."""
from wafersmith.functions.apply import apply, floating, shaped
from wafersmith.tensors import as_tensor

_REAL = """relu tanh sigmoid exp expm1 log log1p sqrt rsqrt erf sin cos tan sinh cosh asinh acosh atanh asin acos atan
           softsign mish reciprocal hardswish logsigmoid tanhshrink isnan isinf""".split()   # integers as f32
_OF_ANY_TYPE = "square abs neg sign floor ceil round".split()
_ROWS = {"hardswish": "hard_swish", "logsigmoid": "log_sigmoid", "tanhshrink": "tanh_shrink", "isnan": "is_nan",
         "isinf": "is_inf"}   # where the table has another name
__all__ = [*_REAL, *_OF_ANY_TYPE]


def _unary(name):
  op = _ROWS.get(name, name)

  def function(input):
    x = floating(input) if name in _REAL else as_tensor(input)
    return apply(op, [x], {}, shaped(x, x.shape, "bool" if op.startswith("is_") else None))

  function.__name__ = name
  function.__doc__ = f"The operator '{op}', element by element."
  return function


for _name in __all__:
  globals()[_name] = _unary(_name)
