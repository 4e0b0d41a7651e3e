"""What a traced function has become: which nodes each of its lines made."""
from itertools import groupby

from wafersmith.graphs import CONSTANT


def explain(graph):
  """A line of text for every line of the program, in the order of the trace; a loop shows as a number of copies."""
  lines = [f"{graph.name}(): {len(graph.nodes)} nodes"]
  for where, nodes in groupby(graph.nodes, key=lambda node: node.where):
    made = []
    for op, copies in groupby(nodes, key=lambda node: node.op):
      count = len(list(copies))
      made.append(op if count == 1 else f"{count} x {op}")
    lines.append(f"  {where or 'no line'}: {', '.join(made)}")
  constants = [v for v in graph.constants if v.kind == CONSTANT]
  if constants:
    lines.append(f"  constants of the program: {', '.join(v.content() for v in constants)}")
  return "\n".join(lines)
