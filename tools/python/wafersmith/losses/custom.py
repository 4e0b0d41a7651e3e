"""@autogen_loss: a loss of one's own, of which use_autogen=True makes one kernel.

Its forward() is traced; all nodes that it makes become one operator (formulas.py), with a gradient of its own.
"""
import functools

from wafersmith.losses.rows import marked
from wafersmith.errors import TraceWarning
from wafersmith.modules import Module
from wafersmith.sources import warn
from wafersmith.tracer import active


def autogen_loss(loss):
  """Decorator of a class of losses (a Module). Its objects say by `use_autogen` whether they are fused."""
  if not (isinstance(loss, type) and issubclass(loss, Module)):
    raise TypeError("@autogen_loss stands above a class that is a ws.nn.Module")
  forward = loss.forward

  @functools.wraps(forward)
  def fused(self, *args, **kwargs):
    tracer = active()
    if tracer is None:
      return forward(self, *args, **kwargs)
    if not getattr(self, "use_autogen", False):
      warn(f"{loss.__name__} is an @autogen_loss without use_autogen=True: it is made of its parts", TraceWarning)
      return forward(self, *args, **kwargs)
    number = tracer.counts["loss"] = tracer.counts.get("loss", -1) + 1
    with marked({"one_kernel": f"loss_{number}"}):
      return forward(self, *args, **kwargs)

  loss.forward = fused
  loss.autogen = True
  return loss
