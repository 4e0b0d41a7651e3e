"""Learning rates that depend on the step: what an optimizer takes as lr. The host computes them, so they are no part of
the program; keys and meaning are those of `learning_rate` in configurations."""
__all__ = ["Constant", "Linear", "Polynomial", "CosineDecay", "Exponential", "PiecewiseConstant",
           "InverseSquareRootDecay", "Sequence"]


class Schedule:
  """One schedule; `steps` is how long it lasts (0: for ever)."""

  def __init__(self, steps=0, **keys):
    if steps < 0:
      raise ValueError(f"steps is {steps}, it must not be negative")
    self.keys = {"scheduler": type(self).__name__, **keys} | ({"steps": steps} if steps else {})

  def recipe(self):
    return self.keys

  def then(self, other):
    return Sequence(self, other)


class Constant(Schedule):
  def __init__(self, learning_rate, steps=0):
    super().__init__(steps, learning_rate=float(learning_rate))


class Linear(Schedule):
  def __init__(self, initial, end, steps):
    super().__init__(steps, initial_learning_rate=float(initial), end_learning_rate=float(end))


class Polynomial(Schedule):
  def __init__(self, initial, end, steps, power=1.0):
    super().__init__(steps, initial_learning_rate=float(initial), end_learning_rate=float(end), power=float(power))


class CosineDecay(Schedule):
  def __init__(self, initial, end, steps):
    super().__init__(steps, initial_learning_rate=float(initial), end_learning_rate=float(end))


class Exponential(Schedule):
  def __init__(self, initial, decay_rate, decay_steps, staircase=False, steps=0):
    super().__init__(steps, initial_learning_rate=float(initial), decay_rate=float(decay_rate),
                     decay_steps=int(decay_steps), staircase=bool(staircase))


class PiecewiseConstant(Schedule):
  def __init__(self, values, boundaries, steps=0):
    if len(values) != len(boundaries) + 1:
      raise ValueError(f"{len(boundaries)} boundaries need {len(boundaries) + 1} values, there are {len(values)}")
    super().__init__(steps, values=[float(v) for v in values], boundaries=[int(b) for b in boundaries])


class InverseSquareRootDecay(Schedule):
  def __init__(self, initial=1.0, scale=1.0, warmup_steps=1, steps=0):
    super().__init__(steps, initial_learning_rate=float(initial), scale=float(scale), warmup_steps=int(warmup_steps))


class Sequence(Schedule):
  """Schedules that follow each other; each begins with its own step 0."""

  def __init__(self, *parts):
    super().__init__()
    self.parts = [p for part in parts for p in (part.parts if isinstance(part, Sequence) else [part])]

  def recipe(self):
    return [part.recipe() for part in self.parts]


def recipe_of(lr):
  return lr.recipe() if isinstance(lr, Schedule) else float(lr)
