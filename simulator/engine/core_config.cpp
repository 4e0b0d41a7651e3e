// Registers of the core and its router (runtime/isa/config_space.h): what LDCFG16 reads and STCFG16 writes.

#include <algorithm>
#include <optional>

#include "simulator/engine/core.h"

namespace cs::sim {

uint64_t Core::timestamp(Cycle t) const {
  return (pe_.tsc_on ? t - pe_.tsc_base : pe_.tsc_base) & 0xFFFFFFFFFFFF;
}

// x^23 + x^18 + 1, 128 steps per use.
uint16_t Core::random_bits() {
  for (int i = 0; i < 128; ++i) {
    uint32_t bit = (pe_.lfsr >> 22 ^ pe_.lfsr >> 17) & 1;
    pe_.lfsr = (pe_.lfsr << 1 | bit) & 0x7FFFFF;
  }
  return uint16_t(pe_.lfsr);
}

void Core::read_config(const isa::Inst& inst, Cycle t) {
  const uint16_t address = value16(inst.args[1]);
  std::optional<uint16_t> value;
  if (address < uint16_t(isa::ConfigReg::count)) value = read_named(isa::ConfigReg(address), t);
  if (address >= isa::kDsrLength && address < isa::kDsrLength + 48) {
    const Dsr* d = dsr_of_length(address);
    value = d ? d->dsd.extent[0] : uint16_t(0);
  }
  if (!value) {
    raise("illegal-instruction", t, pe_.pc, "no configuration register " + std::to_string(address));
    return;
  }
  pe_.regs.r[size_t(inst.args[0].value & 15)] = *value;
}

std::optional<uint16_t> Core::read_named(isa::ConfigReg reg, Cycle t) {
  const Rect& user = world_.program.user;
  switch (reg) {
    case isa::ConfigReg::tsc_low: {
      uint64_t count = timestamp(t);
      pe_.tsc_latch = {uint16_t(count >> 16), uint16_t(count >> 32)};
      return uint16_t(count);
    }
    case isa::ConfigReg::tsc_mid:
      return pe_.tsc_latch[0];
    case isa::ConfigReg::tsc_high:
      return pe_.tsc_latch[1];
    case isa::ConfigReg::tsc_enable:
      return pe_.tsc_on;
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
    default:
      return std::nullopt;
  }
}

// The DSR whose extent the register is; null if the program never uses it.
Dsr* Core::dsr_of_length(uint16_t address) {
  const int file = (address - isa::kDsrLength) / 16, index = (address - isa::kDsrLength) % 16;
  if (index >= pe_.tile->dsrs[size_t(file)]) return nullptr;
  return &pe_.dsrs[pe_.tile->dsr_at(file, index)];
}

void Core::write_config(const isa::Inst& inst, Cycle t) {
  const uint16_t address = value16(inst.args[0]), value = value16(inst.args[1]);
  if (address < uint16_t(isa::ConfigReg::count)) {
    write_named(isa::ConfigReg(address), value, t);
  } else if (address >= isa::kDsrLength && address < isa::kDsrLength + 48) {
    Dsr* d = dsr_of_length(address);
    if (d == nullptr) return;
    d->dsd.extent[0] = value;
    d->ready = std::max(d->ready, t + Cycle(world_.machine.core.dsr_load_use_cycles));
  } else {
    raise("illegal-instruction", t, pe_.pc, "no configuration register " + std::to_string(address));
  }
}

void Core::write_named(isa::ConfigReg reg, uint16_t value, Cycle t) {
  if (reg >= isa::ConfigReg::print_text && reg <= isa::ConfigReg::print_f32) return print(reg, value, t);
  switch (reg) {
    case isa::ConfigReg::tsc_low:
      pe_.tsc_base = pe_.tsc_on ? t : 0;
      break;
    case isa::ConfigReg::tsc_enable:
      if (pe_.tsc_on == (value != 0)) break;
      pe_.tsc_base = t - pe_.tsc_base;  // count -> base and back
      pe_.tsc_on = value != 0;
      break;
    case isa::ConfigReg::command_stream_ready:
      if (value == 0 || pe_.command_ready) break;
      pe_.command_ready = true;
      pe_.command_ready_at = t;
      --block_.streams_not_ready;
      break;
    case isa::ConfigReg::index:
      pe_.next_index = value;
      break;
    case isa::ConfigReg::seed_low:
      pe_.lfsr = (pe_.lfsr & 0x7F0000) | value;
      break;
    case isa::ConfigReg::seed_high:  // a register of zeros would give nothing but zeros
      pe_.lfsr = (pe_.lfsr & 0xFFFF) | uint32_t(value & 0x7F) << 16;
      if (pe_.lfsr == 0) pe_.lfsr = 1;
      break;
    default:
      raise("illegal-instruction", t, pe_.pc,
            "configuration register " + std::string(isa::config_reg_name(reg)) + " cannot be written");
  }
}

}  // namespace cs::sim
