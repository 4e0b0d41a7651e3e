// Editing of instruction lists, and small facts about instructions.
#include "compiler/csl/link.h"

namespace cs::csl::link {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

void Rewriter::finish() {
  starts_.back() = uint32_t(out_.size());
  for (size_t i = starts_.size() - 1; i-- > 0;)
    if (starts_[i] == ~0u) starts_[i] = starts_[i + 1];
  for (uint32_t& label : code_.labels) label = starts_[label];
  code_.lines = std::move(out_);
}

Operand reg(int number) { return {OperandKind::reg, number, 0}; }
Operand pair(int number) { return {OperandKind::pair, number, 0}; }
Operand imm(int32_t value) { return {OperandKind::imm, value, 0}; }

isa::Inst make(Op op, Operand a, Operand b, Operand c, Operand d) {
  isa::Inst inst;
  inst.op = op;
  inst.args = {a, b, c, d};
  return inst;
}

// Loads are pure here: a load whose value nobody uses may go. The carry makes add16 and addc16 impure.
bool is_pure(Op op) {
  switch (isa::row(op).cost) {
    case isa::Cost::alu:
      return op != Op::add16 && op != Op::addc16;
    case isa::Cost::fp:
    case isa::Cost::load:
    case isa::Cost::divide:
      return true;
    default:
      return false;
  }
}

bool falls_through(const isa::Inst& inst) {
  return inst.op != Op::jmp && inst.op != Op::jv && inst.op != Op::yield && inst.op != Op::trap;
}

Operand* jump_target(isa::Inst& inst) {
  if (inst.op == Op::jmp) return &inst.args[0];
  if (inst.op == Op::jmpt || inst.op == Op::jmpf) return &inst.args[1];
  return nullptr;
}

bool is_memory(Op op) {
  return op == Op::ld8 || op == Op::ld16 || op == Op::ld32 || op == Op::st8 || op == Op::st16 ||
         op == Op::st32;
}

}  // namespace cs::csl::link
