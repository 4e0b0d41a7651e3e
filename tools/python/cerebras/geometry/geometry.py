"""Points and rectangles of PEs, as host programs pass them to code regions.

A rectangle reaches from its upper left corner up to, not including, its lower right corner.
"""
from dataclasses import dataclass
from operator import index


@dataclass(frozen=True, init=False)
class IntVector:
  """A point: column x, row y."""
  x: int
  y: int

  def __init__(self, x, y):
    object.__setattr__(self, "x", index(x))
    object.__setattr__(self, "y", index(y))

  def __add__(self, other):
    return IntVector(self.x + other.x, self.y + other.y)

  def __sub__(self, other):
    return IntVector(self.x - other.x, self.y - other.y)

  def __iter__(self):
    return iter((self.x, self.y))


@dataclass(frozen=True)
class IntRectangle:
  """The PEs from `ul` up to, not including, `lr`."""
  ul: IntVector
  lr: IntVector

  @property
  def width(self):
    return self.lr.x - self.ul.x

  @property
  def height(self):
    return self.lr.y - self.ul.y

  def points(self):
    return [(x, y) for y in range(self.ul.y, self.lr.y) for x in range(self.ul.x, self.lr.x)]
