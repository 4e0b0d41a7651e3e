"""A call of a loss: operands and options of its row in the compiler's table (docs/losses.md)."""
from wafersmith.functions.apply import apply, cast, floating, shaped
from wafersmith.tensors import as_tensor
from wafersmith.tracer import active

_REDUCTIONS = ("mean", "sum", "none")


def shape_of(row, operands, reduction):
  """The shape of the result."""
  if reduction != "none":
    return []
  shape = list(operands[0].shape)
  if row in ("cross_entropy_loss", "nll_loss"):
    return shape[:1] + shape[2:] if len(shape) > 1 else []
  if row in ("multi_margin_loss", "multi_label_soft_margin_loss", "cosine_embedding_loss", "triplet_margin_loss",
             "triplet_margin_with_distance_loss"):
    return shape[:-1]
  if row == "ctc_loss":
    return list(operands[2].shape)
  if row == "margin_ranking_loss":
    return list(max((t.shape for t in operands if t is not None), key=len))
  return shape


def options(given):
  return {key: int(v) if isinstance(v, bool) else v for key, v in given.items()}


def loss(row, operands, reduction, given=None, use_autogen=False, reductions=_REDUCTIONS):
  """`use_autogen`: one generated kernel for the loss and one for its gradient, else primitives."""
  if reduction not in reductions:
    raise ValueError(f"reduction is {reduction!r}; there are {', '.join(reductions)}")
  operands = [None if t is None else as_tensor(t) for t in operands]
  score = floating(operands[0])
  operands[0] = score
  for k, t in enumerate(operands[1:], 1):   # floats beside each other are of one type
    if t is not None and t.type.dtype in ("f16", "f32", "f64") and t.type.dtype != score.type.dtype:
      operands[k] = cast(t, score.type.dtype)
  shape = shape_of(row, operands, reduction)
  with marked({"one_kernel": row} if use_autogen else {}):
    return apply(row, operands, {"reduction": reduction, **options(given or {})}, shaped(score, shape))


class marked:
  """Nodes that are added meanwhile ask this of the compiler."""

  def __init__(self, mark):
    self._mark, self._tracer = mark, active()

  def __enter__(self):
    if self._tracer is not None:
      self._tracer.marks.append(self._mark)

  def __exit__(self, *_):
    if self._tracer is not None:
      self._tracer.marks.pop()
