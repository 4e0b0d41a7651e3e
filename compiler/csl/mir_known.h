// What pass `values` knows at one point of a function: which value each register holds, what memory and DSRs
// hold.
#pragma once

#include <vector>

#include "compiler/csl/mir_passes.h"
#include "compiler/csl/mir_value_table.h"

namespace cs::csl::mir {

// File and number of a DSR as one number.
inline int32_t dsr_key(const isa::Operand& o) { return int32_t(o.kind) * 256 + o.value; }

class Known {
 public:
  struct Cell {
    Place place;
    ValueId value = 0;
    bool operator==(const Cell&) const = default;
  };
  struct Dsr {
    int32_t key = 0;
    Place place;  // of the descriptor that it was loaded with
    int32_t config = 0;
    bool operator==(const Dsr&) const = default;
  };

  Known(const Context& c, int registers) : registers(size_t(registers)), context_(&c) {}

  std::vector<ValueId> registers;  // 0: nothing is known
  std::vector<Dsr> dsrs;

  void meet(const Known& other);  // what holds in both
  void remember(const Place&, ValueId);
  ValueId content(const Place&) const;  // 0: not known
  void forget(const Place&);            // something else may be there now
  // A call is a fence for variables: only what is local to the function stays known. A vector instruction is
  // one for what pointers reach, and for descriptors (decision 28).
  void fence(bool call);
  void forget_dsr(int32_t key);
  void walk(const isa::Inst&);  // a vector instruction has used its DSRs

 private:
  const Context* context_;
  std::vector<Cell> cells_;
};

}  // namespace cs::csl::mir
