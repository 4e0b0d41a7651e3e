// Registers of the core and its router (runtime/isa/config_space.h): what LDCFG16 reads and STCFG16 writes.

#include <algorithm>
#include <bit>
#include <optional>

#include "simulator/engine/core.h"
#include "simulator/exec/filter_registers.h"

namespace cs::sim {

uint64_t Core::timestamp(Cycle t) const {
  return (pe_.settings->tsc_on ? t - pe_.settings->tsc_base : pe_.settings->tsc_base) & 0xFFFFFFFFFFFF;
}

// x^23 + x^18 + 1, 128 steps per use.
uint16_t Core::random_bits() {
  uint32_t& lfsr = pe_.settings.change().lfsr;
  for (int i = 0; i < 128; ++i) {
    uint32_t bit = (lfsr >> 22 ^ lfsr >> 17) & 1;
    lfsr = (lfsr << 1 | bit) & 0x7FFFFF;
  }
  return uint16_t(lfsr);
}

// What it reads changes with the fabric, so it is read in its own cycle.
bool Core::sees_fabric(const isa::Inst& inst) const {
  const uint16_t address = value16(inst.args[1]);
  if (address >= isa::kFilter) return true;
  return address >= uint16_t(isa::ConfigReg::input_empty) && address < uint16_t(isa::ConfigReg::count);
}

void Core::read_config(const isa::Inst& inst, Cycle t) {
  const uint16_t address = value16(inst.args[1]);
  std::optional<uint16_t> value;
  if (address < uint16_t(isa::ConfigReg::count)) {
    value = read_named(isa::ConfigReg(address), t);
  } else if (isa::is_dsr_length(address)) {
    const Dsr* d = dsr_of_length(address);
    value = d ? uint16_t(d->left()) : uint16_t(0);
  } else if (address >= isa::kFilter && address < isa::kTaskPriority) {
    value = read_filter(address);
  } else if (address >= isa::kTaskPriority && address < isa::kColorConfig) {
    value = pe_.settings->high_tasks >> (address - isa::kTaskPriority) & 1;
  } else if (isa::is_color_config(address)) {
    value = block_.read_color(pe_.index, (address - isa::kColorConfig) / 8, isa::ColorReg(address & 7));
  } else if (address >= isa::kInputColor && address < isa::kQueueEnd) {
    value = read_queue(address);
  }
  if (!value) {
    raise("illegal-instruction", t, pe_.pc, "no configuration register " + std::to_string(address));
    return;
  }
  pe_.regs.r[size_t(inst.args[0].value)] = *value;
}

uint16_t Core::read_queue(uint16_t address) const {
  const int queue = address % widths::kQueues;
  if (address >= isa::kControlTable) return pe_.settings->control_table[size_t(queue)];
  if (address >= isa::kInputFlush) {
    const int bit = queue + (address >= isa::kOutputFlush ? kOutputBit : 0);
    return pe_.settings->flush_done >> bit & 1;
  }
  if (address >= isa::kOutputColor) return uint16_t(pe_.settings->output_color[size_t(queue)]);
  for (const InputQueue& q : pe_.inputs)
    if (q.id == queue) return q.color;
  return 0xFFFF;
}

std::optional<uint16_t> Core::read_filter(uint16_t address) {
  const FilterState* f = block_.find_filter(pe_.index, (address - isa::kFilter) / 8);
  if (f == nullptr) return std::nullopt;
  return read_filter_register(f->config, f->counter, isa::FilterReg(address & 7));
}

std::optional<uint16_t> Core::read_named(isa::ConfigReg reg, Cycle t) {
  const Rect& user = world_.program.user;
  switch (reg) {
    case isa::ConfigReg::tsc_low: {
      uint64_t count = timestamp(t);
      pe_.settings.change().tsc_latch = {uint16_t(count >> 16), uint16_t(count >> 32)};
      return uint16_t(count);
    }
    case isa::ConfigReg::tsc_mid:
      return pe_.settings->tsc_latch[0];
    case isa::ConfigReg::tsc_high:
      return pe_.settings->tsc_latch[1];
    case isa::ConfigReg::tsc_enable:
      return pe_.settings->tsc_on;
    case isa::ConfigReg::coord_x:
      return uint16_t(pe_.at.x - user.x);
    case isa::ConfigReg::coord_y:
      return uint16_t(pe_.at.y - user.y);
    case isa::ConfigReg::command_stream_ready:
      return pe_.command_ready;
    case isa::ConfigReg::random:
      return random_bits();
    case isa::ConfigReg::test:
      return pe_.test;
    case isa::ConfigReg::index:
      return pe_.next_index;
    case isa::ConfigReg::main_priority:
      return pe_.settings->main_priority;
    case isa::ConfigReg::transform_mask:
      return pe_.settings->transform_mask;
    case isa::ConfigReg::exceptions:
      return pe_.settings->exceptions;
    case isa::ConfigReg::input_empty:
    case isa::ConfigReg::input_full:
      return queue_bits(false, reg == isa::ConfigReg::input_full);
    case isa::ConfigReg::output_empty:
    case isa::ConfigReg::output_full:
      return queue_bits(true, reg == isa::ConfigReg::output_full);
    case isa::ConfigReg::teardown_low:
      return uint16_t(take_teardowns(0xFFFF));
    case isa::ConfigReg::teardown_high:
      return uint16_t(take_teardowns(0xFFFF0000) >> 16);
    case isa::ConfigReg::prng:
      return pe_.settings->prng;
    default:  // those that are only written
      return std::nullopt;
  }
}

uint32_t Core::take_teardowns(uint32_t mask) {
  const uint32_t pending = pe_.settings->teardowns & mask;
  if (pending != 0) pe_.settings.change().teardowns &= ~mask;
  return pending;
}

// The DSR whose extent the register is; null if the program never uses it.
Dsr* Core::dsr_of_length(uint16_t address) {
  const int at = address - isa::kDsrLength, file = at / widths::kDsrs, index = at % widths::kDsrs;
  const uint8_t place = pe_.tile->dsr_place[size_t(file)][size_t(index)];
  return place == TileImage::kNoDsr ? nullptr : &pe_.dsrs[place];
}

void Core::write_config(const isa::Inst& inst, Cycle t) {
  const uint16_t address = value16(inst.args[0]), value = value16(inst.args[1]);
  bool known = true;
  if (address < uint16_t(isa::ConfigReg::count)) {
    write_named(isa::ConfigReg(address), value, t);
  } else if (isa::is_dsr_length(address)) {
    if (Dsr* d = dsr_of_length(address)) {
      d->dsd.length = value;
      d->ready = std::max(d->ready, t + Cycle(world_.machine.core.dsr_load_use_cycles));
    }
  } else if (address >= isa::kFilter && address < isa::kTaskPriority) {
    known = write_filter(address, value);
  } else if (isa::is_color_config(address)) {
    known = block_.write_color(pe_.index, (address - isa::kColorConfig) / 8, isa::ColorReg(address & 7), value, t);
  } else if (address >= isa::kInputColor && address < isa::kQueueEnd) {
    if (!set_config(pe_.settings.change(), address, value)) write_queue(address, value);
  } else {
    known = set_config(pe_.settings.change(), address, value);
  }
  if (!known)
    raise("illegal-instruction", t, pe_.pc, "no configuration register " + std::to_string(address) + " at this PE");
}

void Core::write_named(isa::ConfigReg reg, uint16_t value, Cycle t) {
  if (reg >= isa::ConfigReg::print_text && reg <= isa::ConfigReg::print_f32) return print(reg, value, t);
  switch (reg) {
    case isa::ConfigReg::tsc_low:
      pe_.settings.change().tsc_base = pe_.settings->tsc_on ? t : 0;
      break;
    case isa::ConfigReg::tsc_enable:
      if (pe_.settings->tsc_on == (value != 0)) break;
      pe_.settings.change().tsc_base = t - pe_.settings->tsc_base;  // count -> base and back
      pe_.settings.change().tsc_on = value != 0;
      break;
    case isa::ConfigReg::command_stream_ready:
      if (value == 0 || pe_.command_ready) break;
      pe_.command_ready = true;
      pe_.command_ready_at = t;
      --block_.streams_not_ready;
      block_.launches[pe_.launch].ends(t + 1, pe_.at, pe_.launched_at);
      pe_.stats.launch_cycles += t + 1 - pe_.launched_at;
      break;
    case isa::ConfigReg::index:
      pe_.next_index = value;
      break;
    case isa::ConfigReg::prng: {
      CoreSettings& settings = pe_.settings.change();
      settings.resting_prngs[settings.prng] = settings.lfsr;
      settings.prng = value & 3;
      settings.lfsr = settings.resting_prngs[settings.prng];
      break;
    }
    case isa::ConfigReg::seed_low:
      pe_.settings.change().lfsr = (pe_.settings->lfsr & 0x7F0000) | value;
      break;
    case isa::ConfigReg::seed_high: {  // a register of zeros would give nothing but zeros
      CoreSettings& settings = pe_.settings.change();
      settings.lfsr = (settings.lfsr & 0xFFFF) | uint32_t(value & 0x7F) << 16;
      if (settings.lfsr == 0) settings.lfsr = 1;
      break;
    }
    default:
      if (!set_config(pe_.settings.change(), uint16_t(reg), value))
        raise("illegal-instruction", t, pe_.pc,
              "configuration register " + std::string(isa::config_reg_name(reg)) + " cannot be written");
  }
}

bool Core::write_filter(uint16_t address, uint16_t value) {
  FilterState* f = block_.find_filter(pe_.index, (address - isa::kFilter) / 8);
  if (f == nullptr) return false;
  write_filter_register(f->config, f->counter, isa::FilterReg(address & 7), value);
  return true;
}

}  // namespace cs::sim
