"""The two texts of a graph: what cs-compile reads, and the canonical one by which graphs are compared.

The canonical text has no lines of the program and no weights: those change from step to step. It has every number that
the program wrote down.
"""
import hashlib
import json

import numpy as np

from wafersmith.formulas import formula_of
from wafersmith.graphs import PARAMETER

_INLINE = 16   # elements of a constant that is written into the text


def number(value):
  if isinstance(value, (bool, np.bool_)):
    return str(int(value))
  if isinstance(value, (int, np.integer)):
    return str(int(value))
  value = float(value)
  if value != value:
    return ".nan"
  if value in (float("inf"), float("-inf")):
    return ".inf" if value > 0 else "-.inf"
  text = repr(value)
  return text if "." in text or "e" not in text else text.replace("e", ".0e")


def attr(value):
  if isinstance(value, str):
    return json.dumps(value)
  if isinstance(value, (list, tuple)):
    return "[" + ", ".join(number(v) for v in value) + "]"
  return number(value)


def attrs_text(attrs):
  return "{" + ", ".join(f"{key}: {attr(value)}" for key, value in sorted(attrs.items())) + "}"


def _names(values):
  values = list(values)
  while values and values[-1] is None:
    values.pop()
  return "[" + ", ".join("~" if v is None else json.dumps(v.name) for v in values) + "]"


def scalar_or_map(value):
  """YAML in one line of numbers, texts, lists and maps."""
  if isinstance(value, dict):
    return "{" + ", ".join(f"{k}: {scalar_or_map(v)}" for k, v in value.items()) + "}"
  if isinstance(value, (list, tuple)):
    return "[" + ", ".join(map(scalar_or_map, value)) + "]"
  if isinstance(value, bool):
    return "true" if value else "false"
  return json.dumps(value) if isinstance(value, str) else number(value)


class GraphText:
  """`yaml` with `weights` (bytes for the file named weights_file), and which node each line is. `apart`: first nodes of
  losses of one's own that are no formula."""

  def __init__(self, graph, weights_file="weights.bin", host=False, marks=True):
    self.lines, self.weights, self.node_at = [], bytearray(), {}
    self._host, self._marks = host, marks
    self._put(f"graph: {json.dumps(graph.name)}")
    constants = [self._constant(v) for v in graph.constants]
    if self.weights:
      self._put(f"weights: {weights_file}")
    self._list("inputs", [f"name: {json.dumps(v.name)}, type: \"{v.type}\"" for v in graph.inputs])
    self._list("constants", constants)
    self._put("nodes:" if graph.nodes else "nodes: []")
    formulas, inside, self.apart = _formulas(graph) if marks and not host else ({}, set(), [])
    for node in graph.nodes:
      if node not in inside:
        self.node_at[len(self.lines) + 1] = node
        self._put("  - {" + (self._formula(node, formulas[node]) if node in formulas else self._node(node)) + "}")
    for line in recipe_lines(graph):
      self._put(line)
    self._put(f"outputs: {_names(graph.outputs)}")

  @property
  def yaml(self):
    return "\n".join(self.lines) + "\n"

  def _put(self, line):
    self.lines.append(line)

  def _list(self, key, items):
    self._put(f"{key}:" if items else f"{key}: []")
    for item in items:
      self._put("  - {" + item + "}")

  def _constant(self, value):
    data = value.source.numpy() if value.kind == PARAMETER else value.data
    head = f"name: {json.dumps(value.name)}, type: \"{value.type}\""
    if data.size <= _INLINE and value.kind != PARAMETER:
      return f"{head}, value: [{', '.join(number(n) for n in data.reshape(-1).tolist())}]"
    while len(self.weights) % 8:
      self.weights.append(0)
    offset = len(self.weights)
    self.weights += np.ascontiguousarray(data).tobytes()
    return f"{head}, offset: {offset}"

  def _node(self, node):
    parts = [f"name: {json.dumps(node.name)}", f"op: {node.op}", f"inputs: {_names(node.inputs)}"]
    if len(node.outputs) > 1:
      parts.append(f"outputs: {_names(node.outputs)}")
    one_kernel = {"use_autogen": 1} if self._marks and not self._host and node.mark.get("one_kernel") == node.op else {}
    if node.attrs or one_kernel:
      parts.append(f"attrs: {attrs_text({**node.attrs, **one_kernel})}")
    parts += _type_and_line(node)
    if self._host or node.mark.get("origin") == "host":
      parts.append("origin: host")
    return ", ".join(parts)

  def _formula(self, node, formula):
    """A loss of one's own, whose last node is `node`."""
    attrs = {"expr": formula.text, "inputs": formula.names(), "reduction": "none", "use_autogen": 1}
    return ", ".join([f"name: {json.dumps(node.name)}", "op: custom_loss", f"inputs: {_names(formula.inputs)}",
                      f"attrs: {attrs_text(attrs)}", *_type_and_line(node)])


def _type_and_line(node):
  parts = [f"type: \"{node.outputs[0].type}\""]
  return parts if node.where is None else [*parts, f"where: {json.dumps(str(node.where))}"]


def _formulas(graph):
  """Losses of one's own that are one formula, by their last node; all other nodes of them; first nodes of the others."""
  groups = {}
  for node in graph.nodes:
    name = node.mark.get("one_kernel", node.op)
    if name != node.op:
      groups.setdefault(name, []).append(node)
  found, inside, apart = {}, set(), []
  for nodes in groups.values():
    formula = formula_of(nodes, graph.outputs, [n for n in graph.nodes if n not in nodes])
    if formula is None:
      apart.append(nodes[0])
    else:
      found[nodes[-1]] = formula
      inside |= set(nodes[:-1])
  return found, inside, apart


def recipe_lines(graph):
  """The sections `training` and `optimizer`; none if the graph has no backward()."""
  training = graph.training
  if training.loss is None:
    return []
  keys = [f"loss: {json.dumps(training.loss.name)}"]
  if training.optimizer is not None:
    keys.append(f"parameters: {_names(training.parameters)}")
  keys.append(f"outputs: {_names(graph.outputs)}")
  if training.gradients:
    keys.append(f"gradients: {_names(training.gradients)}")
  lines = ["training: {" + ", ".join(keys) + "}"]
  if training.optimizer is not None:
    recipe = {**training.optimizer.recipe(), **training.clip}
    lines.append(f"optimizer: {scalar_or_map(recipe)}")
  return lines


def operand_text(value):
  if value is None:
    return "~"
  return value.content() if value.kind == "constant" else value.name


def node_text(node):
  """A node in a line, as users see it: tanh(x) -> f32[1, 8]."""
  options = "".join(f", {key}={attr(value)}" for key, value in sorted(node.attrs.items()))
  types = ", ".join("~" if v is None else str(v.type) for v in node.outputs)
  marks = "".join(f", {key}={value}" for key, value in node.mark.items())
  return f"{node.op}({', '.join(map(operand_text, node.inputs))}{options}{marks}) -> {types}"


def canonical(graph):
  """Lines that are equal exactly if two graphs are: (kind, text, node or None)."""
  lines = [("input", f"{v.name}: {v.type}", None) for v in graph.inputs]
  lines += [("node", f"{node.name} = {node_text(node)}", node) for node in graph.nodes]
  lines += [("parameter", f"{v.name}: {v.type}, tensor {v.source.serial}", None) for v in graph.parameters()]
  lines += [("training", line, None) for line in recipe_lines(graph)]
  lines.append(("outputs", _names(graph.outputs), None))
  return lines


def digest(lines):
  return hashlib.sha256("\n".join(f"{kind} {text}" for kind, text, _ in lines).encode()).hexdigest()


def equal(a, b):
  """Whether two lists of canonical lines are of the same graph."""
  return [line[:2] for line in a] == [line[:2] for line in b]
