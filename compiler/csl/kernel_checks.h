// Checks in kernels (--kernel-checks): PEs compare an index that is known at run time alone with the extent of its
// dimension, and stop where it lies outside of it. Off, there is no instruction for it; the simulator then finds
// accesses that begin in a variable and leave it, and those outside of all memory, but no element of another variable.
#pragma once

#include <cstdint>

#include "runtime/support/diag.h"

namespace cs::csl {

class Evaluator;
struct Value;

// For all programs that this process compiles from now on; off until somebody says so.
void set_kernel_checks(bool);
bool kernel_checks();

// Emits the comparison and the trap, if checks are on and the index is known at run time alone.
void check_index(Evaluator&, const Value& index, int64_t extent, SourceLoc where);

}  // namespace cs::csl
