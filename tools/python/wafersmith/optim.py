"""Optimizers with torch's arguments and defaults. step() in a traced function makes it a training step; the update is
done by the compiler's row, on the wafer."""
from wafersmith import sources
from wafersmith.errors import StaticGraphError
from wafersmith.graphs import PARAMETER
from wafersmith.schedules import recipe_of
from wafersmith.tracer import active

__all__ = ["Optimizer", "SGD", "Adam", "AdamW", "Adagrad", "RMSprop"]


class Optimizer:
  """`names`: argument -> key of the section `optimizer`, for those that differ."""
  kind, names = "", {"lr": "learning_rate", "weight_decay": "weight_decay_rate"}

  def __init__(self, params, options):
    from wafersmith.torch_modules import native
    self.params = [native(p) for p in params]
    if not self.params:
      raise ValueError("an optimizer needs parameters")
    if any(isinstance(p, dict) for p in self.params):
      raise ValueError("groups of parameters are not built: all have the same options")
    self.options, self.where = options, None
    self._check()

  def _check(self):
    for name in ("weight_decay", "momentum", "eps", "lr_decay", "initial_accumulator_value", "alpha"):
      if self.options.get(name, 0) < 0:
        raise ValueError(f"{self.kind}: {name} is {self.options[name]}, it must not be negative")
    lr = self.options["lr"]
    if isinstance(lr, (int, float)) and lr < 0:
      raise ValueError(f"{self.kind}: lr is {lr}, it must not be negative")
    for beta in self.options.get("betas", ()):
      if not 0 <= beta < 1:
        raise ValueError(f"{self.kind}: {beta} in betas must be at least 0 and below 1")
    if self.options.get("nesterov") and (not self.options["momentum"] or self.options["dampening"]):
      raise ValueError(f"{self.kind}: nesterov needs a momentum and no dampening")

  @property
  def lr(self):
    return self.options["lr"]

  @lr.setter
  def lr(self, value):
    self.options["lr"] = value

  def recipe(self):
    """The section `optimizer` of the graph's text."""
    keys = {"optimizer_type": self.kind}
    for name, value in self.options.items():
      key = self.names.get(name, Optimizer.names.get(name, name))
      if name == "lr":
        value = recipe_of(value)
      elif isinstance(value, tuple):
        value = [float(v) for v in value]
      keys[key] = value if isinstance(value, (bool, list, dict)) else float(value)
    return keys

  def zero_grad(self, set_to_none=True):
    del set_to_none
    tracer = active()
    if tracer is not None:
      tracer.graph.training.zeroed = True

  def step(self):
    tracer, self.where = active(), sources.here()
    if tracer is None:
      raise StaticGraphError("optimizer.step() belongs into a training step: a function under ws.trace, or the body of "
                             "section.stream", self.where)
    training = tracer.graph.training
    if training.loss is None:
      raise StaticGraphError("optimizer.step() without a backward() before it", self.where)
    if training.optimizer is not None:
      raise StaticGraphError("a training step has one optimizer.step()", self.where)
    training.optimizer = self
    mine = {id(p) for p in self.params}
    training.parameters = [v for v in tracer.graph.constants if v.kind == PARAMETER and id(v.source) in mine
                           and v.source.requires_grad]
    if not training.parameters:
      raise StaticGraphError("the loss uses none of the optimizer's parameters", self.where)


class SGD(Optimizer):
  kind = "SGD"

  def __init__(self, params, lr, momentum=0, dampening=0, weight_decay=0, nesterov=False, *, maximize=False, **more):
    super().__init__(params, {"lr": lr, "momentum": momentum, "dampening": dampening, "weight_decay": weight_decay,
                              "nesterov": nesterov, "maximize": maximize, **known(more)})


class Adam(Optimizer):
  kind = "Adam"

  def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0, amsgrad=False, *, maximize=False,
               **more):
    super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay,
                              "amsgrad": amsgrad, "maximize": maximize, **known(more)})


class AdamW(Optimizer):
  kind = "AdamW"

  def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=1e-2, amsgrad=False, *, maximize=False,
               **more):
    super().__init__(params, {"lr": lr, "betas": tuple(betas), "eps": eps, "weight_decay": weight_decay,
                              "amsgrad": amsgrad, "maximize": maximize, **known(more)})


class Adagrad(Optimizer):
  kind = "Adagrad"

  def __init__(self, params, lr=1e-2, lr_decay=0, weight_decay=0, initial_accumulator_value=0, eps=1e-10, *,
               maximize=False, **more):
    super().__init__(params, {"lr": lr, "lr_decay": lr_decay, "weight_decay": weight_decay,
                              "initial_accumulator_value": initial_accumulator_value, "eps": eps, "maximize": maximize,
                              **known(more)})


class RMSprop(Optimizer):
  kind = "RMSprop"

  def __init__(self, params, lr=1e-2, alpha=0.99, eps=1e-8, weight_decay=0, momentum=0, centered=False, *,
               maximize=False, **more):
    super().__init__(params, {"lr": lr, "alpha": alpha, "eps": eps, "weight_decay": weight_decay, "momentum": momentum,
                              "centered": centered, "maximize": maximize, **known(more)})


def known(more):
  """Arguments of torch that say how it computes, which changes nothing here."""
  unknown = sorted(set(more) - {"foreach", "capturable", "differentiable", "fused"})
  if unknown:
    raise TypeError(f"no such argument of an optimizer: {', '.join(unknown)}")
  return {}
