// What the code of statements costs on a machine. Statements of PEs, of ways to cut a region and of regions that have
// an operator in common are much alike, and their code is text that nobody reads: each is written once.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>

#include "compiler/autogen/region.h"
#include "runtime/machine/machine.h"

namespace cs::autogen {

struct StatementCost {
  double cycles = 0;
  int64_t scratch_words = 0;
  size_t lines = 0, short_lines = 0;  // as in RegionCode
  bool uses_math = false;
};

class StatementCosts {
 public:
  explicit StatementCosts(const Machine& machine) : machine_(machine) {}
  const Machine& machine() const { return machine_; }
  // Of a statement of this region in its local form, in a block of so many steps, with constants in bytes
  // (byte_rows.h). May be called by several threads.
  StatementCost of(const Region&, const ops::LoopStatement&, int64_t steps, const std::vector<ByteRows>&);

 private:
  const Machine machine_;
  std::mutex mutex_;
  std::unordered_map<std::string, StatementCost> known_;
};

}  // namespace cs::autogen
