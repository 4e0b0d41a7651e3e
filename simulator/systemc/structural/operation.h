// Operation: a vector instruction at work, and its operands (docs/timing.md §6).
#pragma once

#include <array>

#include "runtime/host/device.h"
#include "simulator/systemc/structural/tile.h"

namespace cs::sim::structural {

// A descriptor register.
struct Dsr {
  isa::Dsd dsd;
  isa::DsrConfig config;
  Cycle ready = 0;                // an instruction that uses it may issue
  uint32_t stepped = 0;           // single_step: elements done,
  std::array<uint16_t, 4> at{};   // and where it is in several dimensions
  uint32_t left() const { return dsd.elements() - std::min(stepped, dsd.elements()); }
};

struct Operand {
  enum class Kind : uint8_t { none, value, reg, memory, fifo, input, output } kind = Kind::none;
  int bytes = 0;           // of an element
  Dsr* dsr = nullptr;      // where it came from
  isa::Dsd dsd;            // as it was at issue
  uint32_t value = 0;      // value; reg: running result; packed: the wavelet at hand
  // memory
  int32_t address = 0;
  std::array<uint16_t, 4> at{};
  uint32_t low = 0, high = 0x10000;  // the variable that it starts in
  bool clears = false;               // what was read is set to zero
  // fabric and FIFO
  int queue = 0;  // input: index in InputQueues; output: queue; FIFO: its number
  int color = 0;  // output
  int index = 0;  // output, indexed: upper half of every wavelet
  int late = 0;   // output: ramp.fp_cycles, of what arithmetic computes
  bool packed = false, half = false;  // two elements per wavelet; the second one is next

  bool in_memory() const { return kind == Kind::memory || kind == Kind::fifo; }
  bool on_fabric() const { return kind == Kind::input || kind == Kind::output; }
  bool drops() const { return kind == Kind::input && dsd.zero != 0; }
  bool simd_64() const { return on_fabric() && dsd.simd == isa::SimdMode::simd_64; }
  bool indexed() const { return kind == Kind::output && bytes == 2 && !packed && dsd.indexed; }
  // Stride in bytes where there is one; several dimensions count as one step.
  int32_t step() const {
    if (kind == Kind::fifo || dsd.kind == isa::DsdKind::mem4d) return 1;
    return dsd.stride[0] * bytes;
  }
  void advance();  // memory: to the next element
};

struct Operation {
  const Instruction* instruction = nullptr;
  uint32_t inst = 0;
  isa::DsrConfig config;
  Operand dst, a, b;
  uint32_t scalar = 0;
  uint32_t total = 0, done = 0;
  uint32_t group = 1;  // elements of a group
  uint32_t group_cycles = 1;
  uint32_t drag = 0, dragged = 0;  // silicon: more cycles per group, in 1/65536, and what is not charged yet
  bool keeps_datapath = false;     // a group of several cycles, because of memory
  bool waits_for_others = false;   // a fabric operand or a FIFO
  bool wide = false;               // simd_64 everywhere: a group has up to two wavelets
  bool sync = false;
  bool stopped = false;  // before its last element
  int rank = 0;          // among the threads
  Cycle issued = 0;
  Cycle next = 0;    // earliest cycle of the next group
  Cycle served = 0;  // cycle of the last group

  std::array<Operand*, 3> operands() { return {&dst, &a, &b}; }
  std::array<const Operand*, 3> operands() const { return {&dst, &a, &b}; }
  // Cycles that a number of groups takes from now on; charged: they have begun.
  uint64_t span(uint64_t groups) const { return groups * group_cycles + ((dragged + groups * drag) >> 16); }
  void charge(uint64_t groups) { dragged = uint32_t((dragged + groups * drag) & 0xFFFF); }
};

}  // namespace cs::sim::structural
