"""Modules that hold others."""
from wafersmith.modules import Module


class Sequential(Module):
  """Modules that are called one after the other. Takes modules, or one dict of them by name."""

  def __init__(self, *modules):
    super().__init__()
    named = modules[0].items() if len(modules) == 1 and isinstance(modules[0], dict) else enumerate(modules)
    for name, module in named:
      setattr(self, str(name), module)

  def forward(self, input):
    for module in self._parts.values():
      input = module(input)
    return input

  def __getitem__(self, key):
    found = list(self._parts.values())[key]
    return Sequential(*found) if isinstance(key, slice) else found

  def __len__(self):
    return len(self._parts)

  def __iter__(self):
    return iter(self._parts.values())

  def append(self, module):
    setattr(self, str(len(self)), module)
    return self


class ModuleList(Sequential):
  """Modules by number; it is not called itself. Takes a list."""

  def __init__(self, modules=()):
    super().__init__(*modules)

  def forward(self, *_):
    raise NotImplementedError("a ModuleList is not called; call the modules in it")


class ModuleDict(Module):
  def __init__(self, modules=None):
    super().__init__()
    for name, module in (modules or {}).items():
      setattr(self, name, module)

  def __getitem__(self, name):
    return self._parts[name]

  def items(self):
    return self._parts.items()

  def keys(self):
    return self._parts.keys()

  def values(self):
    return self._parts.values()
