"""Losses as functions, with the names of torch.nn.functional."""
from wafersmith.losses import classes

_NAMES = {"l1_loss": "L1Loss", "mse_loss": "MSELoss", "huber_loss": "HuberLoss", "smooth_l1_loss": "SmoothL1Loss",
          "poisson_nll_loss": "PoissonNLLLoss", "kl_div": "KLDivLoss",
          "hinge_embedding_loss": "HingeEmbeddingLoss"}
_WEIGHTED = {"binary_cross_entropy": "BCELoss", "binary_cross_entropy_with_logits": "BCEWithLogitsLoss",
             "cross_entropy": "CrossEntropyLoss", "nll_loss": "NLLLoss",
             "multilabel_soft_margin_loss": "MultiLabelSoftMarginLoss"}
_THREE = {"gaussian_nll_loss": "GaussianNLLLoss", "margin_ranking_loss": "MarginRankingLoss",
          "cosine_embedding_loss": "CosineEmbeddingLoss",
          "triplet_margin_loss": "TripletMarginLoss",
          "triplet_margin_with_distance_loss": "TripletMarginWithDistanceLoss"}
__all__ = [*_NAMES, *_WEIGHTED, *_THREE, "multi_margin_loss", "ctc_loss"]


def _function(name, loss, tensors, weighted=False):
  def function(*args, **options):
    given, rest = list(args[:tensors]), args[tensors:]
    if weighted and rest:
      options["weight"], rest = rest[0], rest[1:]
    if rest:
      raise TypeError(f"{name} takes {tensors} tensors; give options by name")
    for key in list(options):   # torch calls the operands by name too
      if key in ("input", "target", "var", "input1", "input2", "anchor", "positive", "negative"):
        given.append(options.pop(key))
    return loss(**options)(*given)
  function.__name__ = name
  return function


for _table, _tensors, _weights in ((_NAMES, 2, False), (_WEIGHTED, 2, True), (_THREE, 3, False),
                                   ({"multi_margin_loss": "MultiMarginLoss"}, 2, False),
                                   ({"ctc_loss": "CTCLoss"}, 4, False)):
  for _name, _class in _table.items():
    globals()[_name] = _function(_name, getattr(classes, _class), _tensors, _weights)
