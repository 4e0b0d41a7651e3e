// Scalar instructions: registers and memory.
//   plan     check the operands once; note where each comes from and which function computes
//   execute  read the operands, call the function, write the destination; loads and stores check the address
// Jumps are answered by jump_target.
#include <cstddef>
#include <tuple>

#include "simulator/exec/plan.h"

namespace cs::sim {
namespace {

using isa::Cost;
using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;

constexpr int kRegisters = int(std::tuple_size_v<decltype(Registers::r)>);

// Operands are read as 4 bytes; the bytes behind the last register belong to the struct as well.
static_assert(offsetof(Registers, r) == 0 && sizeof(Registers) >= kRegisters * 2 + 2);

bool is_register(const Operand& a) {
  if (a.kind == OperandKind::reg) return a.value >= 0 && a.value < kRegisters;
  return a.kind == OperandKind::pair && a.value >= 0 && a.value + 1 < kRegisters && a.value % 2 == 0;
}

// `bytes` is the width that the instruction reads: 0 nothing. False if the operand cannot be read.
bool plan_operand(const Operand& a, int bytes, ScalarOperand& out) {
  if (bytes == 0) return true;
  const uint32_t cut = bytes == 4 ? ~0u : 0xFFFFu;
  if (a.kind == OperandKind::imm) {
    out = {0, 0, uint32_t(a.value) & cut};
    return true;
  }
  out = {uint8_t(a.value * 2), a.kind == OperandKind::pair ? cut : 0xFFFFu, 0};
  return is_register(a);
}

bool plan_destination(const Operand& a, ScalarPlan& plan) {
  plan.dst_offset = uint8_t(a.value * 2);
  plan.dst_bytes = a.kind == OperandKind::pair ? 4 : 2;
  return is_register(a);
}

bool plan_value(const Inst& inst, Fp16Format format, ScalarPlan& plan) {
  const ElementOp& op = element_op(inst.op, format);
  plan.kind = ScalarPlan::Kind::value;
  plan.fn = op.fn;
  plan.flops = op.flops;
  plan.sets_carry = op.sets_carry;
  plan.uses_carry = op.uses_carry;
  return op.fn != nullptr && plan_destination(inst.args[0], plan) &&
         plan_operand(inst.args[1], op.a_bytes, plan.a) && plan_operand(inst.args[2], op.b_bytes, plan.b) &&
         plan_operand(inst.args[3], op.s_bytes, plan.s);
}

int access_bytes(Op op) {
  if (op == Op::ld8 || op == Op::st8) return 1;
  return op == Op::ld32 || op == Op::st32 ? 4 : 2;
}

bool plan_access(const Inst& inst, bool load, ScalarPlan& plan) {
  const size_t at = load ? 1 : 0;  // position of the base; the offset follows
  plan.kind = load ? ScalarPlan::Kind::load : ScalarPlan::Kind::store;
  plan.bytes = uint8_t(access_bytes(inst.op));
  if (inst.args[at + 1].kind != OperandKind::imm) return false;
  if (!plan_operand(inst.args[at], 2, plan.a) || !plan_operand(inst.args[at + 1], 4, plan.b)) return false;
  return load ? plan_destination(inst.args[0], plan) : plan_operand(inst.args[2], 4, plan.s);
}

void link(const Operand& dst, Registers& registers, int32_t next) {
  if (dst.kind == OperandKind::reg) registers.r[size_t(dst.value) % kRegisters] = uint16_t(next);
}

}  // namespace

ScalarPlan plan_scalar(const Inst& inst, Fp16Format format) {
  ScalarPlan plan;
  bool ok = false;
  switch (isa::row(inst.op).cost) {
    case Cost::load:
      ok = plan_access(inst, true, plan);
      break;
    case Cost::store:
      ok = plan_access(inst, false, plan);
      break;
    case Cost::alu:
    case Cost::fp:
    case Cost::divide:
      ok = plan_value(inst, format, plan);
      break;
    default:
      break;
  }
  return ok ? plan : ScalarPlan{};
}

ScalarResult execute_plan(const ScalarPlan& plan, Registers& registers, MemoryView memory) {
  return execute_plan_inline(plan, registers, memory);
}

ScalarResult execute_scalar(const Inst& inst, Registers& registers, MemoryView memory,
                            Fp16Format format) {
  return execute_plan(plan_scalar(inst, format), registers, memory);
}

std::optional<int32_t> jump_target(const Inst& inst, Registers& registers, int32_t next) {
  const auto value = [&](size_t i) { return operand_value(inst.args[i], registers, 2); };
  switch (inst.op) {
    case Op::jmp:
      return inst.args[0].value;
    case Op::jmpt:
      return value(0) != 0 ? std::optional(inst.args[1].value) : std::nullopt;
    case Op::jmpf:
      return value(0) == 0 ? std::optional(inst.args[1].value) : std::nullopt;
    case Op::jv:
      return int32_t(value(0));
    case Op::jal:
      link(inst.args[0], registers, next);
      return inst.args[1].value;
    case Op::jalv: {
      const int32_t target = int32_t(value(1));  // before the link: both may be one register
      link(inst.args[0], registers, next);
      return target;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace cs::sim
