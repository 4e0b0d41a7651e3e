"""The losses: for each class its operands and its options with torch's defaults."""
import inspect

from wafersmith import functions as f
from wafersmith.losses import rows
from wafersmith.modules import Module
from wafersmith.tensors import as_tensor

__all__ = ["L1Loss", "MSELoss", "HuberLoss", "SmoothL1Loss", "BCELoss", "BCEWithLogitsLoss", "CrossEntropyLoss",
           "NLLLoss", "GaussianNLLLoss", "PoissonNLLLoss", "KLDivLoss", "HingeEmbeddingLoss", "MarginRankingLoss",
           "CosineEmbeddingLoss", "MultiMarginLoss", "MultiLabelSoftMarginLoss", "TripletMarginLoss",
           "TripletMarginWithDistanceLoss", "CTCLoss"]


class Loss(Module):
  """`row` is its operator. `defaults` are the options that are attributes of the row."""
  row, defaults, reductions = "", {}, ("mean", "sum", "none")
  autogen = True

  def __init__(self, *, reduction="mean", size_average=None, reduce=None, use_autogen=False, **given):
    super().__init__()
    if size_average is not None or reduce is not None:
      raise TypeError(f"{type(self).__name__}: size_average and reduce are gone from torch; use reduction")
    unknown = sorted(set(given) - set(self.defaults))
    if unknown:
      known = ", ".join([*self.defaults, "reduction", "use_autogen"])
      raise TypeError(f"{type(self).__name__} has no argument {', '.join(unknown)}; there are {known}")
    if reduction not in self.reductions:
      raise ValueError(f"{type(self).__name__}: reduction is {reduction!r}; there are {', '.join(self.reductions)}")
    self.reduction, self.use_autogen = reduction, bool(use_autogen)
    self.options = {**self.defaults, **given}

  def __init_subclass__(cls):
    """forward() has the operands' names: those under which gradients are asked for."""
    if "operands" in cls.__dict__ and "forward" not in cls.__dict__:
      def forward(self, *args, **kwargs):
        return Loss.forward(self, *args, **kwargs)
      cls.forward = forward
      cls.forward.__signature__ = inspect.signature(cls.operands)

  def operands(self, input, target):
    return [input, target]

  def forward(self, *args, **kwargs):
    return rows.loss(self.row, self.operands(*args, **kwargs), self.reduction, self.attrs(), self.use_autogen,
                     self.reductions)

  forward.__signature__ = inspect.signature(operands)

  def attrs(self):
    return {key: float(v) if isinstance(self.defaults[key], float) else v for key, v in self.options.items()}

  def extra_repr(self):
    return ", ".join(f"{k}={v!r}" for k, v in {**self.options, "reduction": self.reduction,
                                               "use_autogen": self.use_autogen}.items())


class _Weighted(Loss):
  """A loss whose first argument is a tensor of weights."""

  def __init__(self, weight=None, **given):
    super().__init__(**given)
    self.weight = None if weight is None else as_tensor(weight)

  def operands(self, input, target):
    return [input, target, self.weight]


class L1Loss(Loss):
  row = "l1_loss"


class MSELoss(Loss):
  row = "mse_loss"


class HuberLoss(Loss):
  row, defaults = "huber_loss", {"delta": 1.0}

  def __init__(self, reduction="mean", delta=1.0, **given):
    if not delta > 0:
      raise ValueError(f"delta is {delta}, it must be above 0")
    super().__init__(reduction=reduction, delta=delta, **given)


class SmoothL1Loss(Loss):
  row, defaults = "smooth_l1_loss", {"beta": 1.0}


class BCELoss(_Weighted):
  row = "bce_loss"


class BCEWithLogitsLoss(_Weighted):
  row = "bce_with_logits_loss"

  def __init__(self, weight=None, *, pos_weight=None, **given):
    super().__init__(weight, **given)
    self.pos_weight = None if pos_weight is None else as_tensor(pos_weight)

  def operands(self, input, target):
    return [input, target, self.weight, self.pos_weight]


class CrossEntropyLoss(_Weighted):
  row, defaults = "cross_entropy_loss", {"ignore_index": -100, "label_smoothing": 0.0}


class NLLLoss(_Weighted):
  row, defaults = "nll_loss", {"ignore_index": -100}


class GaussianNLLLoss(Loss):
  row, defaults = "gaussian_nll_loss", {"full": False, "eps": 1e-6}

  def operands(self, input, target, var):
    input, var = as_tensor(input), as_tensor(var)
    if var.shape == input.shape[:-1]:   # one variance for all elements of a row
      var = f.unsqueeze(var, -1)
    return [input, target, var]


class PoissonNLLLoss(Loss):
  row, defaults = "poisson_nll_loss", {"log_input": True, "full": False, "eps": 1e-8}

  def __init__(self, log_input=True, full=False, **given):
    super().__init__(log_input=log_input, full=full, **given)


class KLDivLoss(Loss):
  row, defaults, reductions = "kl_div_loss", {"log_target": False}, ("mean", "sum", "none", "batchmean")


class HingeEmbeddingLoss(Loss):
  row, defaults = "hinge_embedding_loss", {"margin": 1.0}

  def __init__(self, margin=1.0, **given):
    super().__init__(margin=margin, **given)


class MarginRankingLoss(Loss):
  row, defaults = "margin_ranking_loss", {"margin": 0.0}

  def __init__(self, margin=0.0, **given):
    super().__init__(margin=margin, **given)

  def operands(self, input1, input2, target):
    return [input1, input2, target]


class CosineEmbeddingLoss(MarginRankingLoss):
  """Always primitives: torch's vendor layer does not fuse it either, and its row says why."""
  row = "cosine_embedding_loss"

  def forward(self, input1, input2, target):
    return rows.loss(self.row, self.operands(input1, input2, target), self.reduction, self.attrs())


class MultiMarginLoss(Loss):
  row, defaults = "multi_margin_loss", {"p": 1.0, "margin": 1.0}

  def __init__(self, p=1, margin=1.0, weight=None, **given):
    if p not in (1, 2):
      raise ValueError(f"p is {p}, it must be 1 or 2")
    super().__init__(p=p, margin=margin, **given)
    self.weight = None if weight is None else as_tensor(weight)

  def operands(self, input, target):
    return [input, target, self.weight]


class MultiLabelSoftMarginLoss(_Weighted):
  row = "multi_label_soft_margin_loss"


class TripletMarginLoss(Loss):
  row, defaults = "triplet_margin_loss", {"margin": 1.0, "p": 2.0, "eps": 1e-6, "swap": False}

  def __init__(self, margin=1.0, p=2.0, eps=1e-6, swap=False, **given):
    super().__init__(margin=margin, p=p, eps=eps, swap=swap, **given)

  def operands(self, anchor, positive, negative):
    return [anchor, positive, negative]


_DISTANCES = ("pairwise_l2", "l1", "sq_l2", "cosine")


class TripletMarginWithDistanceLoss(TripletMarginLoss):
  """`distance_function`: the name of one that the row has, or a function of two tensors."""
  row, defaults = "triplet_margin_with_distance_loss", {"margin": 1.0, "swap": False, "distance": "pairwise_l2"}

  def __init__(self, *, distance_function=None, margin=1.0, swap=False, **given):
    named = distance_function is None or isinstance(distance_function, str)
    distance = (distance_function or "pairwise_l2") if named else "pairwise_l2"
    if distance not in _DISTANCES:
      raise ValueError(f"distance '{distance}'; there are {', '.join(_DISTANCES)}, or a function of two tensors")
    Loss.__init__(self, margin=margin, swap=swap, distance=distance, **given)
    self.distance_function = None if named else distance_function

  def forward(self, anchor, positive, negative):
    if self.distance_function is None:
      return Loss.forward(self, anchor, positive, negative)
    near, far = self.distance_function(anchor, positive), self.distance_function(anchor, negative)
    if self.options["swap"]:
      far = f.minimum(far, self.distance_function(positive, negative))
    value = f.relu(near - far + float(self.options["margin"]))
    return value if self.reduction == "none" else (f.mean if self.reduction == "mean" else f.sum)(value)


class CTCLoss(Loss):
  row, defaults = "ctc_loss", {"blank": 0, "zero_infinity": False}

  def __init__(self, blank=0, reduction="mean", zero_infinity=False, **given):
    super().__init__(blank=blank, reduction=reduction, zero_infinity=zero_infinity, **given)

  def operands(self, log_probs, targets, input_lengths, target_lengths):
    return [log_probs, targets, input_lengths, target_lengths]
