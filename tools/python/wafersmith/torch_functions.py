"""torch's functions on our tensors, by their names."""
import inspect

from wafersmith import functions, sources
from wafersmith.errors import StaticGraphError
from wafersmith.losses import functional
from wafersmith.tensors import Tensor
from wafersmith.torch_modules import native

_OTHERS = {"swish": "silu", "multiply": "mul", "divide": "div", "subtract": "sub", "concatenate": "cat",
           "absolute": "abs", "negative": "neg", "view": "reshape", "truediv": "div", "bitwise_and": "logical_and",
           "bitwise_or": "logical_or", "bitwise_xor": "logical_xor"}
# Arguments that say how torch computes, or that must have the value that changes nothing.
_IGNORED = {"inplace", "_stacklevel", "generator"}
_NOTHING = {"dtype": (None,), "out": (None,), "return_indices": (False,), "padding_idx": (None,), "max_norm": (None,),
            "norm_type": (2.0,), "scale_grad_by_freq": (False,), "sparse": (False,), "size_average": (None,),
            "reduce": (None,), "use_input_stats": (False,), "divisor_override": (None,), "rounding_mode": (None,)}


def call(func, args, kwargs):
  """func(*args) of torch, where some argument is a Tensor of ours."""
  name = getattr(func, "__name__", str(func))
  reflected = name.startswith("__r") and name not in ("__repr__",)
  name = name.strip("_")
  name = name[1:] if reflected and not _find(name) else name
  function = _find(name)
  if function is None:
    raise StaticGraphError(f"torch's function '{name}' has no counterpart here", sources.here())
  options = {}
  for key, value in kwargs.items():
    if key in _IGNORED:
      continue
    if key in _NOTHING:
      if value not in _NOTHING[key]:
        raise StaticGraphError(f"torch's {name} with {key}={value!r} is not built", sources.here())
      continue
    options[key] = _ours(value)
  given = _fitting(function, name, [_ours(value) for value in args])
  return function(*(given[::-1] if reflected else given), **options)


def _fitting(function, name, given):
  """Without arguments at the end that we have not got, where they change nothing."""
  kinds = [p.kind for p in inspect.signature(function).parameters.values()]
  places = sum(k == inspect.Parameter.POSITIONAL_OR_KEYWORD for k in kinds)
  if inspect.Parameter.VAR_POSITIONAL in kinds or len(given) <= places:
    return given
  if any(value not in (None, False) for value in given[places:]):
    raise StaticGraphError(f"torch's {name} with {given[places:]} at the end is not built", sources.here())
  return given[:places]


def _find(name):
  name = _OTHERS.get(name, name)
  return getattr(functional, name, None) if name in functional.__all__ else \
      getattr(functions, name, None) if name in functions.__all__ else getattr(Tensor, name, None)


def _ours(value):
  if isinstance(value, (list, tuple)):
    return type(value)(map(_ours, value))
  return native(value)
