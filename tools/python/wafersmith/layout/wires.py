"""The routers of the layout: per color class and PE the route, what is painted and what connections add."""
from wafersmith.layout.routing import OPPOSITE, RAMP, STEP


class Wires:
  """Routes by class: routes[class][(x, y)] is a tuple of positions (inputs, outputs)."""

  def __init__(self, classes):
    self.classes = classes
    self.routes = {}
    self.used = {}      # (x, y): set of classes that the PE's router or program uses
    self.aimed = {}     # class: {(x, y): directions from which painted routes send there}

  def use(self, at, root):
    self.used.setdefault(at, set()).add(root)

  def put(self, at, root, route, who):
    """Sets a route; another one of the same class at the PE is an error."""
    table = self.routes.setdefault(root, {})
    if table.setdefault(at, route) != route:
      raise ValueError(f"PE ({at[0]}, {at[1]}), {who}: the colors {self.classes.label(root)} are one, but the PE "
                       "has two different routes for them; use separate colors, one per region (region.color(name))")
    self.use(at, root)

  def replace(self, at, root, route):
    self.routes[root][at] = route

  def aim(self, root):
    """Notes where the painted routes of a class send wavelets: PEs that must take them or stay clear of the class."""
    table = self.aimed.setdefault(root, {})
    for (x, y), route in self.routes.get(root, {}).items():
      outputs = 0
      for position in route:
        outputs |= position[1]
      for bit, (dx, dy) in STEP.items():
        if outputs & bit:
          to = (x + dx, y + dy)
          table[to] = table.get(to, 0) | OPPOSITE[bit]
          self.use(to, root)

  def free(self, at, root):
    """Whether a path of the class may cross the PE."""
    return at not in self.routes.get(root, {}) and at not in self.aimed.get(root, {})

  def cross(self, at, root, entry, leave):
    self.put(at, root, ((entry, leave),), "a path")

  def inputs(self, at, root):
    return _join(self.routes.get(root, {}).get(at, ()), 0)

  def outputs(self, at, root):
    return _join(self.routes.get(root, {}).get(at, ()), 1)


def with_input(route, bit):
  return tuple((inputs | bit, outputs) for inputs, outputs in route)


def with_output(route, bit):
  return tuple((inputs, outputs | bit) for inputs, outputs in route)


def _join(route, side):
  bits = 0
  for position in route:
    bits |= position[side]
  return bits & ~RAMP
