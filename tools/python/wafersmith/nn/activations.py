"""Nonlinearities as modules: each names its function and the arguments that its constructor takes."""
from wafersmith import functions as f
from wafersmith.modules import Module
from wafersmith.tensors import Parameter, Tensor

_TABLE = {
    "ReLU": (f.relu, {}), "Tanh": (f.tanh, {}), "Sigmoid": (f.sigmoid, {}), "SiLU": (f.silu, {}),
    "GELU": (f.gelu, {"approximate": "none"}), "LeakyReLU": (f.leaky_relu, {"negative_slope": 0.01}),
    "ELU": (f.elu, {"alpha": 1.0}), "CELU": (f.celu, {"alpha": 1.0}), "SELU": (f.selu, {}), "Mish": (f.mish, {}),
    "ReLU6": (f.relu6, {}), "Hardtanh": (f.hardtanh, {"min_val": -1.0, "max_val": 1.0}),
    "Hardswish": (f.hardswish, {}), "Hardsigmoid": (f.hardsigmoid, {}),
    "Softplus": (f.softplus, {"beta": 1.0, "threshold": 20.0}), "Softsign": (f.softsign, {}),
    "Softshrink": (f.softshrink, {"lambd": 0.5}), "Hardshrink": (f.hardshrink, {"lambd": 0.5}),
    "Tanhshrink": (f.tanhshrink, {}), "LogSigmoid": (f.logsigmoid, {}), "Softmax": (f.softmax, {"dim": -1}),
    "LogSoftmax": (f.log_softmax, {"dim": -1}), "Softmin": (f.softmin, {"dim": -1}),
}
__all__ = [*_TABLE, "PReLU", "Identity"]


def _module(name, function, defaults):
  def __init__(self, *args, inplace=False, **kwargs):
    Module.__init__(self)
    unknown = [key for key in kwargs if key not in defaults]
    # torch's `inplace` stands last, behind the options of the function.
    if unknown or len(args) > len(defaults) + 1:
      raise TypeError(f"{name} takes {', '.join([*defaults, 'inplace'])}; got {', '.join([*map(str, args), *unknown])}")
    self.options = {**defaults, **dict(zip(defaults, args)), **kwargs}
    if self.options.get("dim", 0) is None:
      self.options["dim"] = -1

  def extra_repr(self):
    return ", ".join(f"{key}={value!r}" for key, value in self.options.items())

  return type(name, (Module,), {
      "__init__": __init__, "extra_repr": extra_repr, "__module__": __name__,
      "__doc__": f"{function.__name__}() as a module.",
      "forward": lambda self, input: function(input, **self.options)})


for _name, (_function, _defaults) in _TABLE.items():
  globals()[_name] = _module(_name, _function, _defaults)


class PReLU(Module):
  """Slopes below 0 that are trained: one, or one per channel."""

  def __init__(self, num_parameters=1, init=0.25):
    super().__init__()
    self.weight = Parameter(Tensor([init] * num_parameters, "f32"))

  def forward(self, input):
    return f.prelu(input, self.weight)


class Identity(Module):
  def __init__(self, *args, **kwargs):
    super().__init__()
    del args, kwargs

  def forward(self, input):
    return input
