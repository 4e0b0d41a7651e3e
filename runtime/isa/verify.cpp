// Checks an instruction of a Program against its row: operand kinds, register widths and numbers, DSR
// numbers, ids in configuration words, ranges of literals. Operands that only the compiler knows are
// rejected.
#include <fmt/format.h>

#include "runtime/isa/dsd.h"
#include "runtime/isa/isa.h"

namespace cs::isa {
namespace {

std::string_view kind_name(OperandKind kind) {
  constexpr std::string_view kNames[] = {"nothing",
                                         "a register",
                                         "a register pair",
                                         "a destination DSR",
                                         "a source-0 DSR",
                                         "a source-1 DSR",
                                         "a literal",
                                         "a label",
                                         "an unresolved global",
                                         "an unresolved slot",
                                         "an unresolved function"};
  return size_t(kind) < std::size(kNames) ? kNames[size_t(kind)] : "an unknown kind";
}

// The kinds that a letter of the form accepts; `reg` stands for a register of the operand's width.
struct Accepts {
  bool reg = false, imm = false, label = false, dest = false, src0 = false, src1 = false;
};

Accepts accepts(char letter) {
  switch (letter) {
    case 'V':
      return {.reg = true, .dest = true, .src0 = true};
    case 'A':
      return {.reg = true, .imm = true, .dest = true, .src0 = true, .src1 = true};
    case 'B':
      return {.reg = true, .imm = true, .src1 = true};
    case 'S':
    case 'r':
    case 'p':
    case 'M':
      return {.reg = true, .imm = true};
    case 'R':
    case 'P':
      return {.reg = true};
    case 'I':
    case 'C':
      return {.imm = true};
    case 'L':
    case 'F':
      return {.label = true};
    case 'D':
      return {.dest = true};
    case '0':
      return {.src0 = true};
    case '1':
      return {.src1 = true};
    default:
      return {};
  }
}

bool accepted(const Accepts& ok, OperandKind kind, bool wide) {
  switch (kind) {
    case OperandKind::reg:
      return ok.reg && !wide;
    case OperandKind::pair:
      return ok.reg && wide;
    case OperandKind::imm:
      return ok.imm;
    case OperandKind::label:
      return ok.label;
    case OperandKind::dest:
      return ok.dest;
    case OperandKind::src0:
      return ok.src0;
    case OperandKind::src1:
      return ok.src1;
    default:
      return false;
  }
}

std::string check_number(const Operand& a, const Machine& m) {
  const int limit = a.is_dsr() ? m.core.dsrs_per_file : m.core.registers;
  switch (a.kind) {
    case OperandKind::reg:
    case OperandKind::dest:
    case OperandKind::src0:
    case OperandKind::src1:
      if (a.value < 0 || a.value >= limit)
        return fmt::format("number {} of {} not below {}", a.value, kind_name(a.kind), limit);
      return {};
    case OperandKind::pair:
      if (a.value < 0 || a.value + 1 >= limit)
        return fmt::format("pair p{} not below p{}", a.value, limit - 1);
      if (a.value % 2) return fmt::format("pair p{} does not begin at an even register", a.value);
      return {};
    case OperandKind::label:
      if (a.value < 0 || a.value > kReturnToScheduler) return fmt::format("label @{} out of range", a.value);
      return {};
    default:
      return {};
  }
}

std::string check_config(const Operand& a, const Machine& m) {
  const DsrConfig c = decode_config(a.value);
  if (c.microthread >= m.core.microthreads)
    return fmt::format("microthread {} not below {}", c.microthread, m.core.microthreads);
  for (int task : {int(c.activate), int(c.unblock), int(c.on_control_task)})
    if (task >= widths::kTaskIds) return fmt::format("task id {} not below {}", task, widths::kTaskIds);
  return {};
}

std::string check_literal(const Inst& inst, size_t i, const Machine& m) {
  const Operand& a = inst.args[i];
  const char letter = row(inst.op).form[i];
  if (letter == 'C') return check_config(a, m);
  if (names_config(inst, i) && !is_config_address(a.value))
    return fmt::format("no configuration register {}", a.value);
  const bool block = inst.op == Op::blk || inst.op == Op::ublk;
  if (block && letter == 'I' && (a.value < 0 || a.value > 1))
    return fmt::format("{} is neither 0 nor 1", a.value);
  const bool wide = operand_bytes(inst.op, int(i)) == 4 || inst.op == Op::imov32;
  if (!wide && (a.value < -32768 || a.value > 65535))
    return fmt::format("literal {} does not fit 16 bits", a.value);
  return {};
}

std::string check_operand(const Inst& inst, size_t i, const Machine& m) {
  const Operand& a = inst.args[i];
  const char letter = row(inst.op).form[i];
  const bool wide = operand_bytes(inst.op, int(i)) == 4;
  if (!accepted(accepts(letter), a.kind, wide)) {
    const bool reg = a.kind == OperandKind::reg || a.kind == OperandKind::pair;
    if (reg && accepts(letter).reg)
      return wide ? "needs a register pair, has a register" : "needs a register, has a pair";
    return fmt::format("cannot be {}", kind_name(a.kind));
  }
  if (a.extra != 0) return "has a byte offset";
  if (a.kind == OperandKind::imm) return check_literal(inst, i, m);
  return check_number(a, m);
}

}  // namespace

std::string verify(const Inst& inst, const Machine& machine) {
  if (inst.op >= Op::count) return fmt::format("no instruction {}", int(inst.op));
  const Row& r = row(inst.op);
  for (size_t i = 0; i < inst.args.size(); ++i) {
    if (i >= r.form.size()) {
      if (inst.args[i] != Operand{})
        return fmt::format("{} has {} operands, not more", r.mnemonic, r.form.size());
      continue;
    }
    const std::string problem = check_operand(inst, i, machine);
    if (!problem.empty()) return fmt::format("operand {} of {}: {}", i + 1, r.mnemonic, problem);
  }
  return {};
}

}  // namespace cs::isa
