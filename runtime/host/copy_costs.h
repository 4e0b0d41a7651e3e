// What copies between host and PEs take: the law of docs/timing.md §11 and docs/decisions/0037-alignment.md, for
// the run and for estimates.
#pragma once

#include <cstdint>

#include "runtime/host/device.h"
#include "runtime/machine/machine.h"
#include "runtime/program/host_part.h"

namespace cs {

// Whole cycles of a time; what rounding of the factors adds to a whole number is none.
Cycle whole_cycles(const Machine&, double seconds);
// A copy of so many words: the command at the PEs, then its words over a link.
Cycle copy_cycles(const Machine&, uint64_t words);
// An array of so many bytes is copied to an aligned place on the host, which its cores do together.
Cycle clone_cycles(const Machine&, uint64_t bytes);

}  // namespace cs
