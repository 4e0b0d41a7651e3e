// How the fabric is cut for several ranks: into strips of whole block rows, so that each has about as many PEs with a
// program.
#pragma once

#include <optional>
#include <vector>

#include "runtime/program/program.h"

namespace cs::sim {

struct Strips {
  int block_height = 1;        // at most what was asked for: every rank has a row of blocks
  std::vector<int> first_row;  // by rank, in rows of blocks; behind the last one the number of rows
};

// Nothing, and reported, if the fabric has fewer rows than there are ranks.
std::optional<Strips> cut_strips(const Program&, int block_height, int ranks, Diag&);

}  // namespace cs::sim
