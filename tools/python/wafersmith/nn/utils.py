"""Clipping of gradients, said between backward() and step(); the recipe of the training step does it."""
from wafersmith import sources
from wafersmith.errors import StaticGraphError
from wafersmith.tracer import active


def _clip(key, limit):
  tracer, where = active(), sources.here()
  if tracer is None or tracer.graph.training.loss is None:
    raise StaticGraphError("gradients are clipped in a training step, behind backward()", where)
  if tracer.graph.training.optimizer is not None:
    raise StaticGraphError("gradients are clipped before optimizer.step()", where)
  if tracer.graph.training.clip:
    raise StaticGraphError("gradients are clipped once: by norm or by value", where)
  if not limit > 0:
    raise ValueError(f"the limit is {limit}, it must be above 0")
  tracer.graph.training.clip = {key: float(limit)}


def clip_grad_norm_(parameters, max_norm, norm_type=2.0):
  """The common 2-norm of all gradients that the optimizer uses becomes at most max_norm."""
  if norm_type != 2.0:
    raise ValueError(f"norm_type {norm_type} is not built; there is 2")
  del parameters
  _clip("max_gradient_norm", max_norm)


def clip_grad_value_(parameters, clip_value):
  del parameters
  _clip("max_gradient_value", clip_value)
