// How scalar instructions are timed: by their class, and 32-bit integers in halves.
#include "runtime/isa/scalar_cycles.h"

#include <algorithm>

namespace cs::isa {
namespace {

int divide_cycles(Type type, const Machine::Core& core) {
  switch (type) {
    case Type::f32:
      return core.fp32_divide_cycles;
    case Type::f16:
      return core.fp16_divide_cycles;
    default:
      return core.int_divide_cycles;
  }
}

// Carried out in two halves: 32-bit integers and literals of 32 bits. A load, a store, a move of a pair and a
// choice between two are one instruction (decision 34), and so is a floating-point number in a pair.
bool in_halves(const Inst& inst, const Row& row) {
  if (row.type != Type::i32 || inst.is_vector() || row.cost != Cost::alu) return false;
  switch (inst.op) {
    case Op::wpack:
    case Op::ext16:
    case Op::extu16:
    case Op::imul16ud:
    case Op::imul16sd:
    case Op::mov32:
    case Op::select32:
      return false;
    default:
      return true;
  }
}

// What comparisons give is a flag, which forwards as an integer does (decision 34).
bool is_float_comparison(Op op) {
  return op == Op::feqs || op == Op::flts || op == Op::flteqs || op == Op::feqh || op == Op::flth ||
         op == Op::flteqh;
}

}  // namespace

ScalarCycles scalar_cycles(const Inst& inst, const Machine::Core& core) {
  const Row& r = row(inst.op);
  ScalarCycles c{core.issue_cycles, core.result_cycles, 0};
  switch (r.cost) {
    case Cost::fp:
      c.result = is_float_comparison(inst.op) ? core.result_cycles : core.fp_result_cycles;
      break;
    case Cost::load:
      c.result = core.load_result_cycles;
      break;
    case Cost::dsr:
      c.next = core.dsr_load_cycles;
      c.result = core.dsr_load_use_cycles;
      break;
    case Cost::divide:
      c.next = c.result = divide_cycles(r.type, core);
      break;
    case Cost::jump:
      if (inst.op == Op::jmpt || inst.op == Op::jmpf) c.condition = condition_wait(core);
      break;
    default:
      break;
  }
  if (in_halves(inst, r)) {
    c.next = std::max(c.next, core.wide_cycles);
    c.result += c.next - core.issue_cycles;
  }
  c.next = std::max(1, c.next);
  c.result = std::max(1, c.result);
  return c;
}

}  // namespace cs::isa
