// The tile instruction set: one table (isa.def), one instruction struct, one assembly form.
//
// The mnemonics and the operand roles follow the public record of the hardware (docs/isa.md); the encoding is
// ours. An instruction whose operands are registers is scalar; the same mnemonic with DSR operands walks vectors
// and is the whole loop. The compiler's back end uses the same struct with virtual registers and symbolic
// operands (kinds after `label`), which never reach a Program.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/isa/config_space.h"
#include "runtime/machine/machine.h"
#include "runtime/support/diag.h"

namespace cs::isa {

enum class Op : uint16_t {
#define CS_ISA(id, mnemonic, form, type, cost, bytes2, bytes3, summary) id,
#include "runtime/isa/isa.def"
#undef CS_ISA
  count
};

// How an instruction is timed; the numbers are machine keys (docs/timing.md).
enum class Cost : uint8_t { alu, fp, load, store, jump, dsr, divide, task, config };

// What the elements of the operands are: result type and, where it differs, source type.
enum class Type : uint8_t { none, i16, i32, f16, f32, f16_to_f32, f32_to_f16, i16_to_f16, i16_to_f32, f16_to_i16,
                            f32_to_i16, i32_to_f32, f32_to_i32, u16_to_f32, u32_to_f32, f32_to_u16, f32_to_u32,
                            f16_f32 /* f16 sources, f32 result and accumulator */ };

enum class OperandKind : uint8_t {
  none,
  reg,    // 16-bit register r0, r1, ...; the last one of the machine holds return addresses
  pair,   // 32-bit register pair, value = its even register: p0, p2, ...
  dest,   // entry of the destination DSR file
  src0,   // entry of the source-0 DSR file
  src1,   // entry of the source-1 DSR file
  imm,    // literal; floats as their bit pattern
  label,  // instruction index (in the compiler: label number)
  // Only inside the compiler; the linker resolves them.
  global,    // address of MIR global `value` plus `extra`
  slot,      // address of frame slot `value` plus `extra`
  function,  // entry of MIR function `value`
};

struct Operand {
  OperandKind kind = OperandKind::none;
  int32_t value = 0;
  int32_t extra = 0;  // byte offset for global and slot
  bool operator==(const Operand&) const = default;
  bool is_dsr() const {
    return kind == OperandKind::dest || kind == OperandKind::src0 || kind == OperandKind::src1;
  }
};

// Virtual registers (compiler only): reg and pair operands with value >= kFirstVirtual.
inline constexpr int kFirstVirtual = 64;
// The register of return addresses: in the compiler's middle form a number of its own, in tile code the last one.
inline constexpr int kLinkRegister = kFirstVirtual - 1;
static_assert(kLinkRegister >= widths::kRegisters);
inline int link_register(const Machine& m) { return m.core.registers - 1; }
// Jumping to this instruction index ends the task (a launched function returns there).
inline constexpr int32_t kReturnToScheduler = 0xFFFF;

struct Inst {
  Op op{};
  std::array<Operand, 4> args{};  // in the order of the row's form; args[0] is the destination if there is one
  bool operator==(const Inst&) const = default;
  // Walks vectors: an operand is a DSR, and the instruction is not a load of one.
  bool is_vector() const;
};

// One row of the table. `form` has one letter per operand:
//   V destination: dest DSR, or register of the result width      A source 0: any DSR, register, imm
//   B source 1: src1 DSR, register, imm                           S scalar multiplier: register, imm
//   R 16-bit register written    P pair written    r 16-bit register or imm read    p pair or imm read
//   M memory: base (reg, imm, global, slot)        I immediate    L label    F function
//   D dest DSR   0 src0 DSR   1 src1 DSR   C DSR configuration (imm, see dsd.h)
struct Row {
  std::string_view name;      // enumerator
  std::string_view mnemonic;  // lower case, as in assembly
  std::string_view form;
  Type type;
  Cost cost;
  uint8_t bytes_wse2, bytes_wse3;
  std::string_view summary;   // semantics in one line
};

const Row& row(Op op);
const std::array<Row, size_t(Op::count)>& table();
std::optional<Op> op_from_mnemonic(std::string_view mnemonic);
// Operand `index` is the address of a configuration register (config_space.h).
bool names_config(const Inst&, size_t index);
int bytes(Op op, Arch arch);
// Width of operand `index` of the row's form as a value: 4 (pair, or 32-bit elements), 2 (register, or 16-bit
// elements), 0 for operands that are not values (M I L F D 0 1 C) and beyond the form.
int operand_bytes(Op op, int index);
// The row's form begins with V: the mnemonic exists with DSR operands.
bool has_vector_form(Op op);

// Assembly: "fadds d1, s0_1, s1_1" / "ld16 r2, [r3+4]" / "jmpt r1, @12" / "lddds d0, [96], {async activate=8 ut=2}".
// 32-bit float literals are printed as bits in hexadecimal. Inside the compiler: "global3:4" (number, byte
// offset), "slot2", "fn5". kReturnToScheduler is "@end". parse_inst(print(i)) == i.
std::string print(const Inst&);
std::optional<Inst> parse_inst(std::string_view text, SourceLoc where, Diag&);
// Operand kinds and register numbers against the row. Returns an empty string or what is wrong.
std::string verify(const Inst&, const Machine&);

}  // namespace cs::isa
