// Vector operations of a walk: how many element groups of how many cycles, and whose turn it is at the
// datapath.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "compiler/csl/walk_state.h"

namespace cs::csl {

using WalkCycle = uint64_t;
inline constexpr WalkCycle kWalkNever = std::numeric_limits<WalkCycle>::max();
inline constexpr int kWalkMain = 64;  // the main thread, beside microthreads 0, 1, …

struct WalkDsr {
  isa::Dsd dsd;
  isa::DsrConfig config;
  bool known = true;
  WalkCycle ready = 0;  // an instruction that uses it may issue
};

struct WalkOp {
  uint32_t inst = 0;
  int thread = kWalkMain;
  int rank = 0;
  uint64_t left = 0;    // groups
  uint32_t cycles = 1;  // of a group
  bool holds = false;   // the datapath, for all of these
  WalkCycle issued = 0, next = 0, served = 0;
  isa::DsrConfig config;
};

// What an instruction with descriptors asks for. `known`: no extent of it is a guess.
struct WalkVector {
  uint64_t elements = 0;
  uint32_t group = 1, cycles = 1;
  bool holds = false, known = true;
  int thread = kWalkMain, rank = 0;
  int color = -1;  // of the first source on the fabric
  isa::DsrConfig config;
};

// The three files of descriptor registers.
class WalkRegisters {
 public:
  explicit WalkRegisters(const TileProgram&);
  WalkDsr& at(const isa::Operand& o);
  uint64_t signature() const;

 private:
  std::array<std::array<WalkDsr, 64>, 3> files_;
};

// Machine::simd by instruction, whose name is looked up once.
class SimdWidths {
 public:
  explicit SimdWidths(const Machine&);
  int of(isa::Op op) const { return of_[size_t(op)]; }

 private:
  std::array<int, size_t(isa::Op::count)> of_{};
};

// By docs/timing.md §6; `main_priority` is that of the main thread's register.
WalkVector walk_vector(const isa::Inst&, WalkRegisters&, const TileProgram&, const Machine&, const SimdWidths&,
                       int main_priority);
// What is in memory where it writes is not known any more; descriptors that walk on do so.
void walk_effects(const isa::Inst&, const WalkVector&, WalkRegisters&, WalkState&);

class WalkDatapath {
 public:
  explicit WalkDatapath(const Machine& machine) : machine_(machine) {}
  // At r, with the cycle x of the last group (docs/timing.md §6).
  std::function<void(const WalkOp&, WalkCycle at, WalkCycle last)> retired;

  void add(const WalkOp& op);
  bool busy(int thread) const;
  bool idle() const { return ops_.empty(); }
  // Groups that begin before `until`, but no further than the first end of an operation. False if nothing
  // ended.
  bool run(WalkCycle until);
  WalkCycle last_group() const { return last_; }
  uint64_t main_cycles = 0, async_cycles = 0;  // of the datapath
  uint64_t signature() const;

 private:
  const Machine& machine_;
  std::vector<WalkOp> ops_;
  WalkCycle free_ = 0;  // the datapath
  WalkCycle last_ = 0;
};

}  // namespace cs::csl
