// Code of one statement of a region on one PE.
//
// The axes of a statement become, from the outside in, loops with counters i0, i1, …; the dimensions of a
// vector instruction's descriptors (up to four); or the loop over i of scalars. Which is which:
//
//   copy, fill           one vector instruction over up to four axes
//   += x * w             @fmacs over the axes that move the result and one factor, with the other factor as
//                        its scalar (region_product.cpp); a product that is summed along its own axis goes
//                        through a temporary
//   +=, max=, *= x       one vector instruction, whose result stands still along the axes it reduces
//   f32 expressions      vectors over one axis, then a loop of scalars for what no vector computes
//                        (expression.h)
//   the rest             loops of scalars (integers, booleans, indices that memory holds)
#pragma once

#include <string>
#include <vector>

#include "compiler/autogen/expression.h"
#include "compiler/autogen/region.h"
#include "runtime/ops/loops.h"

namespace cs::autogen {

// What the statements of a module share: declarations at module level, helpers, the estimate.
struct RegionCode {
  std::vector<std::string> declarations;  // descriptors and temporaries, in order
  std::vector<std::string> lines;         // body of fn compute_sample
  std::vector<std::string> once;          // body of fn prepare
  bool uses_math = false, uses_round = false, uses_power = false;
  double cycles = 0;          // estimate of the body
  int64_t scratch_words = 0;  // temporaries declared
  int statements = 0;         // counts names
  size_t short_lines = 0;     // of lines: those that are about one instruction
};

// `s` is local: its extents are this PE's, its offsets count from the first element stored, except that the
// address of a counter is global. names[b] is the array of buffer b; i32[b]: it holds integers (booleans
// too); constants[b]: it is a parameter of the module, a pointer. Lines are indented by `indent`; `step` is
// the counter of a repeated block.
struct StatementContext {
  const std::vector<std::string>& names;
  const std::vector<bool>& integers;
  const std::vector<bool>& constants;
  const Machine& machine;
  bool by_library = false;  // convolutions are conv.csl
  bool resident = false;    // the region's operands lie on the PEs
  int indent = 2;
  std::vector<bool> odd = {};  // by buffer: it begins 4 bytes beyond a multiple of 8; empty: none does
  std::vector<ByteRows> bytes = {};  // by buffer: a constant in bytes; empty: none is
  bool is_bytes(int buffer) const { return buffer >= 0 && !bytes.empty() && bytes[size_t(buffer)].row > 0; }
};
void append_statement(const ops::LoopStatement& s, int64_t steps, const StatementContext&, RegionCode&);

}  // namespace cs::autogen
