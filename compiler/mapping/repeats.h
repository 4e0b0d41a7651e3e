// Parts of a network that repeat, as layers do: the placer places one of them, and the others alike.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "compiler/mapping/floorplan.h"
#include "compiler/mapping/shape_curve.h"

namespace cs::mapping {

// Kernels first … first + length · count - 1 of a problem: `count` times the same kinds in the same order.
struct Repeats {
  size_t first = 0, length = 0, count = 0;
  bool contains(size_t kernel) const { return kernel >= first && kernel < first + length * count; }
  size_t unit_of(size_t kernel) const { return (kernel - first) / length; }
};

// Those that hold most kernels, cut where the fewest wires cross; nothing if no more than half of the kernels repeat.
std::optional<Repeats> find_repeats(const FloorplanProblem&);

// A unit as it was placed alone.
struct UnitPlan {
  Outline outline;
  std::vector<PlacedKernel> kernels;  // of one unit, from its north-west corner
  double cost = 0;
};
UnitPlan unit_plan(const Floorplan&);
// One unit alone: its kernels, and the wires between them.
FloorplanProblem unit_problem(const FloorplanProblem&, const Repeats&);
// The problem in which each unit is one kernel, with its plans as alternatives.
FloorplanProblem problem_of_units(const FloorplanProblem&, const Repeats&, const std::vector<UnitPlan>&);
// The floorplan of all kernels from that of the units.
Floorplan with_kernels(const Floorplan& of_units, const FloorplanProblem&, const Repeats&,
                       const std::vector<UnitPlan>&);

}  // namespace cs::mapping
