// ConfigRegisters: what LDCFG16 reads and STCFG16 writes (runtime/isa/config_space.h), and what WSE-2 shows of it as
// memory. A register that the fabric changes is read, and every register is written, in the cycle of the instruction.
#pragma once

#include <optional>

#include "simulator/exec/mapped_registers.h"
#include "simulator/systemc/structural/core_state.h"

namespace cs::sim::structural {

class ConfigRegisters {
 public:
  explicit ConfigRegisters(CoreState& core);

  std::optional<uint16_t> read(uint16_t address, Cycle t);
  bool write(uint16_t address, uint16_t value, Cycle t);  // false: no such register, or the program has ended
  // What it reads changes with the fabric.
  static bool is_of_fabric(uint16_t address) {
    return address >= isa::kFilter || (address >= uint16_t(isa::ConfigReg::input_empty) &&
                                       address < uint16_t(isa::ConfigReg::count));
  }
  // Of a load or store beyond the memory; false: no register is there.
  bool is_mapped(uint32_t address) const;
  uint16_t read_mapped(uint32_t address, Cycle t);
  bool write_mapped(uint32_t address, uint16_t value, Cycle t);

  // In every cycle: queues that were flushed, colors that went into teardown.
  void look_at_queues();
  void take_teardowns();

 private:
  std::optional<uint16_t> read_named(isa::ConfigReg, Cycle t);
  bool write_named(isa::ConfigReg, uint16_t value, Cycle t);
  bool write_core(uint16_t address, uint16_t value);
  uint16_t read_queue(uint16_t address) const;
  void write_queue(uint16_t address, uint16_t value);
  Dsr* dsr_of_length(uint16_t address);
  ColorRegisters mapped_color_registers(uint32_t address);
  bool input_empty(int queue) const;
  bool output_empty(int queue) const;
  uint16_t queue_bits(isa::ConfigReg) const;
  uint16_t random();
  void print(isa::ConfigReg, uint16_t value, Cycle t);
  void print_byte(char, Cycle t);

  CoreState& core_;
  uint32_t teardowns_ = 0;  // colors that went into teardown and were not read yet
  uint32_t flush_wanted_ = 0, flush_done_ = 0;  // queues: inputs below, outputs from kQueues on
  uint16_t exceptions_ = 0xFFFF;
  // ---- the cycle counter: count = now - base while on, else it stands at base
  bool tsc_on_ = false;
  Cycle tsc_base_ = 0;
  std::array<uint16_t, 2> tsc_latch_{};
  // ---- pseudorandom numbers
  static constexpr uint32_t kSeed = 0xdeadbeef & 0x7FFFFF;
  std::array<uint32_t, 4> prngs_{kSeed, kSeed, kSeed, kSeed};
  size_t prng_ = 0;
  // ---- the log
  std::string line_;
  uint16_t print_high_ = 0;
};

}  // namespace cs::sim::structural
