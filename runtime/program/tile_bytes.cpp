// A tile program has the sum of its sections; a kernel the largest of the tile programs in its rectangle.
#include "runtime/program/tile_bytes.h"

#include <algorithm>

namespace cs {

uint32_t tile_bytes(const TileProgram& t) {
  uint32_t sum = 0;
  for (const Section& s : t.sections) sum += s.bytes;
  return sum;
}

void set_kernel_bytes(Program& p) {
  if (!p.host) return;
  std::vector<uint32_t> bytes;
  for (const TileProgram& t : p.tiles) bytes.push_back(tile_bytes(t));
  for (KernelRow& row : p.host->kernels) {
    uint32_t most = 0;
    for (const TileRect& r : p.rects)
      if (r.rect.intersects(row.rect)) most = std::max(most, bytes[r.tile]);
    if (most > 0) row.bytes_per_pe = most;
  }
}

}  // namespace cs
