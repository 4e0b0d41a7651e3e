"""Calculations outside of traces: nodes that hang on tensors until somebody looks, then one graph for the host."""
from wafersmith.graphs import CONSTANT, Graph, Node, Value


def operand(tensor):
  """The value that a node of a calculation takes for a tensor. One that is still pending stays so."""
  if tensor._data is None and tensor._value is not None:
    return tensor._value
  return Value(CONSTANT, tensor.type, data=tensor.numpy())


def node(op, operands, attrs, types, where):
  return Node(op, [None if t is None else operand(t) for t in operands], attrs, types, where)


def compute(tensors):
  """Gives the tensors their values: everything that they depend on is one graph of host operators."""
  from wafersmith.backends import host_backend
  graph, values = Graph("calculation"), {}

  def place(root):
    stack = [root]
    while stack:
      value = stack[-1]
      if id(value) in values:
        stack.pop()
      elif value.node is None:
        values[id(value)] = graph.add_constant("c", value.data, value.type)
        stack.pop()
      else:
        waiting = [v for v in value.node.inputs if v is not None and id(v) not in values]
        if waiting:
          stack += waiting
          continue
        old = value.node
        new = graph.add(Node(old.op, [None if v is None else values[id(v)] for v in old.inputs], old.attrs,
                             [None if v is None else v.type for v in old.outputs], old.where))
        for before, after in zip(old.outputs, new.outputs):
          values[id(before)] = after
    return values[id(root)]

  wanted = [place(t._value) for t in tensors]
  graph.outputs = list({id(v): v for v in wanted}.values())
  results = host_backend().evaluate(graph)
  for tensor, value in zip(tensors, wanted):
    tensor.settle(results[value.name])
