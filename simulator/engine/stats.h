// Counters of a run: plain structs that can be subtracted. Printers live in simulator/report.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/host/device.h"
#include "runtime/support/geometry.h"

namespace cs::sim {

// Why a PE that has work did not advance in a cycle.
enum class Stall : uint8_t {
  input,       // a DSD operand waits for wavelets
  output,      // an output queue is full (backpressure)
  dependency,  // DSR load-use, register result, jump bubbles, divide
  memory,      // bank conflict
  dispatch,    // task start and task switch
  count
};
inline constexpr int kStalls = int(Stall::count);
const char* stall_name(Stall);

// What a busy cycle was spent on.
enum class Work : uint8_t {
  issue,   // an instruction
  memory,  // element groups in memory
  fabric,  // element groups with a fabric operand
};

// What a core counts. For any window: busy + sum(stalls) + idle = cycles of the window, exactly.
struct CoreStats {
  uint64_t busy = 0;  // cycles in which the datapath or the issue slot did work
  uint64_t memory_groups = 0, fabric_groups = 0;  // of these, of element groups (Work)
  std::array<uint64_t, kStalls> stalls{};
  uint64_t instructions = 0;  // issued, a vector counts as one
  uint64_t elements = 0;      // vector elements
  uint64_t flops = 0;
  uint64_t half_flops = 0;    // of these, in 16 bits
  uint64_t memory_bytes = 0;  // read and written by instructions; their own bytes do not count
  uint64_t tasks = 0;         // tasks started
  uint64_t launch_cycles = 0;  // first instruction of launched functions -> command stream given back
  Cycle first_task = kNever, last_task_end = 0;  // of the whole run; 0 if none
  uint64_t injected = 0;  // wavelets from the core into the router
};

// Per PE, its router included.
struct PeStats : CoreStats {
  Cycle first_arrival = kNever;         // departure to the core of the first wavelet that it got
  std::array<uint64_t, kPorts> sent{};  // wavelets that left the router by port (ramp: delivered to the core)
  std::array<uint64_t, kPorts> blocked{};  // lane-cycles: a wavelet was ready for that port and could not leave
};

}  // namespace cs::sim
