"""Traced nodes as one formula (docs/losses.md): so a loss of one's own is one operator, whose gradient and fused
kernels follow from it as those of the losses in the table do."""
from wafersmith.graphs import CONSTANT

_MOST_INPUTS = 8
_INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "^", "equal": "==", "greater": ">", "less": "<",
          "greater_or_equal": ">=", "less_or_equal": "<="}
_REDUCTIONS = {"reduce_sum": "sum", "reduce_mean": "mean", "reduce_max": "max", "reduce_min": "min"}
# Rows that the language calls by their names, with the attributes that are numbers.
_CALLS = set("""max min abs sign square sqrt rsqrt reciprocal floor ceil round clip hard_tanh exp expm1 log log1p erf
                sin cos tan sinh cosh asinh acosh atanh tanh atan asin acos relu leaky_relu elu selu celu sigmoid
                hard_sigmoid hard_swish swish log_sigmoid tanh_shrink softplus softsign mish gelu gelu_tanh shrink and
                or xor not is_nan is_inf mod fmod softmax log_softmax matmul""".split())


class Formula:
  """`text` over operands in0, in1 ..., which are the values `inputs`; its result is the value `output`."""

  def __init__(self, text, inputs, output):
    self.text, self.inputs, self.output = text, inputs, output

  def names(self):
    return " ".join(f"in{k}" for k in range(len(self.inputs)))


def formula_of(nodes, outputs, others):
  """Of nodes in their order; None if the language cannot say it. `outputs` are results of the graph, `others` its nodes
  beside these: what they take of the group must be one value, the last one."""
  taken = {v for node in others for v in node.inputs} | set(outputs)
  results = [v for node in nodes for v in node.outputs if v in taken]
  if results != [nodes[-1].outputs[0]]:
    return None
  names, inputs, lines = {}, [], []

  def operand(value):
    if value.kind == CONSTANT and not value.type.shape:
      return _number(float(value.data))
    if value not in names:
      names[value] = f"in{len(inputs)}"
      inputs.append(value)
    return names[value]

  for node in nodes:
    if len(node.outputs) != 1 or None in node.inputs:
      return None
    expression = _expression(node, [operand(v) for v in node.inputs])
    if expression is None:
      return None
    lines.append(f"v{len(lines)} = {expression}")
    names[node.outputs[0]] = f"v{len(lines) - 1}"
  if not 1 <= len(inputs) <= _MOST_INPUTS:
    return None
  lines[-1] = "y" + lines[-1][lines[-1].index(" "):]
  return Formula("\n".join(lines), inputs, nodes[-1].outputs[0])


def _number(value):
  if value != value:
    return "(inf - inf)"
  text = "inf" if abs(value) == float("inf") else repr(abs(value))
  return f"(-{text})" if value < 0 else text


def _expression(node, operands):
  op, attrs = node.op, node.attrs
  if op in _INFIX:
    return f"{operands[0]} {_INFIX[op]} {operands[1]}"
  if op == "neg":
    return f"-{operands[0]}"
  if op == "where":
    return f"select({', '.join(operands)})"
  if op == "cast":
    return f"real({operands[0]})" if attrs["to"] == "f32" else None
  if op in _REDUCTIONS:
    return _reduction(_REDUCTIONS[op], operands[0], attrs)
  if op in _CALLS and all(isinstance(v, (int, float)) for v in attrs.values()):
    return f"{op}({', '.join([*operands, *(f'{k}={_plain(v)}' for k, v in sorted(attrs.items()))])})"
  return None


def _plain(value):
  return str(value) if isinstance(value, int) else _number(value)


def _reduction(name, operand, attrs):
  keep = ", keep=1" if attrs.get("keepdims") else ""
  if "axes" not in attrs:
    return f"{name}({operand}{keep})"
  for axis in sorted(attrs["axes"], reverse=True):   # the last one first: so the numbers of the others stay
    operand = f"{name}({operand}, axis={axis}{keep})"
  return operand
