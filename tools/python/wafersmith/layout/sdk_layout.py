"""SdkLayout: a program as code regions that are placed, connected and compiled.

compile() writes a CSL layout (csl_text.py) with routes and colors that it chose (network.py, coloring.py), and has the
CSL compiler make a Program of it. Nothing goes around that text: the folder <out_prefix>.layout can be read, edited and
compiled again with `cs-compile layout.csl --host host.yaml`.
"""
import json
import os
from operator import index

from wafersmith import tools
from wafersmith.layout.artifacts import SdkCompileArtifacts
from wafersmith.layout.classes import ColorClasses
from wafersmith.layout.coloring import choose_colors
from wafersmith.layout.csl_text import host_text, layout_text
from wafersmith.layout.machine import read_machine
from wafersmith.layout.network import Network, Stream
from wafersmith.layout.placement import place_all
from wafersmith.kinds import FP16TYPE, SdkTarget
from wafersmith.layout.platform import SdkExecutionPlatform, get_simulator
from wafersmith.layout.region import CodeRegion, PortHandle
from wafersmith.layout.routing import Color

FP16_NAMES = {FP16TYPE.F16: "fp16", FP16TYPE.BF16: "bf16", FP16TYPE.CB16: "cb16"}


class SdkLayout:
  """A layout under construction."""

  def __init__(self, platform, *, msg_level="WARNING"):
    if isinstance(platform, SdkTarget):
      platform = get_simulator(target=platform)
    if not isinstance(platform, SdkExecutionPlatform):
      raise TypeError(f"SdkLayout takes a platform made by get_platform or an SdkTarget, got {platform!r}")
    self.platform, self.msg_level = platform, msg_level
    self.regions, self.lines, self.streams = {}, [], {}

  # ---- regions

  def create_code_region(self, source, name, width, height):
    source, width, height = os.fspath(source), index(width), index(height)
    if width < 1 or height < 1:
      raise ValueError(f"region '{name}' has {width} x {height} PEs, at least 1 x 1 is needed")
    if name in self.regions:
      raise ValueError(f"there is a region '{name}' already; names of regions are unique")
    if not os.path.isfile(source):
      raise FileNotFoundError(f"region '{name}': there is no file '{source}'")
    self.regions[name] = CodeRegion(os.path.abspath(source), name, width, height)
    return self.regions[name]

  def hstack(self, regions, origin=None):
    return self._stack(regions, origin, lambda r: (r.width, 0))

  def vstack(self, regions, origin=None):
    return self._stack(regions, origin, lambda r: (0, r.height))

  def _stack(self, regions, origin, step):
    regions = list(regions)
    if not regions:
      raise ValueError("a stack needs at least one region")
    x, y = origin if origin is not None else (regions[0].x or 0, regions[0].y or 0)
    for region in regions:
      region.place(x, y)
      x, y = x + step(region)[0], y + step(region)[1]
    return len(regions)

  # ---- connections and streams

  def connect(self, source, target):
    """Joins an output port and an input port, in either order."""
    for port in (source, target):
      self._check_port(port, "connect")
    if source.is_input and not target.is_input:
      source, target = target, source
    what = f"connect('{source.name}', '{target.name}')"
    if source.is_input or not target.is_input:
      raise ValueError(f"{what}: an output port and an input port are needed")
    if source.size != target.size:
      raise ValueError(f"{what}: the sizes {source.size} and {target.size} differ")
    if source.width() != target.width():
      raise ValueError(f"{what}: the ports have {source.width()} and {target.width()} PEs")
    self._take(target, what)
    self.lines.append((source, target))

  def create_input_stream(self, port, io_loc=None, io_buffer_size=1024):
    return self._stream(port, io_loc, io_buffer_size, True)

  def create_output_stream(self, port, io_loc=None, io_buffer_size=1024):
    return self._stream(port, io_loc, io_buffer_size, False)

  def _stream(self, port, io_loc, io_buffer_size, is_input):
    word = "input" if is_input else "output"
    self._check_port(port, f"create_{word}_stream")
    if port.is_input != is_input:
      raise ValueError(f"create_{word}_stream: '{port.name}' is no {word} port")
    if port.width() != 1:
      raise ValueError(f"create_{word}_stream: port '{port.name}' has {port.width()} PEs; a stream goes "
                       "through one. Put a region between that spreads or gathers the data")
    if index(io_buffer_size) < 1:
      raise ValueError(f"create_{word}_stream: io_buffer_size is {io_buffer_size}, at least 1 is needed")
    if is_input:
      self._take(port, "create_input_stream")
    return self._add_stream(Stream(port.name, is_input, port=port, io_loc=tuple(io_loc) if io_loc else None))

  def create_input_stream_from_loc(self, loc, color, prefix=""):
    return self._add_stream(self._from_loc(loc, color, prefix, True))

  def create_output_stream_from_loc(self, loc, color, prefix=""):
    return self._add_stream(self._from_loc(loc, color, prefix, False))

  @staticmethod
  def _from_loc(loc, color, prefix, is_input):
    if not isinstance(color, Color):
      raise TypeError(f"a stream from a place takes a Color, got {color!r}")
    x, y = loc
    return Stream(f"{prefix}{color.get_global_name()}_{x}_{y}", is_input, at=(x, y), color=color)

  def _add_stream(self, stream):
    if stream.name in self.streams:
      raise ValueError(f"there is a stream '{stream.name}' already")
    self.streams[stream.name] = stream
    return stream.name

  def _check_port(self, port, call):
    if not isinstance(port, PortHandle):
      raise TypeError(f"{call} takes ports made by create_input_port and create_output_port, got {port!r}")
    if self.regions.get(port.region.name) is not port.region:
      raise ValueError(f"{call}: port '{port.name}' belongs to another layout")

  def _take(self, port, what):
    taken = [b for _, b in self.lines] + [s.port for s in self.streams.values()]
    if any(port is other for other in taken):
      raise ValueError(f"{what}: input port '{port.name}' has a source already")

  # ---- compile

  def compile(self, out_prefix, libs=(), cslc_prefix="", save_port_map=False, f16_type=FP16TYPE.F16):
    """Compiles the layout to the Program folder `out_prefix`. `cslc_prefix` is taken and ignored: the compiler is the
    one beside this module."""
    del cslc_prefix
    network, colors = self._solve()
    out = os.path.abspath(os.fspath(out_prefix))
    folder = out + ".layout"
    os.makedirs(folder, exist_ok=True)
    host, weights = host_text(network, colors)
    _write(folder, "layout.csl", layout_text(network, colors, folder).encode())
    _write(folder, "host.yaml", host.encode())
    _write(folder, "weights.bin", weights)
    command = ["cs-compile", "layout.csl", "--host", "host.yaml", "-m", self.platform.machine, "-o", out, "-q",
               "--fp16-format", FP16_NAMES[f16_type], "--fabric-dims", f"{network.width},{network.height}"]
    for lib in [libs] if isinstance(libs, str) else libs:
      command += ["--import-path", os.path.abspath(lib)]
    tools.run(command, folder)
    self._resolve(network, colors, out, save_port_map)
    return SdkCompileArtifacts(out)

  def _solve(self):
    if not self.regions:
      raise RuntimeError("the layout has no code region")
    machine = read_machine(self.platform.machine)
    regions = list(self.regions.values())
    place_all(regions, machine.width, machine.height)
    network = Network(regions, self.lines, list(self.streams.values()), self._classes(regions), machine)
    self._check_open(regions)
    network.build()
    return network, choose_colors(network, machine)

  def _classes(self, regions):
    classes = ColorClasses()
    for region in regions:
      for _, color, _ in region.paints:
        classes.add(color)
      for _, _, value in region.params:
        if isinstance(value, Color):
          classes.add(value)
      for port in region.ports.values():
        classes.add(port.color)
    for stream in self.streams.values():
      classes.add(stream.color)
    for source, target in self.lines:
      classes.join(source.color, target.color)
    return classes

  def _check_open(self, regions):
    joined = {id(p) for line in self.lines for p in line} | {id(s.port) for s in self.streams.values()}
    for region in regions:
      for port in region.ports.values():
        if id(port) not in joined:
          raise RuntimeError(f"port '{port.name}' is not connected; connect it to a port or make it a stream")

  def _resolve(self, network, colors, out, save_port_map):
    table = {}
    for root, value in colors.items():
      for name in network.classes.members(root):
        table[name] = value
    for region in self.regions.values():
      for item in [c for _, c, _ in region.paints] + [v for _, _, v in region.params if isinstance(v, Color)]:
        item.resolve(table[item.get_global_name()])
      for port in region.ports.values():
        port.color.resolve(table[port.color.get_global_name()])
    _write(out, "colors.json", (json.dumps(table, indent=2, sort_keys=True) + "\n").encode())
    if save_port_map:
      ports = {name: i for i, (name, *_) in enumerate(network.host_ports)}
      _write(os.path.dirname(out), os.path.basename(out) + "_port_map.json",
             (json.dumps(ports, indent=2) + "\n").encode())


def _write(folder, name, data):
  with open(os.path.join(folder, name), "wb") as file:
    file.write(data)
