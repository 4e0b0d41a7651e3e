// What instructions do to values; no timing, no queues (the engine around it has both).
//
//   scalar    execute_scalar changes registers and memory; jump_target says where a jump goes
//   elements  element_op gives the function of one vector element on raw bits, with operand widths and flops;
//   the
//             engine walks DSDs and calls it once per element
//   vectors   execute_memory_vector does a whole 1-D operation whose operands are memory and scalars in tight
//   loops,
//             with exactly the element-by-element result, also when destination and sources overlap
//
// Reductions. A vector instruction whose destination is a register and whose A operand is a register or
// literal while B is a DSR accumulates: a is the running value, A at first, then what the element function
// returned; the last one is the destination's new value (is_reduction). With a register destination and a DSR
// as A (moves, conversions, max of two vectors) the last element wins.
//
// Carry. add16 and addc16 return the carry in bit 16 of the element function's result, in vectors as well;
// addc16 takes the carry in as bit 16 of `b`. With no element executed the carry stays.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <optional>
#include <span>

#include "runtime/isa/isa.h"
#include "runtime/numerics/fp16_format.h"

namespace cs::sim {

struct Registers {
  std::array<uint16_t, widths::kRegisters> r{};
  bool carry = false;
  // Pair p<n> is r<n+1>:r<n>, the low half in the even register.
  uint32_t pair(int n) const { return uint32_t(r[size_t(n)]) | uint32_t(r[size_t(n) + 1]) << 16; }
  void set_pair(int n, uint32_t value) {
    r[size_t(n)] = uint16_t(value);
    r[size_t(n) + 1] = uint16_t(value >> 16);
  }
};

// Memory as instructions see it: the bytes at addresses [low, end); any range of bytes is one that begins at 0.
struct MemoryView {
  uint8_t* bytes = nullptr;  // at `low`
  uint32_t low = 0, end = 0;
  MemoryView(uint8_t* b, uint32_t from, uint32_t to) : bytes(b), low(from), end(to) {}
  template <class Bytes>
    requires std::convertible_to<Bytes&, std::span<uint8_t>>
  MemoryView(Bytes& range) : bytes(std::span<uint8_t>(range).data()), end(uint32_t(std::span<uint8_t>(range).size())) {}
  uint8_t* at(uint32_t address) const { return bytes + (address - low); }
};

// The value of one element, or of a scalar instruction. Raw bits in and out; 16-bit values in the low half,
// upper half zero (bit 16: carry, see above).
using ElementFn = uint32_t (*)(uint32_t a, uint32_t b, uint32_t s, uint32_t dst_old);

enum class ExecFault : uint8_t { none, out_of_bounds, misaligned, illegal };

struct ScalarResult {
  ExecFault fault = ExecFault::none;
  uint32_t address = 0;  // of the access that faulted
  uint8_t flops = 0;     // 2 for a fused multiply-add
};

// Every row without DSR operands whose cost is alu, fp, load, store or divide. Anything else is `illegal`,
// and so is an operand kind that the linker should have resolved. Addresses are base + offset modulo 65536;
// accesses of 2 and 4 bytes need an even one. After a fault nothing has changed.
ScalarResult execute_scalar(const isa::Inst&, Registers&, MemoryView, Fp16Format);

// The same in two steps, for those who run an instruction often: plan once, execute many times. An operand is
// read as (4 bytes of the register file at `offset`) & mask | literal, so that its kind costs no branch.
struct ScalarOperand {
  uint8_t offset = 0;  // in bytes; a register is 2
  uint32_t mask = 0, literal = 0;
};
struct ScalarPlan {
  enum class Kind : uint8_t { illegal, value, load, store } kind = Kind::illegal;
  uint8_t dst_offset = 0, dst_bytes = 0;  // where the result goes in the register file
  uint8_t bytes = 0;                      // of the memory access
  uint8_t flops = 0;
  bool sets_carry = false, uses_carry = false;
  ElementFn fn = nullptr;
  ScalarOperand a, b, s;  // load: a base, b offset; store: s the value as well
};
ScalarPlan plan_scalar(const isa::Inst&, Fp16Format);
ScalarResult execute_plan(const ScalarPlan&, Registers&, MemoryView);

// Rows of cost jump: the instruction index to continue at, nullopt when the jump is not taken (or not a
// jump). `next` is the index after this instruction: what jal and jalv store. Ends of tasks come as
// isa::kReturnToScheduler.
std::optional<int32_t> jump_target(const isa::Inst&, Registers&, int32_t next);

// Value of a register, pair or literal operand as raw bits; `bytes` (2 or 4) cuts it. Other kinds give 0.
inline uint32_t operand_value(const isa::Operand& a, const Registers& registers, int bytes) {
  uint32_t value = 0;
  if (a.kind == isa::OperandKind::reg) value = registers.r[size_t(a.value)];
  if (a.kind == isa::OperandKind::pair) value = registers.pair(a.value);
  if (a.kind == isa::OperandKind::imm) value = uint32_t(a.value);
  return bytes == 2 ? value & 0xFFFF : value;
}

// ---- elements

struct ElementOp {
  ElementFn fn = nullptr;                                        // nullptr: the row has no value function
  uint8_t dst_bytes = 0, a_bytes = 0, b_bytes = 0, s_bytes = 0;  // 0: no such operand
  uint8_t flops = 0;                                             // per element
  bool vector = false;                                           // DSR operands are allowed
  bool sets_carry = false, uses_carry = false;
};
const ElementOp& element_op(isa::Op, Fp16Format);

// The positions of A, B and S in Inst::args follow the form: args[0] destination, args[1] A, args[2] B,
// args[3] S. fscaleh and fscales have their exponent in args[2], as b.
bool is_reduction(const isa::Inst&);

// ---- whole vectors over memory

struct VectorOperand {
  bool memory = false;
  uint16_t base = 0;         // byte address of element 0
  int32_t stride_bytes = 0;  // 0: the same element every time
  uint32_t bits = 0;         // value when not in memory; destination: receives the last result
};

struct MemoryVector {
  VectorOperand dst, a, b;
  uint32_t s = 0;
  uint32_t count = 0;
  bool reduction = false;  // see is_reduction; a.bits is the running value
};

struct VectorResult {
  ExecFault fault = ExecFault::none;
  uint32_t address = 0;   // of the access that faulted
  uint32_t executed = 0;  // elements done before the fault; count without one
};

// Elements in order 0 … count-1; dst.bits and `carry` are updated.
VectorResult execute_memory_vector(isa::Op, MemoryVector&, MemoryView, Fp16Format, bool& carry);

}  // namespace cs::sim
