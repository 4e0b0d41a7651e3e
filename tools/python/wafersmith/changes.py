"""Two graphs that should be one: the first difference, in the program's terms."""
from wafersmith.errors import GraphChanged


def arguments_changed(step, iteration, before, after, graph):
  """Of a step that is not traced again."""
  lines = [f"the arguments of {step}() have changed in iteration {iteration}; a program is for one shape and type"]
  lines += _arguments({n: str(t) for n, t in before.items()}, {n: str(t) for n, t in after.items()})
  changed = {n for n in before if before[n] != after.get(n)}
  first = next((n for n in graph.nodes if any(v is not None and v.name in changed for v in n.inputs)), None)
  where = first.where if first is not None else None
  if where is not None:
    lines.append(f"  first node that takes it: {first.name}, {first.op}, at {where}")
  return GraphChanged("\n".join(lines), iteration, None, where, None)


def _arguments(before, after):
  lines = []
  for name in list(before) + [n for n in after if n not in before]:
    if before.get(name) != after.get(name):
      lines.append(f"  argument {name}: {before.get(name, 'absent')} -> {after.get(name, 'absent')}")
  return lines


def graph_changed(step, iteration, before, after):
  """`before` and `after` are canonical lines (graph_text.canonical)."""
  message = [f"the graph of {step}() has changed in iteration {iteration}; it must stay that of iteration 0"]
  message += _arguments(*(dict(text.split(": ", 1) for kind, text, _ in lines if kind == "input")
                          for lines in (before, after)))
  old, new = ([(text, node) for kind, text, node in lines if kind == "node"] for lines in (before, after))
  k = next((k for k in range(max(len(old), len(new)))
            if k >= len(old) or k >= len(new) or old[k][0] != new[k][0]), None)
  if k is None:
    message += _others(before, after)
    return GraphChanged("\n".join(message), iteration)
  a, b = (nodes[k] if k < len(nodes) else (None, None) for nodes in (old, new))
  message.append(f"  first difference: node {k}" + _what(a[1], b[1]))
  for number, (text, node) in ((0, a), (iteration, b)):
    place = f"   {node.where}" if node is not None and node.where is not None else ""
    message.append(f"    iteration {number}: {text or 'ends before'}{place}")
  if len(old) != len(new):
    message.append(f"  nodes: {len(old)} -> {len(new)}")
  return GraphChanged("\n".join(message), iteration, k, a[1].where if a[1] else None, b[1].where if b[1] else None)


def _what(a, b):
  """What differs in the two nodes, in a word."""
  if a is None or b is None:
    return ""
  if a.op != b.op:
    return f", operator {a.op} -> {b.op}"
  found = [f"attribute {key} {a.attrs.get(key)} -> {b.attrs.get(key)}"
           for key in sorted({*a.attrs, *b.attrs}) if a.attrs.get(key) != b.attrs.get(key)]
  if [v and v.type for v in a.outputs] != [v and v.type for v in b.outputs]:
    found.append(f"shape {a.outputs[0].type} -> {b.outputs[0].type}")
  for x, y in zip(a.inputs, b.inputs):
    if x is not None and y is not None and x.kind == y.kind == "constant" and x.content() != y.content():
      found.append(f"constant {x.content()} -> {y.content()}")
    elif (x and x.name) != (y and y.name) and not (x and y and x.kind == y.kind == "constant"):
      found.append(f"operand {x and x.name} -> {y and y.name}")
  return "".join(f", {what}" for what in found)


def _others(before, after):
  """Differences beside the nodes: parameters, the recipe of training, results."""
  old, new = ([f"{kind} {text}" for kind, text, node in lines if node is None and kind != "input"]
              for lines in (before, after))
  return [*(f"  only in iteration 0: {t}" for t in old if t not in new),
          *(f"  only now: {t}" for t in new if t not in old)]
