// Placement benchmarks in the form of the ISPD 2020 contest: every layer of a network gets a rectangle of the
// wafer, whose size and time follow from how its loops are split (execution arguments). Read, sized and
// placed by the same placer as networks (floorplan.h), checked apart from it, written as a .paint file.
//
//   conv(H, W, R, S, C, K, T ; h, w, c, k)       height = h·w·(c + 1), width = 3·k
//   time = ⌈H/h⌉·⌈W/w⌉·⌈C/c⌉·⌈K/k⌉·R·S / T²      memory = (C/c)·(K/k)·R·S + ((W+S-1)/w)·((H+R-1)/h)·(K/k)
//   blocks are three or four convs that share h and w: largest height, time and memory, sum of the widths
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/mapping/floorplan.h"
#include "runtime/support/diag.h"

namespace cs::mapping::kgraph {

// Extents in quarters: blocks of F features hold convs of F/4, and their last picture may be half as large.
struct Conv {
  int64_t H4 = 0, W4 = 0, C4 = 0, K4 = 0;
  int64_t R = 1, S = 1, T = 1;
};

struct Kernel {
  std::string kind, name;       // conv, dblock, cblock
  std::vector<int64_t> formal;  // as .paint writes them: H W F of blocks, H W C K R S T U of conv
  std::vector<Conv> convs;
};

struct Graph {
  std::string name;
  int width = 0, height = 0;
  double wdeltat = 1, wlength = 1, wadapter = 0;
  int64_t memlimit = 0;
  std::vector<Kernel> kernels;
  std::vector<std::pair<int, int>> wires;  // between kernels; inputs and outputs left out
};

// Execution arguments in the order of .paint: h w, every c, every k.
using Execution = std::vector<int>;
struct Placed {
  Execution execution;
  int x = 0, y = 0;
  bool turned = false;
};
using Solution = std::vector<Placed>;  // by kernel

struct Score {
  double delta_t = 0, length = 0, sum = 0;  // sum: wdeltat · delta_t + wlength · length
  std::vector<std::string> violations;      // empty: legal
};

std::optional<Graph> read_graph(const std::string& text, const std::string& path, Diag&);
std::string paint_text(const Graph&, const Solution&);

// Judges a solution from the formulas and the graph alone, in whole numbers; knows nothing of how it was
// made.
Score check(const Graph&, const Solution&);

// The smallest deltaT at which the smallest rectangles together have the area of the fabric.
std::optional<double> area_bound(const Graph&);

struct SolveOptions {
  FloorplanOptions floorplan;
  double largest_gap = 0.5;  // deltaT above the area bound
};
struct Solved {
  Solution solution;
  double bound = 0;
};
// Nothing (with a reason in diag) if no placement was found.
std::optional<Solved> solve(const Graph&, const std::string& path, const SolveOptions&, Diag&);

}  // namespace cs::mapping::kgraph
