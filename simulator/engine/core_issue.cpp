// The main thread: issue of one instruction after the other, each at its own cycle.
//
// issue(t): wait for the operands (scoreboard of registers and DSRs), execute, note when the result may be
// used and when the next instruction may issue. Vector instructions become operations (core_vector.cpp).

#include <algorithm>
#include <bit>

#include "runtime/isa/trap.h"
#include "simulator/engine/core.h"

namespace cs::sim {
namespace {

bool touches_memory(const Decoded& d) {
  return d.kind == InstKind::scalar && d.plan.kind != ScalarPlan::Kind::value;
}

// The byte address of a load or store: its operands are destination (loads only), base, offset.
uint32_t address_of(const isa::Inst& inst, const ScalarPlan& plan, const Registers& regs) {
  const size_t base = plan.kind == ScalarPlan::Kind::load ? 1 : 0;
  return (operand_value(inst.args[base], regs, 2) + uint32_t(inst.args[base + 1].value)) & 0xFFFF;
}

bool is_mapped(const World& world, uint32_t address) {
  return world.program.arch == Arch::wse2 && (mapped_color(address) >= 0 || mapped_counter(address));
}

}  // namespace

bool Core::is_mapped_access(const isa::Inst& inst, const Decoded& d) const {
  return touches_memory(d) && is_mapped(world_, address_of(inst, d.plan, pe_.regs));
}

void Core::run() {
  if (pe_.tile == nullptr) return;
  account_gap(now_, pe_.why, pe_.why_thread, pe_.why_queue, pe_.why_inst);
  if (pe_.active != 0) run_datapath();
  if (pe_.settings->flush_wanted != 0) check_flush();
  run_main();
  sleep();
}

void Core::run_main() {
  if (is_ahead()) return;
  for (;;) {
    if (!pe_.running) {
      if (!pick_task()) return;
      if (!pe_.running) continue;  // a wavelet for nobody was taken
    }
    if (pe_.active >> kMainThread & 1) return;
    if (pe_.waits_thread || (!logging_ && is_ahead())) return;
    if (scalars_are_plain()) {
      run_scalars();
      if (!pe_.running) continue;
    }
    if (!can_issue_at(pe_.ready) || !issue(pe_.ready)) return;
  }
}

Dsr& Core::dsr(const isa::Operand& o) {
  const size_t file = size_t(o.kind) - size_t(isa::OperandKind::dest);
  return pe_.dsrs[pe_.tile->dsr_place[file][size_t(o.value)]];
}

Cycle Core::operands_ready(const isa::Inst& inst, const Decoded& d, Cycle t) const {
  t = registers_ready(d, t);
  if (d.kind == InstKind::vector)
    for (const isa::Operand& o : inst.args)
      if (o.is_dsr()) t = std::max(t, const_cast<Core*>(this)->dsr(o).ready);
  return t;
}

bool Core::issue(Cycle t) {
  const TileImage& tile = *pe_.tile;
  if (pe_.pc >= tile.code.size()) {
    raise("illegal-instruction", t, pe_.pc, "the program continues outside its code");
    return false;
  }
  const Decoded& d = tile.code[pe_.pc];
  const isa::Inst& inst = tile.program->code[pe_.pc];
  Cycle ready = operands_ready(inst, d, t);
  if (ready > t) {
    pe_.ready = ready;
    return true;
  }
  if (d.kind == InstKind::vector) return issue_vector(inst, d, t);
  // What the host may see happens at its own cycle, and what the router sees; not before the last group of the
  // operation in front of it.
  if (std::max(t, pe_.last_group) > now_ && tile.reroutes != 0 && is_mapped_access(inst, d)) return false;
  if (std::max(t, pe_.last_group) > now_ &&
      (d.kind == InstKind::write_config || (d.kind == InstKind::read_config && sees_fabric(inst))))
    return false;
  account_gap(t, int(Stall::dependency), -1, -1, pe_.pc);
  account_busy(t);
  if (world_.details) [[unlikely]]
    world_.details->work({pe_.at, t, t + 1, pe_.pc, -1, pe_.task});
  ++pe_.stats.instructions;
  ++block_.instructions;
  pe_.ready = t + d.next;
  switch (d.kind) {
    case InstKind::scalar:
      issue_scalar(inst, d, t);
      break;
    case InstKind::jump:
      issue_jump(inst, d, t);
      return true;
    case InstKind::load_dsr:
      load_dsr(inst, d, t);
      break;
    case InstKind::yield:
      end_task(t);
      return true;
    case InstKind::trap:
      raise(isa::trap_fault(inst.args[0].value), t, pe_.pc, isa::trap_text(inst.args[0].value));
      return false;
    case InstKind::activate:
      if (!check_id(value16(inst.args[0]), widths::kTaskIds, "a task", t)) return false;
      activate(value16(inst.args[0]), t);
      break;
    case InstKind::block:
    case InstKind::unblock: {
      int id = value16(inst.args[1]);
      const bool on = d.kind == InstKind::block, thread = inst.args[0].value == 1;
      const int limit = thread ? world_.machine.core.microthreads : widths::kTaskIds;
      if (!check_id(id, limit, thread ? "a microthread" : "a task", t)) return false;
      if (thread) {
        const uint16_t bit = uint16_t(1u << id);
        pe_.threads_blocked = uint16_t(on ? pe_.threads_blocked | bit : pe_.threads_blocked & ~bit);
        // What it waited for may have come while nobody looked.
        if (!on && (pe_.active >> id & 1)) pe_.ops[size_t(id)]->waits = false;
      } else if (on) {
        pe_.blocked |= uint64_t(1) << id;
        pe_.tasks_changed = true;
      } else {
        unblock(id, t);
      }
      break;
    }
    case InstKind::read_config:
      read_config(inst, t);
      set_result(d, t + d.latency);
      break;
    case InstKind::write_config:
      write_config(inst, t);
      break;
    case InstKind::vector:
      break;
  }
  ++pe_.pc;
  return !faulted_;
}

// An id that the program has computed.
bool Core::check_id(int id, int limit, const char* what, Cycle t) {
  if (id < limit) return true;
  raise("illegal-instruction", t, pe_.pc,
        std::string("there is no id ") + std::to_string(id) + " of " + what + ", ids are 0 to " +
            std::to_string(limit - 1));
  return false;
}

// Memory is as long as what a program declares, until it leaves that. True if it then holds [from, to).
bool Core::grow_memory_slow(uint32_t from, uint32_t to) {
  constexpr uint32_t kStep = 256;  // and no more: growth is rare, and PEs are many
  const uint32_t full = uint32_t(world_.machine.core.memory_bytes);
  const uint32_t low = from < pe_.memory.low() ? from / kStep * kStep : from;
  const uint32_t end = to > pe_.memory.end() ? (to + kStep - 1) / kStep * kStep : to;
  if (from < full) pe_.memory.cover(low, std::min(full, end));
  return pe_.memory.holds(from, to);
}

ColorRegisters Core::mapped_color_registers(uint32_t address, Cycle t) {
  const int color = mapped_color(address);
  ColorRegisters registers;
  if (const ColorNode* n = block_.find_node(pe_.index, color)) {
    registers.swap_x = block_.config_of(*n).swap_x;
    registers.swap_y = block_.config_of(*n).swap_y;
  }
  registers.read = [this, color](isa::ColorReg reg) { return block_.read_color(pe_.index, color, reg); };
  registers.write = [this, color, t](isa::ColorReg reg, uint16_t word) {
    return block_.write_color(pe_.index, color, reg, word, t);
  };
  return registers;
}

// A load or store of a register that is shown as memory.
void Core::issue_mapped(const isa::Inst& inst, const Decoded& d, uint32_t address, Cycle t) {
  const auto counter = mapped_counter(address);
  if (d.plan.kind == ScalarPlan::Kind::load)
    pe_.regs.r[size_t(inst.args[0].value)] =
        counter ? read_named(*counter, t).value_or(0) : read_mapped(mapped_color_registers(address, t), address);
  else if (counter && *counter != isa::ConfigReg::tsc_mid && *counter != isa::ConfigReg::tsc_high)
    write_named(*counter, value16(inst.args[2]), t);  // its lowest word stands for all
  else if (!counter && !write_mapped(mapped_color_registers(address, t), address, value16(inst.args[2])))
    raise("illegal-instruction", t, pe_.pc,
          "color " + std::to_string(mapped_color(address)) + " has no route at this PE");
  set_result(d, t + d.latency);
}

void Core::issue_scalar(const isa::Inst& inst, const Decoded& d, Cycle t) {
  if (logging_ && d.plan.kind == ScalarPlan::Kind::store)
    log_memory((value16(inst.args[0]) + uint32_t(inst.args[1].value)) & 0xFFFF, d.plan.bytes);
  if (!pe_.unwritten.empty() && d.plan.kind != ScalarPlan::Kind::value && !guard_scalar(inst, d.plan, t))
    return;
  ScalarResult result = execute_plan(d.plan, pe_.regs, pe_.memory.view());
  if (result.fault == ExecFault::out_of_bounds && d.plan.bytes == 2 && result.address >= pe_.memory.low() &&
      is_mapped(world_, result.address)) {
    issue_mapped(inst, d, result.address, t);
    return;
  }
  if (result.fault == ExecFault::out_of_bounds && grow_memory(result.address, result.address + d.plan.bytes))
    result = execute_plan(d.plan, pe_.regs, pe_.memory.view());
  if (result.fault != ExecFault::none) {
    bool bounds = result.fault == ExecFault::out_of_bounds;
    raise(bounds || result.fault == ExecFault::misaligned ? "out-of-bounds" : "illegal-instruction", t,
          pe_.pc,
          bounds ? "access to address " + std::to_string(result.address) + "; the memory has " +
                       std::to_string(world_.machine.core.memory_bytes) + " bytes"
          : result.fault == ExecFault::misaligned
              ? "misaligned access to address " + std::to_string(result.address)
              : "not an instruction: " + isa::print(inst));
    return;
  }
  pe_.stats.flops += result.flops;
  if (d.half) pe_.stats.half_flops += result.flops;
  pe_.stats.memory_bytes += d.plan.bytes;
  set_result(d, t + d.latency);
}

void Core::issue_jump(const isa::Inst& inst, const Decoded& d, Cycle t) {
  const Machine::Core& core = world_.machine.core;
  std::optional<int32_t> target = jump_target(inst, pe_.regs, int32_t(pe_.pc) + 1);
  set_result(d, t + Cycle(std::max(1, core.result_cycles)));
  if (!target) {
    ++pe_.pc;
    pe_.ready = t + Cycle(std::max(1, core.jump_not_taken_cycles));
    return;
  }
  if (*target == isa::kReturnToScheduler) {
    end_task(t);
    return;
  }
  pe_.pc = uint32_t(*target);
  pe_.ready = t + Cycle(std::max(1, core.jump_taken_cycles));
}

void Core::load_dsr(const isa::Inst& inst, const Decoded& d, Cycle t) {
  uint32_t base =
      inst.args[1].kind == isa::OperandKind::imm ? uint32_t(inst.args[1].value) : value16(inst.args[1]);
  uint32_t address = (base + uint32_t(inst.args[2].value)) & 0xFFFF;
  std::array<uint16_t, isa::kDsd4dBytes / 2> words{};
  const uint32_t full = uint32_t(world_.machine.core.memory_bytes);
  const size_t have = std::min<size_t>(words.size(), address < full ? (full - address) / 2 : 0);
  for (size_t i = 0; i < have; ++i) {  // what memory does not hold is zero
    const uint32_t at = address + 2 * uint32_t(i);
    if (pe_.memory.holds(at, at + 2)) words[i] = uint16_t(load_bits(pe_.memory.at(at), 2));
  }
  if (have * 2 < size_t(isa::kDsdBytes)) {
    raise("out-of-bounds", t, pe_.pc,
          "descriptor at address " + std::to_string(address) + " lies outside the memory");
    return;
  }
  Dsr& target = dsr(inst.args[0]);
  const isa::Dsd dsd = isa::decode(words);
  target.dsd = dsd;
  pe_.stats.memory_bytes += uint64_t(dsd.bytes());
  target.stepped = 0;
  target.at = {};
  target.loaded_with = inst.args[3].value;
  target.ready = t + d.latency;
  if (dsd.kind == isa::DsdKind::none)
    raise("illegal-instruction", t, pe_.pc, "no descriptor at address " + std::to_string(address));
}

void Core::raise(const char* name, Cycle at, uint32_t inst, const std::string& what) {
  std::string where = pe_.tile ? pe_.tile->program->where(inst) : std::string();
  block_.raise(name, at, pe_.at, what + (where.empty() ? "" : ", at " + where));
  pe_.ready = kNever;
  pe_.active = logging_ ? pe_.active & kMicrothreads : 0;
  faulted_ = true;
}

}  // namespace cs::sim
