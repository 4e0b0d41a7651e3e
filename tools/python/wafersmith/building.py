"""From a graph to a compiled program: the text, cs-compile, and its errors in terms of the Python program."""
import json
import os
import subprocess

from wafersmith import tools
from wafersmith.errors import CompileError, OperatorError, TraceWarning
from wafersmith.graph_text import GraphText
from wafersmith.sources import warn

_VIEWS = ("reshape", "flatten", "squeeze", "unsqueeze", "identity")   # no work: where they stand does not matter


def build(graph, backend, folder):
  """Compiles into `folder`; the folder of the program and compile_report.json as a dict."""
  fused = any("one_kernel" in node.mark for node in graph.nodes)
  try:
    return _compile(graph, backend, folder, marks=True)
  except CompileError as error:
    if not fused or backend.is_host:
      raise
    cause = error
  made = _compile(graph, backend, folder, marks=False)   # an error of the parts alone is the program's
  first = str(cause).split("\n", maxsplit=1)[0]
  warn(f"a loss is no single kernel with use_autogen here and is made of its parts: {first}", TraceWarning)
  return made


def _compile(graph, backend, folder, marks):
  text = GraphText(graph, host=backend.is_host, marks=marks)
  for node in text.apart:
    warn(f"the loss at {node.where} is made of its parts: it has several results, more than 8 operands, or operators that "
         "formulas do not have", TraceWarning)
  source, target = os.path.join(folder, "graph.yaml"), os.path.join(folder, "program.csp")
  with open(source, "w", encoding="utf-8") as file:
    file.write(text.yaml)
  with open(os.path.join(folder, "weights.bin"), "wb") as file:
    file.write(text.weights)
  chosen = any(node.mark.get("origin") == "host" for node in graph.nodes)   # on the host by the program's own wish
  allowed = "allow" if backend.is_host or chosen else backend.host_ops
  command = [tools.find("cs-compile"), source, "-o", target, "--json", "--no-baselines", "--no-advice", "--host-ops",
             allowed, *backend.compile_options()]
  result = subprocess.run(command, capture_output=True, text=True, check=False)
  if result.returncode != 0:
    raise _error(result, text)
  with open(os.path.join(target, "compile_report.json"), encoding="utf-8") as file:
    report = json.load(file)
  if chosen and backend.host_ops == "forbid" and not backend.is_host:
    _check_placed(report, graph)
  return target, report


def _check_placed(report, graph):
  by_name = {node.name: node for node in graph.nodes}
  for op in report["ops"]:
    node = by_name.get(op["name"])
    if op["origin"] == "host" and op["op"] not in _VIEWS and (node is None or node.mark.get("origin") != "host"):
      raise OperatorError(f"{op['op']} has no kernel on the wafer: {op.get('reason', '')}", node and node.where)


def _error(result, text):
  try:
    errors = json.loads(result.stdout)["errors"]
  except (ValueError, KeyError, TypeError):
    return CompileError(f"cs-compile failed ({result.returncode}):\n{result.stderr or result.stdout}".rstrip())
  lines, where, kind = [], None, CompileError
  for error in errors:
    node = text.node_at.get(error.get("line")) if os.path.basename(error.get("file", "")) == "graph.yaml" else None
    node = node or _named(error["message"], text)
    if "runs on the host" in error["message"]:
      kind = OperatorError
    if node is not None and where is None:
      where = node.where
    place = f"{node.where}: " if node is not None and node.where is not None and lines else ""
    lines.append(place + error["message"])
  return kind("\n".join(lines) or "cs-compile failed without a message", where)


def _named(message, text):
  """The node whose line a message begins with (the compiler's `where`)."""
  for node in text.node_at.values():
    if node.where is not None and message.startswith(str(node.where)):
      return node
  return None
