// CoreSettings: configuration of a core that its program may change (core_config.cpp, core_queues.cpp). Most programs
// never do: their PEs share what the tile program begins with, and one gets its own with the first change.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "runtime/host/device.h"
#include "runtime/machine/field_widths.h"

namespace cs::sim {

struct CoreSettings {
  CoreSettings() { output_color.fill(-1); }
  std::array<int8_t, widths::kQueues> output_color{};  // color an output queue is bound to, -1: none
  // By input queue: where its entry points begin among the control tasks.
  std::array<uint8_t, widths::kQueues> control_table{};
  uint64_t high_tasks = 0;  // task ids of high priority
  uint32_t teardowns = 0;   // colors that went into teardown, not read yet
  uint32_t flush_wanted = 0,
           flush_done = 0;  // queues, a bit each: inputs below, outputs from bit kOutputBit on
  uint16_t transform_mask = 0, exceptions = 0xFFFF;
  uint8_t main_priority = 0;  // added to the main thread's rank
  bool tsc_on = false;
  uint8_t prng = 0;
  std::array<uint16_t, 2> tsc_latch{};
  Cycle tsc_base = 0;                    // count = now - base while on, else the frozen count
  uint32_t lfsr = 0xdeadbeef & 0x7FFFFF;  // of the active PRNG
  std::array<uint32_t, 4> resting_prngs{lfsr, lfsr, lfsr, lfsr};
};

// A register that is a setting alone; false if it is no such register.
bool set_config(CoreSettings&, uint16_t address, uint16_t value);

class SharedSettings {
 public:
  SharedSettings() : shared_(&kNone) {}
  void share(const CoreSettings& all) { shared_ = &all; }
  const CoreSettings* operator->() const { return own_ ? own_.get() : shared_; }
  CoreSettings& change() {
    if (!own_) own_ = std::make_unique<CoreSettings>(*shared_);
    return *own_;
  }
  bool own() const { return own_ != nullptr; }

 private:
  static const CoreSettings kNone;
  const CoreSettings* shared_;
  std::unique_ptr<CoreSettings> own_;
};

}  // namespace cs::sim
