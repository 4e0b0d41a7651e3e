"""The graph that is being traced: operations on tensors become its nodes while a Tracer is entered."""
from wafersmith import dtypes, sources
from wafersmith.errors import StaticGraphError
from wafersmith.graphs import RESULT, Graph, Node
from wafersmith.tensors import Hyper, Parameter, Tensor

_active = []   # tracers, the innermost last


def active():
  return _active[-1] if _active else None


class Tracer:
  """The graph of one run of a function. While it is entered, operations on tensors are nodes of it."""

  def __init__(self, name):
    self.graph = Graph(name)
    self.backend = None          # of compiled models that were called
    self.hypers = []             # (value, Hyper)
    self.taps = []               # (tap, name of the value)
    self.key = None              # of its program, once there is one
    self.marks = []              # of nodes that are added, the innermost last
    self.counts = {}
    self._values = {}            # serial of a tensor -> value
    self._kept = []              # tensors of the above, so that they live

  def __enter__(self):
    _active.append(self)
    return self

  def __exit__(self, *_):
    _active.remove(self)

  def input(self, name, array):
    return Tensor(value=self.graph.add_input(name, dtypes.type_of(array)), tracer=self)

  def value_of(self, tensor):
    if tensor._tracer is self:
      return tensor._value
    if tensor.is_traced:
      raise StaticGraphError(f"{tensor.type} belongs to a graph whose tracing is over; return it from the step instead "
                             "of keeping it", sources.here())
    if tensor.serial not in self._values:
      self._values[tensor.serial] = self._capture(tensor)
      self._kept.append(tensor)
    return self._values[tensor.serial]

  def _capture(self, tensor):
    if isinstance(tensor, Hyper):
      value = self.graph.add_input(tensor.name, tensor.type)
      self.hypers.append((value, tensor))
      return value
    if isinstance(tensor, Parameter):
      return self.graph.add_parameter(tensor.name or "parameter", tensor, tensor.type)
    return self.graph.add_constant("constant", tensor.numpy(), tensor.type)

  def add(self, op, operands, attrs, types):
    mark = self.marks[-1] if self.marks else None
    inputs = [None if t is None else self.value_of(t) for t in operands]
    return self.graph.add(Node(op, inputs, attrs, types, sources.here(), dict(mark) if mark else None))

  def result(self, tensor):
    """The value as one that a node makes: what comes in and goes out passes `identity`."""
    value = self.value_of(tensor)
    if value.kind != RESULT:
      value = self.add("identity", [tensor], {}, [value.type]).outputs[0]
    if value not in self.graph.outputs:
      self.graph.outputs.append(value)
    return value

  def no_value(self, value):
    return (f"the value of a traced {value.type} ({value.name}) is asked for, but a static graph has none while "
            f"'{self.graph.name}' is traced; branches and loops depend on host values only; return it, or tap it")


def backward(loss):
  tracer, where = active(), sources.here()
  if tracer is None or loss._tracer is not tracer:
    raise StaticGraphError("backward() belongs into a training step: a function under ws.trace, or the body of "
                           "section.stream", where)
  training = tracer.graph.training
  if training.loss is not None:
    raise StaticGraphError("a training step has one backward()", where)
  if loss.numel() != 1:
    raise StaticGraphError(f"backward() needs a loss of one element, this one is {loss.type}", where)
  if tracer.value_of(loss).kind != RESULT:
    raise StaticGraphError("the loss depends on nothing", where)
  training.loss, training.where = tracer.value_of(loss), where


def check_training(graph):
  """What is missing in a step of training; one that returns nothing gives its loss."""
  training = graph.training
  if training.loss is not None and not graph.outputs:
    graph.outputs.append(training.loss)
  if training.optimizer is None:
    if training.loss is not None:
      used = depends_on(training.loss)
      training.gradients = [v for v in graph.parameters() if v in used and v.source.requires_grad]
    return
  if training.loss is None:
    raise StaticGraphError("optimizer.step() without a backward() before it", training.optimizer.where)
  if not training.zeroed:
    raise StaticGraphError("optimizer.step() without zero_grad(): gradients would add up over the iterations, which is "
                           "not supported", training.optimizer.where)


def depends_on(value):
  """All values that this one depends on, itself too."""
  found, stack = set(), [value]
  while stack:
    v = stack.pop()
    if v is not None and v not in found:
      found.add(v)
      stack += v.node.inputs if v.node is not None else []
  return found
