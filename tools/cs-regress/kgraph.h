// cs-regress --kgraph DIR: places every .kgraph below a folder, checks and scores the placements.
#pragma once

#include <string>

#include "runtime/support/diag.h"

namespace cs {

struct KgraphOptions {
  std::string folder;
  std::string paint;  // folder for the placements (NAME.paint); empty: none are written
  int64_t moves = 0;  // of the annealer per start; 0: by the number of kernels
  uint64_t seed = 1;
  int threads = 1;
  bool json = false;
};

// A line per graph in `out`, or the JSON object. Exit code: 0 all legal, 1 input error, 4 a graph without a
// legal placement.
int run_kgraphs(const KgraphOptions&, std::string& out, Diag&);

}  // namespace cs
