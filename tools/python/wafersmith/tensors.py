"""Tensor: an array on the host, a value of the graph that is being traced, or a calculation that nobody looked at yet.

Outside of traces calculations are collected; the first look at a value computes all that it depends on, with the
compiler's host operators. So there is one meaning of every operator, that of its row in the compiler's table.
"""
import itertools

import numpy as np

from wafersmith import dtypes, lazy, sources
from wafersmith.errors import StaticGraphError

_serial = itertools.count()
_generator = [np.random.default_rng(0)]


def manual_seed(seed):
  """Begins the random numbers anew that initial weights are drawn from (the seed is 0 if nobody asks for another)."""
  _generator[0] = np.random.default_rng(seed)


def generator():
  return _generator[0]


class Tensor:
  __array_ufunc__ = None   # numpy leaves operators with a Tensor to it
  __array_priority__ = 1000

  def __init__(self, data=None, dtype=None, *, value=None, tracer=None):
    if value is not None:
      self._data = None
    else:
      self._data = host_array(data) if dtype is None else dtypes.array(host_array(data), dtype)
    self._value, self._tracer = value, tracer
    self.serial = next(_serial)
    self.name = ""
    self.grad = None
    self.requires_grad = False

  # ---- what it is

  @property
  def type(self):
    return self._value.type if self._data is None else dtypes.type_of(self._data)

  @property
  def shape(self):
    return self.type.shape

  @property
  def dtype(self):
    return np.dtype(dtypes.NUMPY[self.type.dtype])

  @property
  def ndim(self):
    return len(self.shape)

  def dim(self):
    return len(self.shape)

  def numel(self):
    return self.type.elements

  def size(self, dim=None):
    return self.shape if dim is None else self.shape[dim]

  @property
  def is_traced(self):
    """Whether it is a value of a graph that is being traced and so has no number yet."""
    return self._data is None and self._tracer is not None

  def __len__(self):
    if not self.shape:
      raise TypeError("a tensor of no dimensions has no length")
    return self.shape[0]

  # ---- its value

  def numpy(self):
    """The array on the host. A value that is being traced has none."""
    if self._data is None:
      if self._tracer is not None:
        raise StaticGraphError(self._tracer.no_value(self._value), sources.here())
      lazy.compute([self])
    return self._data

  def settle(self, data):
    """The value of a calculation that was collected."""
    self._data, self._value = data, None

  def item(self):
    if self.numel() != 1:
      raise ValueError(f"only a tensor of one element is a number, this one is {self.type}")
    return self.numpy().reshape(-1)[0].item()

  def tolist(self):
    return self.numpy().tolist()

  def __float__(self):
    return float(self.item())

  def __int__(self):
    return int(self.item())

  def __index__(self):
    if dtypes.is_float(self.type.dtype):
      raise TypeError(f"a tensor of {self.type.dtype} is no index")
    return int(self.item())

  def __bool__(self):
    return bool(self.item())

  def __format__(self, spec):
    return format(self.item(), spec) if spec and self.numel() == 1 else format(str(self), spec)

  def __array__(self, dtype=None):
    return self.numpy() if dtype is None else self.numpy().astype(dtype)

  def __repr__(self):
    return f"Tensor({self.type}, traced)" if self.is_traced else f"Tensor({self.numpy()!r})"

  def detach(self):
    return self

  def cpu(self):
    return self

  def backward(self):
    """Marks this value as the loss of the training step that is being traced."""
    from wafersmith.tracer import backward
    backward(self)

  __hash__ = object.__hash__

  @classmethod
  def __torch_function__(cls, func, types, args=(), kwargs=None):
    from wafersmith.torch_functions import call
    return call(func, args, kwargs or {})


class Parameter(Tensor):
  """A tensor that is trained. While a program runs, its value is on the wafer and comes to the host when it is read."""

  def __init__(self, data, requires_grad=True):
    super().__init__(data)
    self.requires_grad = requires_grad
    self.version = 0          # of the value on the host
    self._away = None         # the program that has a newer value

  @property
  def type(self):
    return dtypes.type_of(self._data)   # does not change when the value is elsewhere

  @property
  def is_traced(self):
    return False

  def numpy(self):
    if self._away is not None:
      home, self._away = self._away, None
      self.store(home.fetch(self))
    return self._data

  def leave(self, program):
    """From now on `program` has the newest value: it gives it by fetch(parameter)."""
    self._away = program

  @property
  def is_away(self):
    """Whether a program has a newer value than the host."""
    return self._away is not None

  def is_with(self, program):
    return self._away is program

  def store(self, data):
    """A new value, of the same type."""
    self._away = None
    data = dtypes.array(data, self.type.dtype)
    if data.shape != self.shape:
      raise ValueError(f"{self.name or 'the parameter'} is {self.type}, the new value has the shape {list(data.shape)}")
    self._data, self.version = np.array(data), self.version + 1

  def __repr__(self):
    return f"Parameter({self.numpy()!r})"


class Hyper(Tensor):
  """A number that may change from step to step without changing the graph: a run-time scalar of every traced step."""

  def __init__(self, value, name=""):
    super().__init__(np.float32(value))
    self.name = name

  def set(self, value):
    self._data = np.asarray(np.float32(value))


def hyper(value, name="hyper"):
  """Declares a number as a run-time scalar; h.set(v) gives it another value for the steps that follow."""
  return Hyper(value, name)


def tensor(data, dtype=None):
  return Tensor(data, dtype)


def to_numpy(value):
  """The value on the host, as a numpy array. From the wafer that is one transfer, which the section counts."""
  from wafersmith.torch_modules import native
  return np.array(native(value).numpy()) if isinstance(native(value), Tensor) else np.asarray(value)


def host_array(value):
  """The array of a tensor or of something that can become one, in its own type."""
  return value.numpy() if isinstance(value, Tensor) else dtypes.array(value)


def as_tensor(value):
  from wafersmith.torch_modules import native
  value = native(value)
  return value if isinstance(value, Tensor) else Tensor(value)
