"""Takes torch's tensors, parameters and modules where ours are expected. torch itself is never imported from here.

A torch.nn.Module is not translated: its own forward() runs while a graph is traced, on our tensors, whose
__torch_function__ makes nodes of torch's functions (torch_functions.py). So any module works whose functions we have.
"""
import inspect
import sys

from wafersmith.modules import Module
from wafersmith.tensors import Parameter, Tensor


def native(value):
  """Ours in place of torch's; everything else as it is."""
  torch = sys.modules.get("torch")
  if torch is None or not hasattr(torch, "nn"):
    return value
  if isinstance(value, torch.nn.Parameter):
    return parameter(value)
  if isinstance(value, torch.nn.Module):
    return TorchModule(value)
  return Tensor(value) if isinstance(value, torch.Tensor) else value


def parameter(theirs):
  """One Parameter for each of torch's, always the same one."""
  ours = getattr(theirs, "_wafersmith", None)
  if ours is None:
    ours = theirs._wafersmith = Parameter(theirs, theirs.requires_grad)
  return ours


class TorchModule(Module):
  """A torch.nn.Module as one of ours."""

  def __init__(self, theirs):
    super().__init__()
    object.__setattr__(self, "theirs", theirs)

  def forward(self, *args, **kwargs):
    return self.theirs(*args, **kwargs)

  def signature(self):
    return inspect.signature(self.theirs.forward)

  def named_parameters(self, prefix=""):
    return ((name, parameter(p)) for name, p in self.theirs.named_parameters(prefix))

  def train(self, mode=True):
    self.theirs.train(mode)
    return self

  def store(self):
    """Writes the newest values of parameters back."""
    torch = sys.modules["torch"]
    with torch.no_grad():
      for p in self.theirs.parameters():
        p.copy_(torch.from_numpy(parameter(p).numpy().copy()))

  def __getattr__(self, name):   # parts and parameters as ours
    return native(getattr(self.__dict__["theirs"], name))

  def __getitem__(self, key):
    return native(self.theirs[key])

  def __repr__(self):
    return repr(self.theirs)
