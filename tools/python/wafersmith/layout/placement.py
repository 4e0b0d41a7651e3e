"""Where regions lie: those that nobody placed find the first free place; overlaps are errors."""

GAP = 2   # columns and rows between regions that were placed automatically, for the paths between them


def place_all(regions, width, height):
  """Places what is not placed; `width` x `height` is the fabric."""
  for region in regions:
    if not region.placed():
      _place(region, [r for r in regions if r.placed()], width, height)
  for i, a in enumerate(regions):
    if a.x + a.width > width or a.y + a.height > height:
      raise RuntimeError(f"region '{a.name}' of {a.width} x {a.height} PEs at ({a.x}, {a.y}) does not fit the fabric "
                         f"of {width} x {height} PEs")
    for b in regions[:i]:
      if _meet(a, b, 0):
        raise RuntimeError(f"regions '{b.name}' ({b.width} x {b.height} PEs at ({b.x}, {b.y})) and '{a.name}' "
                           f"({a.width} x {a.height} at ({a.x}, {a.y})) overlap; place one of them elsewhere")


def _meet(a, b, gap):
  return (a.x < b.x + b.width + gap and b.x < a.x + a.width + gap and
          a.y < b.y + b.height + gap and b.y < a.y + a.height + gap)


def _place(region, placed, width, height):
  """The first free place: the leftmost of the topmost, at the origin or right of or below another region."""
  columns = sorted({0} | {r.x + r.width + GAP for r in placed})
  rows = sorted({0} | {r.y + r.height + GAP for r in placed})
  for y in rows:
    for x in columns:
      region.x, region.y = x, y
      if x + region.width <= width and y + region.height <= height:
        if not any(_meet(region, other, GAP) for other in placed):
          return
  region.x = region.y = None
  raise RuntimeError(f"region '{region.name}' of {region.width} x {region.height} PEs finds no free place on the "
                     f"fabric of {width} x {height} PEs; place the regions with place(x, y)")
