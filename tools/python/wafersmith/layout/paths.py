"""Paths between ports, and between ports and the edges of the fabric: shortest, around regions where that is possible.

A search is Dijkstra's over (PE, side it was entered from). A step costs more through a code region, at a turn, and
where many colors cross already, so that paths are straight and stay apart. Ties are broken by the order of discovery:
equal layouts give equal paths.
"""
import heapq

from wafersmith.layout.routing import EAST, NORTH, OPPOSITE, SOUTH, STEP, WEST

STEP_COST, REGION_COST, TURN_COST, CROSSING_COST = 100, 300, 20, 5
AWAY_FROM_EDGE_COST = 40     # leaving or entering a port by another side than that of its edge
OTHER_EDGE_COST = 10_000     # host ports are at the west and east edges; north and south only if nothing else is left
SIDES = {"west": WEST, "east": EAST, "north": NORTH, "south": SOUTH}


class Ending:
  """A PE where a path starts or ends: which sides it may use, and which it should."""

  def __init__(self, at, sides, liked=0):
    self.at, self.sides, self.liked = at, sides, liked

  def cost(self, side):
    return 0 if not self.liked or side & self.liked else AWAY_FROM_EDGE_COST


class EdgeSites:
  """Where streams enter or leave the fabric: free places along its edges."""

  def __init__(self, width, height, per_edge):
    self.width, self.height, self.per_edge = width, height, per_edge
    self.taken = {name: set() for name in SIDES}
    self.near = None  # (x, y): only sites at this row or column

  def sites(self):
    """((x, y), side name, position, cost) of every free site."""
    rows = [(("west", (0, y), y, 0), ("east", (self.width - 1, y), y, 0)) for y in range(self.height)]
    columns = [(("north", (x, 0), x, OTHER_EDGE_COST), ("south", (x, self.height - 1), x, OTHER_EDGE_COST))
               for x in range(self.width)]
    for pair in rows + columns:
      for name, at, position, cost in pair:
        if position in self.taken[name] or len(self.taken[name]) >= self.per_edge:
          continue
        if self.near is None or at == self.near:
          yield at, name, position, cost

  def take(self, name, position):
    self.taken[name].add(position)


class PathFinder:
  """Finds paths of one class at a time over the present wires."""

  def __init__(self, wires, width, height, in_region, colors):
    self.wires, self.width, self.height = wires, width, height
    self.in_region, self.colors = in_region, colors

  def inside(self, at):
    return 0 <= at[0] < self.width and 0 <= at[1] < self.height

  def find(self, root, starts, ends, sites_in=None, sites_out=None):
    """The cheapest path as a list of (PE, entry side, leaving side), or None. At a port the side that leads to its
    program is 0; a stream's first entry or last leaving side is the edge of the fabric."""
    search = _Search(self, root, ends, sites_out)
    for start in starts:
      for bit in STEP:
        if start.sides & bit:
          search.leave((None, start.at, 0, bit), start.cost(bit))
    for at, name, _, cost in sites_in.sites() if sites_in else ():
      search.enter(at, SIDES[name], cost, None)
    return search.run()


class _Search:
  """One search. A link is (link before it, PE, entry side, leaving side)."""

  def __init__(self, finder, root, ends, sites_out):
    self.finder, self.root = finder, root
    self.ends = {end.at: end for end in ends}
    self.sites_out = {}
    for at, name, _, cost in sites_out.sites() if sites_out else ():
      self.sites_out[at, SIDES[name]] = cost
    self.heap, self.best, self.count = [], {}, 0

  def push(self, cost, node, link):
    if cost < self.best.get(node, cost + 1):
      self.best[node] = cost
      self.count += 1
      heapq.heappush(self.heap, (cost, self.count, node, link))

  def leave(self, link, cost):
    _, at, _, bit = link
    to = (at[0] + STEP[bit][0], at[1] + STEP[bit][1])
    if self.finder.inside(to):
      self.enter(to, OPPOSITE[bit], cost, link)
    elif (at, bit) in self.sites_out:
      self.push(cost + self.sites_out[at, bit], "out", link)

  def enter(self, at, entry, cost, link):
    end = self.ends.get(at)
    if end is not None:
      if end.sides & entry:
        self.push(cost + end.cost(entry), "end", (link, at, entry, 0))
      return
    crossing = len(self.finder.wires.used.get(at, set()) - {self.root})
    if not self.finder.wires.free(at, self.root) or crossing >= self.finder.colors:
      return
    extra = STEP_COST + CROSSING_COST * crossing + (REGION_COST if at in self.finder.in_region else 0)
    self.push(cost + extra, (at, entry), link)

  def run(self):
    while self.heap:
      cost, _, node, link = heapq.heappop(self.heap)
      if cost > self.best[node]:
        continue
      if node in ("end", "out"):
        return unwind(link)
      at, entry = node
      for bit in STEP:
        if bit != entry:
          self.leave((link, at, entry, bit), cost + (0 if bit == OPPOSITE[entry] else TURN_COST))
    return None


def unwind(link):
  """The chain of links as a list in the order of travel."""
  out = []
  while link is not None:
    link, at, entry, bit = link
    out.append((at, entry, bit))
  return out[::-1]
