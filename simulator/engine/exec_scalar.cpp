// Scalar instructions: registers and memory. A row with an element function reads its operands, calls it and
// writes the destination; loads and stores check the address first; jumps are answered by jump_target.
#include "simulator/engine/exec.h"
#include "simulator/engine/exec_memory.h"

namespace cs::sim {
namespace {

using isa::Cost;
using isa::Inst;
using isa::Op;
using isa::Operand;
using isa::OperandKind;

bool is_register(const Operand& a, const Registers& registers) {
  const int count = int(registers.r.size());
  if (a.kind == OperandKind::reg) return a.value >= 0 && a.value < count;
  return a.kind == OperandKind::pair && a.value >= 0 && a.value + 1 < count && a.value % 2 == 0;
}

bool is_value(const Operand& a, const Registers& registers) {
  return a.kind == OperandKind::imm || is_register(a, registers);
}

void write(const Operand& dst, Registers& registers, uint32_t value) {
  if (dst.kind == OperandKind::pair)
    registers.set_pair(dst.value, value);
  else
    registers.r[size_t(dst.value)] = uint16_t(value);
}

constexpr ScalarResult kIllegal{ExecFault::illegal, 0, 0};

// Reads an operand that the instruction has (bytes > 0); false if it is none that a scalar instruction can
// read.
bool read(const Operand& a, int bytes, const Registers& registers, uint32_t& value) {
  if (bytes == 0) return true;
  value = operand_value(a, registers, bytes);
  return is_value(a, registers);
}

ScalarResult compute(const Inst& inst, const ElementOp& op, Registers& registers) {
  uint32_t a = 0, b = 0, s = 0;
  if (op.fn == nullptr || !is_register(inst.args[0], registers)) return kIllegal;
  if (!read(inst.args[1], op.a_bytes, registers, a) || !read(inst.args[2], op.b_bytes, registers, b) ||
      !read(inst.args[3], op.s_bytes, registers, s))
    return kIllegal;
  if (op.uses_carry) b |= uint32_t(registers.carry) << 16;
  const uint32_t result = op.fn(a, b, s, 0);
  if (op.sets_carry) registers.carry = (result >> 16 & 1) != 0;
  write(inst.args[0], registers, result);
  return {ExecFault::none, 0, op.flops};
}

int access_bytes(Op op) {
  if (op == Op::ld8 || op == Op::st8) return 1;
  return op == Op::ld32 || op == Op::st32 ? 4 : 2;
}

ScalarResult access(const Inst& inst, Registers& registers, std::span<uint8_t> memory) {
  const bool load = isa::row(inst.op).cost == Cost::load;
  const size_t at = load ? 1 : 0;  // position of the base; the offset follows
  const Operand& base = inst.args[at];
  const Operand& offset = inst.args[at + 1];
  const Operand& value = load ? inst.args[0] : inst.args[2];
  if (!is_value(base, registers) || offset.kind != OperandKind::imm) return kIllegal;
  if (load ? !is_register(value, registers) : !is_value(value, registers)) return kIllegal;
  const int bytes = access_bytes(inst.op);
  const uint32_t address = (operand_value(base, registers, 2) + uint32_t(offset.value)) & 0xFFFF;
  const ExecFault fault = check_access(address, bytes, memory.size());
  if (fault != ExecFault::none) return {fault, address, 0};
  if (load)
    write(value, registers, load_bits(memory.data() + address, bytes));
  else
    store_bits(memory.data() + address, bytes, operand_value(value, registers, 4));
  return {};
}

}  // namespace

ScalarResult execute_scalar(const Inst& inst, Registers& registers, std::span<uint8_t> memory,
                            Fp16Format format) {
  switch (isa::row(inst.op).cost) {
    case Cost::load:
    case Cost::store:
      return access(inst, registers, memory);
    case Cost::alu:
    case Cost::fp:
    case Cost::divide:
      return compute(inst, element_op(inst.op, format), registers);
    default:
      return kIllegal;
  }
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
      write(inst.args[0], registers, uint32_t(next));
      return inst.args[1].value;
    case Op::jalv: {
      const int32_t target = int32_t(value(1));  // before the link: both may be one register
      write(inst.args[0], registers, uint32_t(next));
      return target;
    }
    default:
      return std::nullopt;
  }
}

}  // namespace cs::sim
