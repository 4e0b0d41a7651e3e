"""Colors, directions and switch positions as a layout in Python names them.

Inside this package a position is a pair of bit sets (inputs, outputs) over the directions, and a route a tuple of
positions: values that compare and hash.
"""
from dataclasses import dataclass
from enum import Enum
from operator import index


class Route(Enum):
  RAMP = 0
  EAST = 1
  WEST = 2
  NORTH = 3
  SOUTH = 4


class Edge(Enum):
  TOP = 0
  BOTTOM = 1
  LEFT = 2
  RIGHT = 3


RAMP, EAST, WEST, NORTH, SOUTH = (1 << r.value for r in Route)
STEP = {EAST: (1, 0), WEST: (-1, 0), NORTH: (0, -1), SOUTH: (0, 1)}
OPPOSITE = {EAST: WEST, WEST: EAST, NORTH: SOUTH, SOUTH: NORTH}
OUTWARD = {Edge.TOP: NORTH, Edge.BOTTOM: SOUTH, Edge.LEFT: WEST, Edge.RIGHT: EAST}
MAX_POSITIONS = 4


def direction_names(bits):
  """The names of a bit set of directions, in the order of the enumeration."""
  return [r.name for r in Route if bits >> r.value & 1]


def bits_of(routes, what):
  """A list of Route, or one of them, as a bit set."""
  bits = 0
  for route in [routes] if isinstance(routes, Route) else list(routes):
    if not isinstance(route, Route):
      raise TypeError(f"{what} takes a list of Route, got {route!r}")
    bits |= 1 << route.value
  return bits


class RoutingPosition:
  """One switch position of a color at a router: where wavelets come in and where they go."""

  def __init__(self):
    self._input = 0
    self._output = 0

  def set_input(self, routes):
    self._input = bits_of(routes, "set_input")
    return self

  def set_output(self, routes):
    self._output = bits_of(routes, "set_output")
    return self

  def add_input(self, route):
    self._input |= bits_of(route, "add_input")
    return self

  def add_output(self, route):
    self._output |= bits_of(route, "add_output")
    return self

  def get_input(self):
    return [Route[name] for name in direction_names(self._input)]

  def get_output(self):
    return [Route[name] for name in direction_names(self._output)]

  def key(self):
    return (self._input, self._output)


def route_of(positions, what):
  """A list of RoutingPosition as a route."""
  positions = [positions] if isinstance(positions, RoutingPosition) else list(positions)
  if not positions:
    raise ValueError(f"{what}: at least one RoutingPosition is needed")
  if len(positions) > MAX_POSITIONS:
    raise ValueError(f"{what}: a router has {MAX_POSITIONS} switch positions, got {len(positions)}")
  for position in positions:
    if not isinstance(position, RoutingPosition):
      raise TypeError(f"{what} takes a list of RoutingPosition, got {position!r}")
  return tuple(p.key() for p in positions)


@dataclass(frozen=True)
class EdgeRouteInfo:
  """The route of the PEs along one edge of a region, where it differs from the rest."""
  edge: Edge
  route: tuple


def get_edge_routing(edge, routes):
  if not isinstance(edge, Edge):
    raise TypeError(f"get_edge_routing takes an Edge, got {edge!r}")
  return EdgeRouteInfo(edge, route_of(routes, "get_edge_routing"))


class Color:
  """A color by name; without a value the layout chooses one. Colors of equal global name are one color."""

  def __init__(self, name, value=None, *, scope=""):
    if not isinstance(name, str) or not name:
      raise TypeError(f"a color's name is a string that is not empty, got {name!r}")
    self._name = name
    self._scope = scope
    self._value = None if value is None else index(value)

  def get_global_name(self):
    return f"{self._scope}.{self._name}" if self._scope else self._name

  def get_local_param_name(self):
    return self._name

  def get_value(self):
    return self._value

  def resolve(self, value):
    """Called by compile(): the color it became."""
    self._value = value

  def __eq__(self, other):
    return isinstance(other, Color) and self.get_global_name() == other.get_global_name()

  def __hash__(self):
    return hash(self.get_global_name())

  def __repr__(self):
    return f"Color({self.get_global_name()!r})"
