// See blocking.h. What kinds say of their rectangles, and where arrays of results lie, is enough to know it.
#include "compiler/kernels/blocking.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/region_cut.h"
#include "compiler/kernels/choice.h"

namespace cs::kernels {

namespace {

// Of parts that lie next to each other from (0, 0) on.
Piece piece_at(const Blocking& b, int64_t down, int64_t across) {
  Piece p;
  p.row = std::min(down * b.tile_rows, b.rows);
  p.rows = std::min(b.tile_rows, b.rows - p.row);
  p.column = std::min(across * b.tile_columns, b.columns);
  p.columns = std::min(b.tile_columns, b.columns - p.column);
  return p;
}

// The result as it lies on the PEs.
Blocking of_array(const ResidentArray& a) {
  Blocking b;
  b.columns = std::min(a.columns, a.elements);
  b.rows = (a.elements + a.columns - 1) / a.columns;
  b.parts_down = a.by_rows ? a.h : 1;
  b.parts_across = a.by_columns ? a.w : 1;
  b.tile_rows = a.tile_rows;
  b.tile_columns = a.tile_columns;
  return b;
}

std::vector<Piece> pieces_of_array(const ResidentArray& a, Coord pe) {
  if (pe.x >= a.w || pe.y >= a.h) return {};
  // Where PEs have the same, the first of them counts.
  if ((!a.by_rows && pe.y > 0) || (!a.by_columns && pe.x > 0)) return {};
  Tiling tiling;
  tiling.rect = {0, 0, a.w, a.h};
  tiling.order = a.order;
  const Coord tile = tiling.tile_of(pe);
  return {piece_at(of_array(a), a.by_rows ? tile.y : 0, a.by_columns ? tile.x : 0)};
}

// Of a region of streams; its first result in C order.
int64_t result_elements(const Choice& choice) {
  const autogen::Region& r = *choice.region;
  return r.result_buffer.empty() ? 0 : r.elements(r.result_buffer.front());
}

bool is_cut_by_loops(const Choice& choice, const Cut& cut) {
  return !choice.work.resident && choice.region.has_value() && cut.loops != nullptr;
}

}  // namespace

std::string blocking_text(const Blocking& b) {
  return fmt::format("{} x {} parts of {} x {}", b.parts_down, b.parts_across, b.tile_rows, b.tile_columns);
}

Blocking blocking(const Choice& choice, const Cut& cut) {
  const Kind& kind = *choice.work.kind;
  if (choice.work.resident) return of_array(kind.resident_arrays(choice, cut).result);
  Blocking b;
  b.parts_across = cut.w;
  if (is_cut_by_loops(choice, cut)) {
    b.columns = result_elements(choice);
    b.parts_down = cut.h;
    b.tile_columns = autogen::part_of(b.columns, *cut.loops, 0, 0).words();
    return b;
  }
  b.columns = choice.work.n;
  b.tile_columns = cut.n_slice;
  if (!kind.several_rows()) return b;
  b.rows = choice.work.m;
  b.parts_down = cut.h;
  b.tile_rows = cut.m_slice;
  return b;
}

std::vector<Piece> pieces(const Choice& choice, const Cut& cut, Coord pe) {
  if (choice.work.resident) return pieces_of_array(choice.work.kind->resident_arrays(choice, cut).result, pe);
  if (!is_cut_by_loops(choice, cut)) return {piece_at(blocking(choice, cut), pe.y, pe.x)};
  const autogen::Runs part = autogen::part_of(result_elements(choice), *cut.loops, pe.x, pe.y);
  std::vector<Piece> list;
  for (const int64_t start : part.starts()) list.push_back({0, 1, start, part.run()});
  return list;
}

}  // namespace cs::kernels
