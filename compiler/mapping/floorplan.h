// The placer: gives every kernel one of its rectangles and a place, so that the most expensive kernel is
// cheap and the wires are short. It knows rectangles, costs and wires alone; networks (place.cpp) and
// benchmarks (kgraph.h) use it.
//
//   minimise  cost_weight · (largest cost of a kernel) + length_weight · Σ wires |Δx| + |Δy| of their ends
//
// How: a slicing tree says which kernels stand beside each other and which above each other. At a given cost
// level the rectangles of a kernel that reach it are a staircase (width, least height), and staircases
// combine up the tree in linear time (shape_curve.h), so one pass finds the best outline over all choices of
// rectangles. Simulated annealing changes the tree. The outline of the current tree says which level it could
// reach; the annealer returns to that level every so often, so level and wires shrink together. Starts run in
// parallel, each with its own seed and a fixed number of moves: the result does not depend on threads or on
// the speed of the machine.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "runtime/support/geometry.h"

namespace cs::mapping {

struct Alternative {  // a rectangle that a kernel can have, and what it costs then (time, interval)
  int w = 0, h = 0;
  double cost = 0;
};

constexpr int kEdge = -1;  // an end of a wire: the nearest edge of the fabric
struct Wire {
  int from = 0, to = 0;  // kernels or kEdge
  double weight = 1;
};
// Where wires end: at the centres, or they leave by the south-east corner and arrive at the north-west one.
enum class Pins : uint8_t { centres, corners };

struct FloorplanProblem {
  int width = 0, height = 0;
  bool may_turn = false;                        // a rectangle may also stand on its side
  std::vector<std::vector<Alternative>> kinds;  // alternatives; kernels with the same ones share a kind
  std::vector<int> kernels;                     // kind of each, along the dataflow
  std::vector<Wire> wires;
  double cost_weight = 1, length_weight = 1;
  Pins pins = Pins::centres;
};

struct PlacedKernel {
  Rect rect;
  int alternative = 0;
  bool turned = false;
};

struct Floorplan {
  std::vector<PlacedKernel> kernels;
  double cost = 0, length = 0, score = 0;
};

class KnownFloorplans;  // known_floorplans.h
struct FloorplanOptions {
  uint64_t seed = 1;
  int starts = 4;
  int64_t moves = 200'000;  // per start
  int threads = 1;
  double max_cost = std::numeric_limits<double>::infinity();  // no kernel may cost more
  KnownFloorplans* known = nullptr;  // null: what is found is not kept
};

// The smallest cost at which the smallest rectangles of all kernels have together no more area than the
// fabric: no placement is cheaper. Nothing if there is none.
std::optional<double> area_bound(const FloorplanProblem&);

// Nothing if no start found a placement.
std::optional<Floorplan> place_kernels(const FloorplanProblem&, const FloorplanOptions&);

// Inside the fabric, no overlap, every rectangle one of its kernel's alternatives. Empty if so, else what is
// wrong.
std::string check_floorplan(const FloorplanProblem&, const Floorplan&);

// Σ over wires of the distance of their ends.
double wire_length(const FloorplanProblem&, const std::vector<Rect>&);

}  // namespace cs::mapping
