// Instructions of the main thread: wait for the operands (scoreboard of registers and descriptor registers), carry out,
// note when the result may be used and when the next one may issue.
#include <algorithm>

#include "runtime/isa/trap.h"
#include "simulator/exec/memory.h"
#include "simulator/systemc/structural/core.h"

namespace cs::sim::structural {

using Kind = Instruction::Kind;

Cycle Core::operands_ready(const Instruction& i, Cycle t) {
  for (size_t r = 0; r < state_.reg_ready.size(); ++r)
    if (i.reads >> r & 1) t = std::max(t, state_.reg_ready[r] + Cycle(i.cycles.condition));
  if (i.kind == Kind::vector)
    for (const isa::Operand& o : i.inst.args)
      if (o.is_dsr()) t = std::max(t, state_.dsr(o).ready);
  return t;
}

// A register that the fabric sees or changes.
bool Core::is_seen(const Instruction& i) const {
  if (i.kind == Kind::write_config) return true;
  if (i.kind == Kind::read_config) return ConfigRegisters::is_of_fabric(state_.value16(i.inst.args[1]));
  if (i.kind != Kind::scalar || i.plan.kind == ScalarPlan::Kind::value || state_.tile.opens_colors == 0) return false;
  const size_t base = i.plan.kind == ScalarPlan::Kind::load ? 1 : 0;
  return config_.is_mapped((state_.value16(i.inst.args[base]) + uint32_t(i.inst.args[base + 1].value)) & 0xFFFF);
}

// What others see of an operation's successors waits for its last group, although they may issue before.
bool Core::issue(Cycle t) {
  CoreState& s = state_;
  if (s.pc >= s.tile.code.size()) {
    s.fault("illegal-instruction", t, s.pc, "the program continues outside its code");
    return false;
  }
  const Instruction& i = s.tile.code[s.pc];
  const Cycle ready = operands_ready(i, t);
  if (ready > t) {
    s.ready = ready;
    return true;
  }
  if (i.kind == Kind::vector) return vectors_.issue(i, t);
  if (s.last_group > s.now() && is_seen(i)) {
    s.activity.wait_until(s.last_group);
    return false;
  }
  s.activity.act();
  ++s.instructions;
  s.ready = t + Cycle(i.cycles.next);
  return carry_out(i, t);
}

bool Core::carry_out(const Instruction& i, Cycle t) {
  CoreState& s = state_;
  bool good = true;
  switch (i.kind) {
    case Kind::jump:
      jump(i, t);
      return true;
    case Kind::yield:
      end_task(t);
      return true;
    case Kind::trap:
      s.fault(isa::trap_fault(i.inst.args[0].value), t, s.pc, isa::trap_text(i.inst.args[0].value));
      return false;
    case Kind::scalar:
      good = scalar(i, t);
      break;
    case Kind::load_dsr:
      good = load_dsr(i, t);
      break;
    case Kind::activate: {
      const int id = s.value16(i.inst.args[0]);
      good = s.check_id(id, widths::kTaskIds, "a task", t);
      if (good) s.scheduler.activate(id, t);
      break;
    }
    case Kind::block:
    case Kind::unblock:
      good = block(i, t);
      break;
    case Kind::read_config: {
      const uint16_t address = s.value16(i.inst.args[1]);
      const auto value = config_.read(address, t);
      good = value.has_value();
      if (good)
        s.regs.r[size_t(i.inst.args[0].value)] = *value;
      else
        s.fault("illegal-instruction", t, s.pc, "no configuration register " + std::to_string(address));
      s.set_result(i, t + Cycle(i.cycles.result));
      break;
    }
    case Kind::write_config: {
      const uint16_t address = s.value16(i.inst.args[0]);
      good = config_.write(address, s.value16(i.inst.args[1]), t);
      if (!good)
        s.fault("illegal-instruction", t, s.pc,
                "no configuration register " + std::to_string(address) + " at this PE can be written");
      break;
    }
    case Kind::vector:
      break;
  }
  ++s.pc;
  return good && !s.faulted;
}

bool Core::scalar(const Instruction& i, Cycle t) {
  CoreState& s = state_;
  const bool load = i.plan.kind == ScalarPlan::Kind::load;
  if (i.plan.kind != ScalarPlan::Kind::value && !s.memory.unwritten().empty()) {
    const size_t base = load ? 1 : 0;
    const int64_t at = (s.value16(i.inst.args[base]) + uint32_t(i.inst.args[base + 1].value)) & 0xFFFF;
    Unwritten& unwritten = s.memory.unwritten();
    if (!load) unwritten.mark(at, at + i.plan.bytes);
    if (load && unwritten.find(at, at + i.plan.bytes) >= 0) {
      s.fault("uninitialised-read", t, s.pc,
              "memory is read at address " + std::to_string(at) + " before anything was written there");
      return false;
    }
  }
  const ScalarResult result = execute_plan(i.plan, s.regs, s.memory.view());
  if (result.fault == ExecFault::out_of_bounds && i.plan.bytes == 2 && config_.is_mapped(result.address))
    return mapped(i, result.address, t);
  if (result.fault != ExecFault::none) {
    const bool illegal = result.fault == ExecFault::illegal;
    s.fault(illegal ? "illegal-instruction" : "out-of-bounds", t, s.pc,
            illegal ? "not an instruction: " + isa::print(i.inst)
                    : (result.fault == ExecFault::misaligned ? "misaligned access to address " : "access to address ") +
                          std::to_string(result.address) + "; the memory has " + std::to_string(s.memory.size()) +
                          " bytes");
    return false;
  }
  s.set_result(i, t + Cycle(i.cycles.result));
  return true;
}

// A load or store of a register that is shown as memory.
bool Core::mapped(const Instruction& i, uint32_t address, Cycle t) {
  CoreState& s = state_;
  if (i.plan.kind == ScalarPlan::Kind::load) {
    s.regs.r[size_t(i.inst.args[0].value)] = config_.read_mapped(address, t);
  } else if (!config_.write_mapped(address, s.value16(i.inst.args[2]), t)) {
    s.fault("illegal-instruction", t, s.pc,
            "color " + std::to_string(mapped_color(address)) + " has no route at this PE");
    return false;
  }
  s.set_result(i, t + Cycle(i.cycles.result));
  return true;
}

void Core::jump(const Instruction& i, Cycle t) {
  CoreState& s = state_;
  const Machine::Core& core = s.machine.core;
  const auto target = jump_target(i.inst, s.regs, int32_t(s.pc) + 1);
  s.set_result(i, t + Cycle(std::max(1, core.result_cycles)));
  if (target && *target == isa::kReturnToScheduler) return end_task(t);
  s.pc = target ? uint32_t(*target) : s.pc + 1;
  s.ready = t + Cycle(std::max(1, target ? core.jump_taken_cycles : core.jump_not_taken_cycles));
}

bool Core::load_dsr(const Instruction& i, Cycle t) {
  CoreState& s = state_;
  const uint32_t address = (s.value16(i.inst.args[1]) + uint32_t(i.inst.args[2].value)) & 0xFFFF;
  std::array<uint16_t, isa::kDsdWords> words{};
  std::array<uint8_t, 2 * isa::kDsdWords> bytes{};
  if (!s.memory.holds(address, address + isa::kDsdBytes)) {
    s.fault("out-of-bounds", t, s.pc, "descriptor at address " + std::to_string(address) + " lies outside the memory");
    return false;
  }
  s.memory.read(address, bytes);
  for (size_t k = 0; k < words.size(); ++k) words[k] = uint16_t(bytes[2 * k] | bytes[2 * k + 1] << 8);
  Dsr& target = s.dsr(i.inst.args[0]);
  target = {};
  target.dsd = isa::decode(words);
  target.config = isa::decode_config(i.inst.args[3].value);
  target.ready = t + Cycle(i.cycles.result);
  s.activity.wait_until(target.ready);
  if (target.dsd.kind != isa::DsdKind::none) return true;
  s.fault("illegal-instruction", t, s.pc, "no descriptor at address " + std::to_string(address));
  return false;
}

bool Core::block(const Instruction& i, Cycle t) {
  CoreState& s = state_;
  const bool thread = i.inst.args[0].value == 1, on = i.kind == Kind::block;
  const int id = s.value16(i.inst.args[1]);
  const int limit = thread ? s.machine.core.microthreads : widths::kTaskIds;
  if (!s.check_id(id, limit, thread ? "a microthread" : "a task", t)) return false;
  if (thread)
    s.threads_blocked = on ? s.threads_blocked | 1u << id : s.threads_blocked & ~(1u << id);
  else if (on)
    s.scheduler.block(id);
  else
    s.scheduler.unblock(id, t);
  return true;
}

}  // namespace cs::sim::structural
