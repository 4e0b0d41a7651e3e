"""Equal values of neighbouring PEs as rectangles: what a layout says in loops instead of PE by PE."""


def merge(table):
  """{(x, y): value} as a list of (x, y, width, height, value): runs in a row, joined with equal runs above."""
  rows = {}
  for (x, y), value in table.items():
    rows.setdefault(y, []).append((x, value))
  out, above = [], {}
  for y in sorted(rows):
    runs = {}
    for x, width, value in _runs(sorted(rows[y], key=lambda cell: cell[0])):
      index = above.get((x, width))
      if index is not None and out[index][1] + out[index][3] == y and out[index][4] == value:
        out[index][3] += 1
      else:
        index = len(out)
        out.append([x, y, width, 1, value])
      runs[x, width] = index
    above = runs
  return [tuple(r) for r in out]


def _runs(cells):
  first = None
  for x, value in cells:
    if first is not None and x == first[0] + first[1] and value == first[2]:
      first[1] += 1
      continue
    if first is not None:
      yield first
    first = [x, 1, value]
  if first is not None:
    yield first
