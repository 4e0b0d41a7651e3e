// Rows of blocks are dealt out from the top: a strip ends where the PEs so far come closest to its share.
#include "simulator/engine/strips.h"

#include <algorithm>
#include <numeric>
#include <string>

namespace cs::sim {
namespace {

// PEs with a program, by row of the fabric.
std::vector<int64_t> programs_by_row(const Program& p) {
  std::vector<int64_t> rows(size_t(p.fabric_height));
  for (const TileRect& t : p.rects)
    for (int y = std::max(0, t.rect.y); y < std::min(p.fabric_height, t.rect.y + t.rect.h); ++y)
      rows[size_t(y)] += t.rect.w;
  return rows;
}

}  // namespace

std::optional<Strips> cut_strips(const Program& p, int block_height, int ranks, Diag& diag) {
  if (p.fabric_height < ranks) {
    diag.error({}, "the fabric has " + std::to_string(p.fabric_height) + " rows, too few for " + std::to_string(ranks) +
                       " ranks",
               "each rank simulates at least one row of PEs: start fewer");
    return std::nullopt;
  }
  std::vector<int64_t> weight = programs_by_row(p);
  const int64_t used = std::count_if(weight.begin(), weight.end(), [](int64_t n) { return n > 0; });
  const int most = int(std::max<int64_t>(1, std::max<int64_t>(used, ranks) / ranks));
  Strips s;
  s.block_height = std::min({block_height, most, p.fabric_height / ranks});
  const int rows = (p.fabric_height + s.block_height - 1) / s.block_height;
  std::vector<int64_t> before(size_t(rows) + 1);  // PEs in front of each row of blocks; routes alone weigh little
  for (int y = 0; y < p.fabric_height; ++y) before[size_t(y / s.block_height) + 1] += 1 + 16 * weight[size_t(y)];
  std::partial_sum(before.begin(), before.end(), before.begin());
  s.first_row.push_back(0);
  for (int rank = 1; rank < ranks; ++rank) {
    const int64_t share = before.back() * rank / ranks;
    int row = int(std::lower_bound(before.begin(), before.end(), share) - before.begin());
    if (row > 0 && share - before[size_t(row) - 1] < before[size_t(row)] - share) --row;
    s.first_row.push_back(std::clamp(row, s.first_row.back() + 1, rows - (ranks - rank)));
  }
  s.first_row.push_back(rows);
  return s;
}

}  // namespace cs::sim
