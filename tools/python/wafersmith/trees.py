"""Arguments and results of steps: nested tuples, lists and dicts of tensors, taken apart and put together again."""
import inspect

import numpy as np


def _is_array(leaf):
  from wafersmith.tensors import Tensor
  return isinstance(leaf, (Tensor, np.ndarray, np.generic)) or type(leaf).__module__.split(".")[0] == "torch" and \
      hasattr(leaf, "detach")


class Spread:
  """*args or **kwargs of a function."""

  def __init__(self, value, kind):
    self.value, self.kind = value, kind


class Call:
  """The arguments of one call, by name."""

  def __init__(self, arguments, signature):
    self.arguments, self.signature = arguments, signature

  def spread(self):
    bound = inspect.BoundArguments(self.signature, {
        name: v.value if isinstance(v, Spread) else v for name, v in self.arguments.items()})
    return bound.args, bound.kwargs


def flatten(tree, root=""):
  """[(name, array)] and what makes the tree anew from {name: leaf}. Numbers and objects stay as they are."""
  leaves = []

  def walk(node, name):
    if isinstance(node, Call):
      parts = {k: walk(v, k) for k, v in node.arguments.items()}
      return lambda found: Call({k: make(found) for k, make in parts.items()}, node.signature)
    if isinstance(node, Spread):
      make_value = walk(node.value, name)
      return lambda found: Spread(make_value(found), node.kind)
    if _is_array(node) and not _is_parameter(node):
      while any(name == other for other, _ in leaves):   # x_0 beside the first of x
        name += "_"
      leaves.append((name, node))
      return lambda found: found[name]
    if isinstance(node, dict):
      parts = {k: walk(v, f"{name}_{k}" if name else str(k)) for k, v in node.items()}
      return lambda found: {k: make(found) for k, make in parts.items()}
    if isinstance(node, (list, tuple)):
      parts = [walk(v, f"{name}_{k}") for k, v in enumerate(node)]
      return lambda found: _like(node, [make(found) for make in parts])
    return lambda found: node

  make = walk(tree, root)
  return leaves, make


def numbers(tree, name=""):
  """Plain numbers, truth values and texts among the arguments of a call, by name."""
  if isinstance(tree, Call):
    return {k: v for name, part in tree.arguments.items() for k, v in numbers(part, name).items()}
  if isinstance(tree, Spread):
    return numbers(tree.value, name)
  if isinstance(tree, dict):
    return {k: v for key, part in tree.items() for k, v in numbers(part, f"{name}_{key}" if name else str(key)).items()}
  if isinstance(tree, (list, tuple)):
    return {k: v for i, part in enumerate(tree) for k, v in numbers(part, f"{name}_{i}").items()}
  return {name: tree} if type(tree) in (bool, int, float, str) else {}


def _is_parameter(leaf):
  from wafersmith.tensors import Hyper, Parameter
  return isinstance(leaf, (Parameter, Hyper)) or type(leaf).__name__ == "Parameter"


def _like(node, items):
  return type(node)(*items) if hasattr(node, "_fields") else type(node)(items)


def flatten_tensors(tree):
  """The tensors of a result, and what makes the result from as many others."""
  from wafersmith.tensors import Tensor
  leaves = []

  def walk(node):
    if isinstance(node, Tensor):
      leaves.append(node)
      at = len(leaves) - 1
      return lambda found: found[at]
    if isinstance(node, dict):
      parts = {k: walk(v) for k, v in node.items()}
      return lambda found: {k: make(found) for k, make in parts.items()}
    if isinstance(node, (list, tuple)):
      parts = [walk(v) for v in node]
      return lambda found: _like(node, [make(found) for make in parts])
    return lambda found: node

  return leaves, walk(tree)
