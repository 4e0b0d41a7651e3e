"""Graphs as they are traced: values, and the nodes that make them. No file format and no tool is known here."""
import hashlib

INPUT, CONSTANT, PARAMETER, RESULT = "input", "constant", "parameter", "result"


class Value:
  """What flows along an edge. `data` is the array of a constant; a parameter has its tensor in `source`."""
  __slots__ = ("kind", "type", "name", "node", "data", "source", "_key")

  def __init__(self, kind, type_, name="", node=None, data=None, source=None):
    self.kind, self.type, self.name, self.node, self.data, self.source = kind, type_, name, node, data, source
    self._key = None

  def content(self):
    """A constant as it counts for the graph's identity: its value if it is short, else a digest."""
    if self._key is None:
      if self.type.elements <= 4:
        numbers = ", ".join(repr(n) for n in self.data.reshape(-1).tolist())
        self._key = numbers if not self.type.shape else f"[{numbers}]"
      else:
        digest = hashlib.sha256(self.data.tobytes()).hexdigest()[:12]
        self._key = f"{self.type} {digest}"
    return self._key


class Node:
  """`mark` says what is asked of the compiler for it: {}, {"origin": "host"}, or {"one_kernel": NAME}, the row of a
  loss or what the nodes of a loss of one's own have in common."""
  __slots__ = ("op", "name", "inputs", "attrs", "outputs", "where", "mark")

  def __init__(self, op, inputs, attrs, types, where=None, mark=None):
    self.op, self.inputs, self.attrs, self.where = op, inputs, attrs, where
    self.name, self.mark = "", mark or {}
    self.outputs = [None if t is None else Value(RESULT, t, node=self) for t in types]


class Training:
  """What loss.backward() and optimizer.step() said while the graph was traced."""

  def __init__(self):
    self.loss = None          # a value
    self.optimizer = None
    self.zeroed = False
    self.clip = {}            # keys of the section `optimizer`
    self.parameters = []      # values, those that the optimizer moves
    self.gradients = []       # values, wanted as results "gradient.NAME"
    self.where = None         # of backward()


class Graph:
  def __init__(self, name):
    self.name = name
    self.inputs, self.constants, self.nodes, self.outputs = [], [], [], []
    self.training = Training()
    self._names = {}

  def fresh(self, base):
    """A name that no value has: base, base_1, ..."""
    count = self._names.get(base, 0)
    self._names[base] = count + 1
    if count == 0:
      return base
    name = f"{base}_{count}"
    return self.fresh(name) if name in self._names else self._taken(name)

  def _taken(self, name):
    self._names[name] = 1
    return name

  def add_input(self, name, type_):
    self.inputs.append(Value(INPUT, type_, self.fresh(name)))
    return self.inputs[-1]

  def add_constant(self, base, data, type_):
    self.constants.append(Value(CONSTANT, type_, self.fresh(base), data=data))
    return self.constants[-1]

  def add_parameter(self, base, source, type_):
    self.constants.append(Value(PARAMETER, type_, self.fresh(base), source=source))
    return self.constants[-1]

  def add(self, node):
    node.name = self.fresh(node.op)
    for k, value in enumerate(node.outputs):
      if value is not None:
        value.name = node.name if k == 0 else self.fresh(f"{node.name}_{k}")
    self.nodes.append(node)
    return node

  def parameters(self):
    return [v for v in self.constants if v.kind == PARAMETER]

  def statistics(self):
    """Running ones of batch norms that take those of the batch: a step of training moves them."""
    return [v for node in self.nodes if node.op == "batch_norm" and node.attrs.get("training_mode")
            for v in node.inputs[3:5] if v is not None and v.kind == PARAMETER]
