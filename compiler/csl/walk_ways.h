// Two ways behind a branch that depends on data: which has more to do, by the instructions that are written
// there.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"

namespace cs::csl {

class WalkWays {
 public:
  WalkWays(const TileProgram&, const Machine&);
  // What is jumped to costs more than what follows. Of what may only be left out: no.
  bool other_is_dearer(uint32_t branch, uint32_t target) const;

 private:
  // Instructions [from, to), each once; of a call its function too, so deep.
  uint64_t cost(uint32_t from, uint32_t to, int depth = 0) const;
  uint32_t end_of_function(uint32_t at) const;

  const TileProgram& tile_;
  const Machine::Core& core_;
  std::vector<uint32_t> entries_;  // of functions and tasks, in order
};

}  // namespace cs::csl
