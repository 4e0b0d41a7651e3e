// The named ones of the configuration registers: cycle counter, coordinates, random numbers, the log.
#include <algorithm>

#include "simulator/exec/print_text.h"
#include "simulator/systemc/structural/config_registers.h"

namespace cs::sim::structural {

using isa::ConfigReg;

std::optional<uint16_t> ConfigRegisters::read_named(ConfigReg reg, Cycle t) {
  switch (reg) {
    case ConfigReg::tsc_low: {
      const uint64_t count = tsc_on_ ? t - tsc_base_ : tsc_base_;
      tsc_latch_ = {uint16_t(count >> 16), uint16_t(count >> 32)};
      return uint16_t(count);
    }
    case ConfigReg::tsc_mid:
      return tsc_latch_[0];
    case ConfigReg::tsc_high:
      return tsc_latch_[1];
    case ConfigReg::tsc_enable:
      return tsc_on_;
    case ConfigReg::coord_x:
      return uint16_t(core_.at.x - core_.user.x);
    case ConfigReg::coord_y:
      return uint16_t(core_.at.y - core_.user.y);
    case ConfigReg::command_stream_ready:
      return core_.command_ready;
    case ConfigReg::random:
      return random();
    case ConfigReg::test:
      return core_.test;
    case ConfigReg::index:
      return core_.next_index;
    case ConfigReg::main_priority:
      return core_.main_priority;
    case ConfigReg::transform_mask:
      return core_.transform_mask;
    case ConfigReg::exceptions:
      return exceptions_;
    case ConfigReg::input_empty:
    case ConfigReg::input_full:
    case ConfigReg::output_empty:
    case ConfigReg::output_full:
      return queue_bits(reg);
    case ConfigReg::teardown_low:
    case ConfigReg::teardown_high: {
      const uint32_t mask = reg == ConfigReg::teardown_low ? 0xFFFF : 0xFFFF0000;
      const uint32_t read = teardowns_ & mask;
      teardowns_ &= ~mask;
      return uint16_t(reg == ConfigReg::teardown_low ? read : read >> 16);
    }
    case ConfigReg::prng:
      return uint16_t(prng_);
    default:  // those that are only written
      return std::nullopt;
  }
}

bool ConfigRegisters::write_named(ConfigReg reg, uint16_t value, Cycle t) {
  if (reg >= ConfigReg::print_text && reg <= ConfigReg::print_f32) {
    print(reg, value, t);
    return true;
  }
  switch (reg) {
    case ConfigReg::tsc_low:
      tsc_base_ = tsc_on_ ? t : 0;
      return true;
    case ConfigReg::tsc_enable:
      if (tsc_on_ != (value != 0)) tsc_base_ = t - tsc_base_;  // count -> base and back
      tsc_on_ = value != 0;
      return true;
    case ConfigReg::command_stream_ready:
      if (value == 0 || core_.command_ready) return true;
      core_.command_ready = true;
      core_.command_ready_at = t;
      core_.launches[core_.launch].ends(t + 1, core_.at, core_.launched_at);
      return true;
    case ConfigReg::index:
      core_.next_index = value;
      return true;
    case ConfigReg::prng:
      prng_ = value & 3;
      return true;
    case ConfigReg::seed_low:
      prngs_[prng_] = (prngs_[prng_] & 0x7F0000) | value;
      return true;
    case ConfigReg::seed_high:  // a register of zeros would give nothing but zeros
      prngs_[prng_] = std::max(1u, (prngs_[prng_] & 0xFFFF) | uint32_t(value & 0x7F) << 16);
      return true;
    default:
      return write_core(uint16_t(reg), value);
  }
}

// x^23 + x^18 + 1, 128 steps per use.
uint16_t ConfigRegisters::random() {
  uint32_t& state = prngs_[prng_];
  for (int i = 0; i < 128; ++i) state = (state << 1 | ((state >> 22 ^ state >> 17) & 1)) & 0x7FFFFF;
  return uint16_t(state);
}

void ConfigRegisters::print_byte(char c, Cycle t) {
  if (c == 0) return;
  if (c != '\n') line_ += c;
  if (c != '\n' && line_.size() < kPrintLineBytes) return;
  core_.observer.printed(t, core_.at, line_);
  line_.clear();
}

void ConfigRegisters::print(ConfigReg reg, uint16_t value, Cycle t) {
  if (reg == ConfigReg::print_high) {
    print_high_ = value;
  } else if (reg == ConfigReg::print_text) {
    print_byte(char(value & 0xFF), t);
    print_byte(char(value >> 8), t);
  } else {
    const uint32_t word = uint32_t(print_high_) << 16 | value;
    print_high_ = 0;
    for (char c : number_text(reg, word, core_.tile.program->fp16)) print_byte(c, t);
  }
}

}  // namespace cs::sim::structural
