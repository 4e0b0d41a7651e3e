"""From regions, connections and streams to routers: the wires of the fabric, its size and its host ports."""
from wafersmith.layout.paths import SIDES, EdgeSites, Ending, PathFinder
from wafersmith.layout.routing import OUTWARD, STEP
from wafersmith.layout.wires import Wires, with_input, with_output

MARGIN = 2         # free columns and rows to the right and below, for paths around the regions
MARGIN_LIMIT = 16
ORDERS = 6         # orders of paths that are tried per size of the fabric
ALL_SIDES = sum(STEP)


class Stream:
  """A host stream: from or to a port, or a painted color at a PE (`port` is None)."""

  def __init__(self, name, is_input, port=None, at=None, color=None, io_loc=None):
    self.name, self.is_input, self.port, self.at, self.io_loc = name, is_input, port, at, io_loc
    self.color = port.color if port else color


class Job:
  """One path to find: of a lane of a connection, or of a stream. Ends are (port, PE) or None for the host."""

  def __init__(self, what, source=None, target=None, stream=None):
    self.what, self.source, self.target, self.stream = what, source, target, stream


class Network:
  """Builds the wires. `lines` are (output port, input port), `streams` are Streams."""

  def __init__(self, regions, lines, streams, classes, machine):
    self.regions, self.lines, self.streams, self.classes, self.machine = regions, lines, streams, classes, machine
    self.jobs = [Job(f"connection '{a.name}' to '{b.name}'", (a, p), (b, q))
                 for a, b in lines for p, q in zip(a.lanes(), b.lanes())]
    for s in streams:
      end = (s.port, s.port.lanes()[0] if s.port else s.at)
      self.jobs.append(Job(f"stream '{s.name}'", None if s.is_input else end, end if s.is_input else None, s))
    self.in_region = {(r.x + x, r.y + y) for r in regions for x, y in r.all.points()} if self.jobs else set()

  def build(self):
    """Tries orders of paths, then larger fabrics; raises if there is no way."""
    right = max(r.x + r.width for r in self.regions)
    bottom = max(r.y + r.height for r in self.regions)
    margin = MARGIN if self.jobs else 0
    while True:
      self.width = min(right + margin, max(right, self.machine.width))
      self.height = min(bottom + margin, max(bottom, self.machine.height))
      failed = self._try_orders()
      if failed is None:
        return
      margin *= 2
      if margin > MARGIN_LIMIT:
        raise RuntimeError(f"{failed.what}: no path; other paths and painted routes of the colors "
                           f"{self.classes.label(self._root(failed))} are in its way, or "
                           f"{self.machine.colors} colors cross every PE around it. Leave more room between the "
                           "regions, or use separate colors; paths of one color cannot cross, so lanes that turn a "
                           "corner must come in the order of the turn")

  def _try_orders(self):
    """None, or the job that finds no path however early it comes."""
    order = list(self.jobs)
    for _ in range(ORDERS):
      self._start()
      failed = next((job for job in order if not self._run(job)), None)
      if failed is None:
        return None
      if failed is order[0]:
        return failed
      order.remove(failed)
      order.insert(0, failed)
    return failed

  # ---- painted routes and open ports

  def _start(self):
    self.wires = Wires(self.classes)
    self.host_ports = []   # (name, is_input, side, position, class)
    self.sites = EdgeSites(self.width, self.height, self.machine.host_ports)
    self.trees = {}        # (class, first PE): PEs of the paths that one output lane feeds
    self.finder = PathFinder(self.wires, self.width, self.height, self.in_region, self.machine.colors)
    for region in self.regions:
      self._paint(region)
    for root in self.classes.roots():
      self.wires.aim(root)
    for stream in self.streams:
      if stream.port is None:
        self._join_painted(stream)

  def _paint(self, region):
    who = f"region '{region.name}'"
    by_color = {}
    for rectangle, color, route in region.paints:
      table = by_color.setdefault(color, {})
      for at in rectangle.points():
        table[at] = route
    for port in region.ports.values():
      by_color.setdefault(port.color, {}).update((at, port.route) for at in region.edge_points(port.edge))
    for color, table in by_color.items():
      root = self.classes.find(color.get_global_name())
      for (x, y), route in table.items():
        self.wires.put((region.x + x, region.y + y), root, route, who)
    for rectangle, _, value in region.params:
      if hasattr(value, "get_global_name"):
        root = self.classes.find(value.get_global_name())
        for x, y in rectangle.points():
          self.wires.use((region.x + x, region.y + y), root)

  def _join_painted(self, stream):
    """A stream without a port continues what is painted at its PE; the PE beside an output belongs to it."""
    root = self.classes.find(stream.color.get_global_name())
    sides = (self.wires.inputs if stream.is_input else self.wires.outputs)(stream.at, root)
    if not sides:
      raise RuntimeError(f"stream '{stream.name}': PE ({stream.at[0]}, {stream.at[1]}) has no painted route of color "
                         f"'{stream.color.get_global_name()}' with an {'input' if stream.is_input else 'output'} "
                         "other than RAMP; paint one")
    for bit, (dx, dy) in STEP.items():
      if sides & bit and not stream.is_input:
        self.wires.aimed[root].pop((stream.at[0] + dx, stream.at[1] + dy), None)

  # ---- paths

  def _root(self, job):
    color = job.stream.color if job.stream else job.source[0].color
    return self.classes.find(color.get_global_name())

  def _run(self, job):
    root = self._root(job)
    self.sites.near = job.stream.io_loc if job.stream else None
    from_host, to_host = job.source is None, job.target is None
    starts = [] if from_host else self._starts(root, *job.source)
    ends = [] if to_host else [self._end(root, *job.target)]
    path = self.finder.find(root, starts, ends, self.sites if from_host else None, self.sites if to_host else None)
    if path is None:
      return False
    self._lay(root, path, job)
    if job.stream:
      at, entry, leave = path[0] if from_host else path[-1]
      side = next(name for name, bit in SIDES.items() if bit == (entry if from_host else leave))
      position = at[1] if side in ("west", "east") else at[0]
      self.sites.take(side, position)
      self.host_ports.append((job.stream.name, from_host, side, position, root))
    return True

  def _starts(self, root, port, at):
    if port is None:
      return [Ending(at, self.wires.outputs(at, root))]
    starts = []
    for cell in self.trees.get((root, at), [at]):
      closed = self.wires.inputs(cell, root) | self.wires.outputs(cell, root)
      starts.append(Ending(cell, ALL_SIDES & ~closed, OUTWARD[port.edge] if cell == at else 0))
    return starts

  def _end(self, root, port, at):
    if port is None:
      return Ending(at, self.wires.inputs(at, root))
    return Ending(at, ALL_SIDES & ~self.wires.outputs(at, root), OUTWARD[port.edge])

  def _lay(self, root, path, job):
    tree = self.trees.setdefault((root, job.source[1]), [job.source[1]]) if job.source else []
    for index, (at, entry, leave) in enumerate(path):
      route = self.wires.routes.get(root, {}).get(at)
      if job.source and index == 0:      # the port, or a PE of an earlier path that branches here
        if job.source[0] is not None:
          self.wires.replace(at, root, with_output(route, leave))
      elif job.target and index == len(path) - 1:
        if job.target[0] is not None:
          self.wires.replace(at, root, with_input(route, entry))
      else:
        self.wires.cross(at, root, entry, leave)
        tree.append(at)

