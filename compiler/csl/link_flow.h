// Control flow and liveness of one function.
//
// Registers are numbered densely: below kFixed those of the machine, then the virtual ones in order of
// appearance. Positions are 2 * line for what a line reads and 2 * line + 1 for what it writes; a live
// segment is [begin, end) of positions.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/csl/link.h"

namespace cs::csl::link {

struct BasicBlock {
  uint32_t first = 0, last = 0;  // lines [first, last)
  std::vector<uint32_t> successors;
};

struct Segment {
  uint32_t begin = 0, end = 0;
};

struct Register {
  int number = 0;  // operand value
  bool pair = false;
  double weight = 0;  // reads and writes, times ten for every loop around them
  uint32_t reads = 0, writes = 0;
  std::vector<Segment> segments;  // ascending, disjoint
};

struct Flow {
  std::vector<BasicBlock> blocks;
  std::vector<double> frequency;  // by line
  std::vector<Register> registers;
  std::vector<int32_t> dense;  // operand value -> index in registers, -1: unused
  // Registers (dense, virtual) that are live across each call; parallel to `calls`.
  std::vector<uint32_t> calls;
  std::vector<std::vector<uint32_t>> live_across;
};

std::vector<BasicBlock> find_blocks(const Code&);
Flow analyse_flow(const Function&);

}  // namespace cs::csl::link
