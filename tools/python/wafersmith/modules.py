"""Module: parameters and other modules by name; calling it is its forward()."""
import inspect

from wafersmith.errors import TraceWarning
from wafersmith.sources import warn
from wafersmith.tensors import Parameter, Tensor, as_tensor, host_array


class Module:
  """`autogen` says of a class that `use_autogen` of its objects means something: of losses, and below @autogen_loss."""
  autogen = False

  def __init__(self):
    self.__dict__.setdefault("_parts", {})    # modules by the name of their attribute
    self.__dict__.setdefault("_own", {})      # parameters
    self.__dict__.setdefault("_buffers", {})  # tensors that are not trained but belong to the state
    self.training = True

  def __setattr__(self, name, value):
    if isinstance(value, (Module, Parameter)) and "_parts" not in self.__dict__:
      raise AttributeError(f"{type(self).__name__}.__init__ must call super().__init__() before it sets '{name}'")
    for table in ("_parts", "_own"):
      self.__dict__.get(table, {}).pop(name, None)
    if isinstance(value, Module):
      self._parts[name] = value
    elif isinstance(value, Parameter):
      self._own[name] = value
    elif name in self.__dict__.get("_buffers", {}):
      self._buffers[name] = value
    object.__setattr__(self, name, value)

  def register_parameter(self, name, parameter):
    setattr(self, name, parameter)

  def register_buffer(self, name, value, persistent=True):
    self._buffers[name] = value
    object.__setattr__(self, name, None if value is None else as_tensor(value))

  def add_module(self, name, module):
    setattr(self, name, module)

  def forward(self, *args, **kwargs):
    raise NotImplementedError(f"{type(self).__name__} has no forward()")

  def signature(self):
    """Of forward(): its names are those of inputs and of their gradients."""
    return inspect.signature(self.forward)

  def __call__(self, *args, **kwargs):
    if not self.autogen and self.__dict__.get("use_autogen"):
      warn(f"{type(self).__name__} has use_autogen, which only counts below the decorator @ws.autogen_loss",
           TraceWarning)
    return self.forward(*args, **kwargs)

  # ---- what it consists of

  def children(self):
    return iter(self._parts.values())

  def named_children(self):
    return iter(self._parts.items())

  def named_modules(self, prefix=""):
    yield prefix, self
    for name, part in self._parts.items():
      yield from part.named_modules(f"{prefix}.{name}" if prefix else name)

  def modules(self):
    return (module for _, module in self.named_modules())

  def named_parameters(self, prefix=""):
    seen = set()
    for path, module in self.named_modules(prefix):
      for name, parameter in module._own.items():
        if id(parameter) not in seen:
          seen.add(id(parameter))
          yield f"{path}.{name}" if path else name, parameter

  def parameters(self):
    """All parameters, which get their paths as names here: reports and checkpoints call them so."""
    self.name_parameters()
    return (parameter for _, parameter in self.named_parameters())

  def name_parameters(self):
    for name, tensor in [*self.named_parameters(), *self.named_buffers()]:
      if isinstance(tensor, Parameter):   # a buffer that goes on from step to step is one
        tensor.name = tensor.name or name

  def named_buffers(self):
    for path, module in self.named_modules():
      for name in module._buffers:
        if getattr(module, name) is not None:
          yield f"{path}.{name}" if path else name, getattr(module, name)

  def state_dict(self):
    return {name: tensor.numpy() for name, tensor in [*self.named_parameters(), *self.named_buffers()]}

  def load_state_dict(self, state):
    """Takes arrays (of torch too) by name; names that are missing or unknown are an error."""
    targets = dict(self.named_parameters())
    for path, module in self.named_modules():
      for name in module._buffers:
        targets[f"{path}.{name}" if path else name] = (module, name)
    wrong = sorted(set(state) ^ set(targets))
    if wrong:
      raise KeyError(f"{type(self).__name__}: names that only one side has: {', '.join(wrong)}")
    for name, target in targets.items():
      if isinstance(target, Parameter):
        target.store(host_array(state[name]))
      elif isinstance(getattr(*target), Parameter):
        getattr(*target).store(host_array(state[name]))
      else:
        setattr(*target, Tensor(host_array(state[name])))

  # ---- modes

  def train(self, mode=True):
    for module in self.modules():
      module.training = mode
    return self

  def eval(self):
    return self.train(False)

  def requires_grad_(self, requires_grad=True):
    for parameter in self.parameters():
      parameter.requires_grad = requires_grad
    return self

  def extra_repr(self):
    return ""

  def __repr__(self):
    parts = [f"({name}): {part!r}".replace("\n", "\n  ") for name, part in self._parts.items()]
    inside = "\n  " + "\n  ".join(parts) + "\n" if parts else self.extra_repr()
    return f"{type(self).__name__}({inside})"
