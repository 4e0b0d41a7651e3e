// Instructions on the halves of words by which a vector node's buffer, which has its first operand, becomes
// its value; for kinds with no other operand.
#pragma once

#include <string>
#include <vector>

#include "compiler/autogen/vector_program.h"

namespace cs::autogen {

struct HalfStep {
  std::string mnemonic, operands;  // the destination is the first of these
  int sources = 1;                 // of them in memory
};

// Descriptors of the buffer's lower and upper halves.
struct HalfNames {
  std::string low, high;
};

// One of its steps needs the lower halves of a second buffer.
bool needs_scratch(VectorKind);
// None if the kind has another operand.
std::vector<HalfStep> half_steps(const VectorNode&, const HalfNames&, const std::string& scratch_low);

}  // namespace cs::autogen
