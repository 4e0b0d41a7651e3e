// By address: named registers, filters, task priorities, colors, queues, lengths of descriptor registers.
#include "simulator/systemc/structural/config_registers.h"

#include <algorithm>
#include <bit>

namespace cs::sim::structural {

using isa::ConfigReg;

ConfigRegisters::ConfigRegisters(CoreState& core) : core_(core) {
  for (const ConfigInit& c : core.tile.program->config) write_core(c.address, c.value);
}

std::optional<uint16_t> ConfigRegisters::read(uint16_t address, Cycle t) {
  if (address < uint16_t(ConfigReg::count)) return read_named(ConfigReg(address), t);
  if (isa::is_dsr_length(address)) return uint16_t(dsr_of_length(address)->left());
  if (address >= isa::kFilter && address < isa::kTaskPriority) {
    const Filter* f = core_.router.filter((address - isa::kFilter) / 8);
    return f ? f->read(isa::FilterReg(address & 7)) : std::nullopt;
  }
  if (address >= isa::kTaskPriority && address < isa::kColorConfig)
    return core_.scheduler.high(address - isa::kTaskPriority);
  if (isa::is_color_config(address)) {
    const int color = (address - isa::kColorConfig) / 8;
    return core_.router.has_color(color) ? core_.router.color(color).read(isa::ColorReg(address & 7)) : uint16_t(0);
  }
  if (address >= isa::kInputColor && address < isa::kQueueEnd) return read_queue(address);
  return std::nullopt;
}

bool ConfigRegisters::write(uint16_t address, uint16_t value, Cycle t) {
  if (address < uint16_t(ConfigReg::count)) return write_named(ConfigReg(address), value, t);
  if (isa::is_dsr_length(address)) {
    Dsr& d = *dsr_of_length(address);
    d.dsd.extent[0] = value;
    d.ready = std::max(d.ready, t + Cycle(core_.machine.core.dsr_load_use_cycles));
    return true;
  }
  if (address >= isa::kFilter && address < isa::kTaskPriority) {
    Filter* f = core_.router.filter((address - isa::kFilter) / 8);
    if (f != nullptr) f->write(isa::FilterReg(address & 7), value);
    return f != nullptr;
  }
  if (isa::is_color_config(address)) {
    const int color = (address - isa::kColorConfig) / 8;
    return core_.router.has_color(color) && core_.router.color(color).write(isa::ColorReg(address & 7), value);
  }
  if (write_core(address, value)) return true;
  if (address < isa::kInputColor || address >= isa::kQueueEnd) return false;
  write_queue(address, value);
  return true;
}

// Registers of the core alone.
bool ConfigRegisters::write_core(uint16_t address, uint16_t value) {
  if (address >= isa::kTaskPriority && address < isa::kColorConfig)
    core_.scheduler.set_high(address - isa::kTaskPriority, value != 0);
  else if (address >= isa::kControlTable && address < isa::kQueueEnd)
    core_.scheduler.set_control_table(address - isa::kControlTable, value % widths::kTaskIds);
  else if (address == uint16_t(ConfigReg::main_priority))
    core_.main_priority = uint8_t(std::min<uint16_t>(value, 3));
  else if (address == uint16_t(ConfigReg::transform_mask))
    core_.transform_mask = value % widths::kTaskIds;
  else if (address == uint16_t(ConfigReg::exceptions))
    exceptions_ = value;
  else
    return false;
  return true;
}

Dsr* ConfigRegisters::dsr_of_length(uint16_t address) {
  const size_t at = size_t(address - isa::kDsrLength);
  return &core_.dsrs[at / widths::kDsrs][at % widths::kDsrs];
}

// ---- queues

uint16_t ConfigRegisters::read_queue(uint16_t address) const {
  const int queue = address % widths::kQueues;
  if (address >= isa::kControlTable) return uint16_t(core_.scheduler.control_table(queue));
  if (address >= isa::kInputFlush)
    return flush_done_ >> (queue + (address >= isa::kOutputFlush ? widths::kQueues : 0)) & 1;
  if (address >= isa::kOutputColor) return uint16_t(core_.output_color[size_t(queue)]);
  const int index = core_.inputs.of_queue(queue);
  return index < 0 ? uint16_t(0xFFFF) : uint16_t(core_.inputs.at(size_t(index)).color);
}

void ConfigRegisters::write_queue(uint16_t address, uint16_t value) {
  const int queue = address % widths::kQueues;
  if (address >= isa::kInputFlush) {
    const uint32_t bit = 1u << (queue + (address >= isa::kOutputFlush ? widths::kQueues : 0));
    flush_wanted_ |= value != 0 ? bit : 0;
    if (value == 0) flush_done_ &= ~bit;
    look_at_queues();
  } else if (core_.check_id(value, core_.machine.router.colors, "a color", core_.now())) {
    if (address >= isa::kOutputColor)
      core_.output_color[size_t(queue)] = value;
    else
      core_.inputs.bind(queue, value);
  }
}

bool ConfigRegisters::input_empty(int queue) const {
  const int index = core_.inputs.of_queue(queue);
  return index < 0 || core_.inputs.at(size_t(index)).held.empty();
}

// Its last wavelet has reached the lane of its router.
bool ConfigRegisters::output_empty(int queue) const {
  const int color = core_.output_color[size_t(queue)];
  return color < 0 || !core_.router.has_core_lane(color) ||
         (core_.ramp.all_landed(color) && core_.ramp.fits_lane(color));
}

uint16_t ConfigRegisters::queue_bits(ConfigReg reg) const {
  const Machine::Queues& queues = core_.machine.queues;
  const bool input = reg == ConfigReg::input_empty || reg == ConfigReg::input_full;
  uint32_t bits = 0;
  for (int q = 0; q < int(input ? queues.input_words.size() : queues.output_words.size()); ++q) {
    bool set = false;
    const int color = core_.output_color[size_t(q)];
    switch (reg) {
      case ConfigReg::input_empty:
        set = input_empty(q);
        break;
      case ConfigReg::output_empty:
        set = output_empty(q);
        break;
      case ConfigReg::input_full:
        for (const InputQueues::Queue& one : core_.inputs.all())
          set |= one.id == q && int(one.held.size()) >= one.words;
        break;
      default:
        set = color >= 0 && core_.router.has_core_lane(color) &&
              core_.ramp.taken(color) >= queues.output_words[size_t(q)] + core_.machine.router.lane_depth_wavelets;
    }
    bits |= uint32_t(set) << q;
  }
  return uint16_t(bits);
}

// A flushed queue activates the task in the first cycle in which it is empty.
void ConfigRegisters::look_at_queues() {
  for (uint32_t rest = flush_wanted_; rest != 0; rest &= rest - 1) {
    const int bit = std::countr_zero(rest);
    if (!(bit >= widths::kQueues ? output_empty(bit - widths::kQueues) : input_empty(bit))) continue;
    flush_wanted_ &= ~(1u << bit);
    flush_done_ |= 1u << bit;
    core_.scheduler.activate(isa::kTeardownTask, core_.now());
    core_.activity.act();
  }
}

void ConfigRegisters::take_teardowns() {
  const uint32_t now = core_.router.torn_down.read();
  if (now == 0) return;
  teardowns_ |= now;
  core_.scheduler.activate(isa::kTeardownTask, core_.now());
  core_.activity.act();
}

// ---- registers that are shown as memory

bool ConfigRegisters::is_mapped(uint32_t address) const {
  return core_.machine.arch == Arch::wse2 && (mapped_color(address) >= 0 || mapped_counter(address));
}

ColorRegisters ConfigRegisters::mapped_color_registers(uint32_t address) {
  const int number = mapped_color(address);
  ColorSwitch& color = core_.router.color(number);
  const bool there = core_.router.has_color(number);
  ColorRegisters r;
  r.swap_x = color.swap_x();
  r.swap_y = color.swap_y();
  r.read = [&color](isa::ColorReg reg) { return color.read(reg); };
  r.write = [&color, there](isa::ColorReg reg, uint16_t word) { return there && color.write(reg, word); };
  return r;
}

uint16_t ConfigRegisters::read_mapped(uint32_t address, Cycle t) {
  if (const auto counter = mapped_counter(address)) return read_named(*counter, t).value_or(0);
  return cs::sim::read_mapped(mapped_color_registers(address), address);
}

bool ConfigRegisters::write_mapped(uint32_t address, uint16_t value, Cycle t) {
  const auto counter = mapped_counter(address);
  if (!counter) return cs::sim::write_mapped(mapped_color_registers(address), address, value);
  if (*counter == ConfigReg::tsc_mid || *counter == ConfigReg::tsc_high) return true;  // the lowest word stands for all
  return write_named(*counter, value, t);
}

}  // namespace cs::sim::structural
