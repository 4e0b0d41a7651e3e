"""Code regions: a rectangle of PEs with one program, its parameters, routes, initial memory and ports."""
from operator import index

import numpy as np

from cerebras.geometry.geometry import IntRectangle, IntVector
from wafersmith.layout.routing import Color, Edge, EdgeRouteInfo, route_of

SYMBOL_TYPES = ("int16", "uint16", "float16", "int32", "uint32", "float32")


class PortHandle:
  """One side of a connection: a color at the PEs along an edge of a region. Made by CodeRegion."""

  def __init__(self, region, color, edge, route, size, name, is_input):
    self.region, self.color, self.edge, self.route = region, color, edge, route
    self.size, self.name, self.is_input = size, name, is_input

  def lanes(self):
    """The PEs of the port in fabric coordinates, by row or column."""
    return [(self.region.x + x, self.region.y + y) for x, y in self.region.edge_points(self.edge)]

  def width(self):
    """How many PEs it has."""
    return len(self.region.edge_points(self.edge))

  def __repr__(self):
    return f"PortHandle({self.name!r})"


class CodeRegion:
  """A rectangle of PEs that run one CSL file. Made by SdkLayout.create_code_region."""

  def __init__(self, source, name, width, height):
    self.source, self.name, self.width, self.height = source, name, width, height
    self.x = self.y = None
    self.params = []    # (IntRectangle, name, value), later ones win
    self.paints = []    # (IntRectangle, Color, route), later ones win
    self.symbols = {}   # name: (bytes per PE, bytes in row-major order of PEs)
    self.ports = {}     # name: PortHandle
    self.all = IntRectangle(IntVector(0, 0), IntVector(width, height))

  # ---- place

  def place(self, x, y):
    x, y = index(x), index(y)
    if x < 0 or y < 0:
      raise ValueError(f"region '{self.name}': place({x}, {y}) is outside of the fabric")
    self.x, self.y = x, y

  def placed(self):
    return self.x is not None

  def edge_rectangle(self, edge):
    last = {Edge.LEFT: (0, 0, 1, self.height), Edge.RIGHT: (self.width - 1, 0, self.width, self.height),
            Edge.TOP: (0, 0, self.width, 1), Edge.BOTTOM: (0, self.height - 1, self.width, self.height)}[edge]
    return IntRectangle(IntVector(last[0], last[1]), IntVector(last[2], last[3]))

  def edge_points(self, edge):
    return self.edge_rectangle(edge).points()

  # ---- colors and routes

  def color(self, name, value=None):
    return Color(name, value, scope=self.name)

  def paint(self, pe, color, routes):
    self._paint(self._one(pe, "paint"), color, route_of(routes, "paint"))

  def paint_all(self, color, routes, edge_routes=()):
    self._paint(self.all, color, route_of(routes, "paint_all"))
    for info in edge_routes:
      if not isinstance(info, EdgeRouteInfo):
        raise TypeError(f"paint_all takes edge routes made by get_edge_routing, got {info!r}")
      self._paint(self.edge_rectangle(info.edge), color, info.route)

  def paint_range(self, rectangle, color, routes):
    self._paint(self._inside(rectangle, "paint_range"), color, route_of(routes, "paint_range"))

  def _paint(self, rectangle, color, route):
    self._check_color(color)
    for inputs, outputs in route:
      if not inputs or not outputs:
        raise ValueError(f"region '{self.name}', color '{color.get_global_name()}': a painted position needs "
                         "inputs and outputs; only a port leaves one of them open")
    self.paints.append((rectangle, color, route))

  # ---- parameters

  def set_param(self, pe, *what):
    self._set(self._one(pe, "set_param"), what, "set_param")

  def set_param_all(self, *what):
    self._set(self.all, what, "set_param_all")

  def set_param_range(self, rectangle, *what):
    self._set(self._inside(rectangle, "set_param_range"), what, "set_param_range")

  def _set(self, rectangle, what, call):
    if len(what) == 1 and isinstance(what[0], Color):
      name, value = what[0].get_local_param_name(), what[0]
    elif len(what) == 2 and isinstance(what[0], str):
      name, value = what
    else:
      raise TypeError(f"{call} takes a name and a value, or a Color alone")
    self.params.append((rectangle, name, self._value(name, value)))

  def _value(self, name, value):
    if isinstance(value, (Color, bool, str)):
      return value
    if isinstance(value, np.bool_):
      return bool(value)
    try:
      return index(value)
    except TypeError:
      pass
    if isinstance(value, (float, np.floating)):
      return float(value)
    raise TypeError(f"region '{self.name}', parameter '{name}': a value is a number, bool, string or Color, "
                    f"got {type(value).__name__}")

  # ---- memory

  def set_symbol_all(self, symbol, data, width, height):
    """Distributes a width x height array over the PEs: each gets its part, row by row."""
    width, height = index(width), index(height)
    data = np.asarray(data)
    where = f"region '{self.name}', symbol '{symbol}'"
    if data.dtype.name not in SYMBOL_TYPES:
      raise TypeError(f"{where}: data of type {data.dtype}, one of {', '.join(SYMBOL_TYPES)} is needed")
    if data.size != width * height:
      raise ValueError(f"{where}: {width} x {height} are {width * height} elements, the array has {data.size}")
    if width % self.width or height % self.height:
      raise ValueError(f"{where}: {width} x {height} elements are no multiple of {self.width} x {self.height} PEs")
    columns, rows = width // self.width, height // self.height
    parts = data.reshape(self.height, rows, self.width, columns).transpose(0, 2, 1, 3)
    self.symbols[symbol] = (rows * columns * data.itemsize, np.ascontiguousarray(parts).tobytes())

  # ---- ports

  def create_input_port(self, color, edge, routes, data_size, prefix=""):
    return self._port(color, edge, routes, data_size, prefix, True)

  def create_output_port(self, color, edge, routes, data_size, prefix=""):
    return self._port(color, edge, routes, data_size, prefix, False)

  def _port(self, color, edge, routes, data_size, prefix, is_input):
    self._check_color(color)
    if not isinstance(edge, Edge):
      raise TypeError(f"a port is on an Edge, got {edge!r}")
    name = f"{self.name}_{prefix}{color.get_local_param_name()}_port"
    route = route_of(routes, f"port '{name}'")
    for inputs, outputs in route:
      given, needed = (inputs, outputs) if is_input else (outputs, inputs)
      if given:
        raise ValueError(f"port '{name}': its positions must not have {'input' if is_input else 'output'} routes; "
                         "the layout chooses them")
      if not needed:
        raise ValueError(f"port '{name}': each position needs {'output' if is_input else 'input'} routes")
    if index(data_size) < 1:
      raise ValueError(f"port '{name}': the size is {data_size}, at least 1 wavelet is needed")
    if name in self.ports:
      raise ValueError(f"port '{name}' exists already; give one of them a prefix")
    self.ports[name] = PortHandle(self, color, edge, route, index(data_size), name, is_input)
    return self.ports[name]

  # ---- checks

  def _check_color(self, color):
    if not isinstance(color, Color):
      raise TypeError(f"region '{self.name}': a Color is needed, got {color!r}")

  def _one(self, pe, call):
    x, y = pe
    return self._inside(IntRectangle(IntVector(x, y), IntVector(x + 1, y + 1)), call)

  def _inside(self, r, call):
    if r.ul.x < 0 or r.ul.y < 0 or r.lr.x > self.width or r.lr.y > self.height or r.width < 1 or r.height < 1:
      raise ValueError(f"region '{self.name}': {call} of PEs ({r.ul.x}, {r.ul.y}) to ({r.lr.x - 1}, {r.lr.y - 1}), "
                       f"the region has {self.width} x {self.height}")
    return r
