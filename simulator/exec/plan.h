// Executing a planned scalar instruction, for loops that do nothing else (exec.h says what a plan is).
#pragma once

#include <cstring>

#include "simulator/exec/exec.h"
#include "simulator/exec/memory.h"

namespace cs::sim {

inline uint32_t read_operand(const ScalarOperand& a, const Registers& registers) {
  uint32_t word;
  std::memcpy(&word, reinterpret_cast<const uint8_t*>(&registers) + a.offset, 4);
  return (word & a.mask) | a.literal;
}

inline void write_result(const ScalarPlan& plan, Registers& registers, uint32_t value) {
  store_bits(reinterpret_cast<uint8_t*>(&registers) + plan.dst_offset, plan.dst_bytes == 4 ? 4 : 2, value);
}

// The address of a load or store.
inline uint32_t planned_address(const ScalarPlan& plan, const Registers& registers) {
  return (read_operand(plan.a, registers) + plan.b.literal) & 0xFFFF;
}

// As execute_plan.
[[gnu::always_inline]] inline ScalarResult execute_plan_inline(const ScalarPlan& plan, Registers& registers,
                                                               MemoryView memory) {
  switch (plan.kind) {
    case ScalarPlan::Kind::value: {
      uint32_t b = read_operand(plan.b, registers);
      if (plan.uses_carry) b |= uint32_t(registers.carry) << 16;
      const uint32_t result = plan.fn(read_operand(plan.a, registers), b, read_operand(plan.s, registers), 0);
      if (plan.sets_carry) registers.carry = (result >> 16 & 1) != 0;
      write_result(plan, registers, result);
      return {ExecFault::none, 0, plan.flops};
    }
    case ScalarPlan::Kind::load: {
      const uint32_t address = planned_address(plan, registers);
      if (const ExecFault fault = check_access(address, plan.bytes, memory); fault != ExecFault::none)
        return {fault, address, 0};
      write_result(plan, registers, load_bits(memory.at(address), plan.bytes));
      return {};
    }
    case ScalarPlan::Kind::store: {
      const uint32_t address = planned_address(plan, registers);
      if (const ExecFault fault = check_access(address, plan.bytes, memory); fault != ExecFault::none)
        return {fault, address, 0};
      store_bits(memory.at(address), plan.bytes, read_operand(plan.s, registers));
      return {};
    }
    case ScalarPlan::Kind::illegal:
      break;
  }
  return {ExecFault::illegal, 0, 0};
}

}  // namespace cs::sim
