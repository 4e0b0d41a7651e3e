// Which PEs and words a command of the host is about; for session*.cpp.
#pragma once

#include "runtime/host/session.h"

namespace cs {

// Which tile program a PE runs, null if none.
inline const TileProgram* tile_at(const Program& p, Coord pe) {
  for (const TileRect& r : p.rects)
    if (r.rect.contains(pe)) return &p.tiles[r.tile];
  return nullptr;
}

// The PEs of the host array: those that take part; one column of them if every row shares its data, one row
// if every column does.
inline Rect array_rect(const HostCommand& c) {
  Rect r = c.pes;
  r.w = (r.w - 1) / c.step_x + 1;
  r.h = (r.h - 1) / c.step_y + 1;
  if (c.kind == HostCommand::Kind::copy_to_rows) r.w = 1;
  if (c.kind == HostCommand::Kind::copy_to_columns) r.h = 1;
  return r;
}

inline size_t words_of(const HostCommand& c) { return size_t(array_rect(c).area()) * c.elements_per_pe; }

// Every PE that takes part, row by row: f(coordinates on the fabric, and its place among them).
template <class F>
void for_pes(const HostCommand& c, Rect user, F&& f) {
  for (int y = 0; y < c.pes.h; y += c.step_y)
    for (int x = 0; x < c.pes.w; x += c.step_x)
      f(Coord{user.x + c.pes.x + x, user.y + c.pes.y + y}, size_t(x / c.step_x), size_t(y / c.step_y));
}

}  // namespace cs
