// Plans by what the tile code of a kernel takes, instead of the formulas of its kind.
#pragma once

#include "compiler/kernels/kernels.h"

namespace cs::kernels {

// A PE's cycles for one round of its kernel, its words being there at once (compiler/csl/walk.h).
struct PeRound {
  double alone = 0;   // of computing and sending
  double longest = 0;  // of the task that takes longest
  double steady = 0;  // from one round to the next
  double feed = 0;    // of a feeder, from one round to the next; 0: there is none
};
// As plan_kernel(), for a cut of this work whose slowest PE takes that.
Plan plan_measured(const Work&, const Cut&, const PeRound&, const Machine&);

}  // namespace cs::kernels
