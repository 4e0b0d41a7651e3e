// PEs whose routers differ in nothing but where the counter of their filter begins, in few loops.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/kernels/roles.h"

namespace cs::mapping {

struct CountedPe {
  Coord at;
  uint16_t counter = 0;
};

// Of PE (x, y) of the run, counter + by_x (x - run.x) + by_y (y - run.y).
struct CounterRun {
  kernels::Run run;
  int counter = 0, by_x = 0, by_y = 0;
};

// Neighbours in a row whose counters go up or down evenly are a run, and rows below each other with equal runs one
// together. Every PE is in one of them.
std::vector<CounterRun> counter_runs_of(std::vector<CountedPe>);

// The counter in CSL, by `x` and `y` as far as the run has several of them.
std::string counter_text(const CounterRun&);

}  // namespace cs::mapping
