// The table of element functions: the lists of {integer,single,half}.cpp joined with the operand widths
// of the instruction table, once per 16-bit format.
#include "simulator/exec/tables.h"

namespace cs::sim {
namespace {

using isa::Op;
using OpTable = std::array<ElementOp, size_t(Op::count)>;

ElementOp describe(const NamedFn& named) {
  const Op op = named.op;
  ElementOp e;
  e.fn = named.fn;
  e.flops = named.flops;
  e.dst_bytes = uint8_t(isa::operand_bytes(op, 0));
  e.a_bytes = uint8_t(isa::operand_bytes(op, 1));
  e.b_bytes = uint8_t(isa::operand_bytes(op, 2));
  e.s_bytes = uint8_t(isa::operand_bytes(op, 3));
  if (op == Op::imov16 || op == Op::imov32)
    e.a_bytes = e.dst_bytes;  // the literal of the form is no value operand
  e.vector = isa::has_vector_form(op);
  e.uses_carry = op == Op::addc16;
  e.sets_carry = op == Op::add16 || op == Op::addc16;
  return e;
}

std::array<OpTable, kFp16Formats> build() {
  std::array<OpTable, kFp16Formats> tables;
  for (int format = 0; format < kFp16Formats; ++format)
    for (auto list : {integer_functions(), single_functions(), half_functions(Fp16Format(format))})
      for (const NamedFn& named : list) tables[size_t(format)][size_t(named.op)] = describe(named);
  return tables;
}

}  // namespace

const ElementOp& element_op(Op op, Fp16Format format) {
  static const std::array<OpTable, kFp16Formats> kTables = build();
  return kTables[size_t(format)][size_t(op)];
}

bool is_reduction(const isa::Inst& inst) {
  using isa::OperandKind;
  const auto scalar = [](const isa::Operand& a) {
    return a.kind == OperandKind::reg || a.kind == OperandKind::pair || a.kind == OperandKind::imm;
  };
  return isa::has_vector_form(inst.op) && scalar(inst.args[0]) && scalar(inst.args[1]) &&
         inst.args[2].is_dsr();
}

}  // namespace cs::sim
