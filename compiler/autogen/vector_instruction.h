// The instruction of a vector node, and how long it takes by docs/timing.md §6.
#pragma once

#include <cstddef>

#include "compiler/autogen/vector_program.h"
#include "runtime/machine/machine.h"

namespace cs::autogen {

struct VectorInstruction {
  const char* mnemonic = "";
  bool halves = false;  // of 16 bits
};
VectorInstruction instruction_of(VectorKind);

// With so many sources in memory, in different banks.
double elements_per_cycle(const char* mnemonic, size_t sources, const Machine&);
// Of an instruction on 16 bits.
double halves_per_cycle(const char* mnemonic, int sources, const Machine&);
// From the first descriptor's load to the first element, without the cycles that overlap.
double start_cycles(size_t descriptors, const Machine&);

}  // namespace cs::autogen
