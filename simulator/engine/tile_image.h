// TileImage: a tile program prepared for running. One per TileProgram, shared by all its PEs.
//
// decode  every instruction gets its kind, the registers it reads and writes and its cycles on this machine
// tables  task by data id, control entry and local id; slots for the ids that need a time; queues
// image   memory contents at cycle 0, from the first to the last byte of data; code is none
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "runtime/machine/machine.h"
#include "runtime/program/program.h"
#include "simulator/engine/core_settings.h"
#include "simulator/exec/exec.h"
#include "simulator/exec/guard.h"

namespace cs::sim {

enum class InstKind : uint8_t {
  scalar,
  jump,
  vector,
  load_dsr,
  yield,
  trap,
  activate,
  block,
  unblock,
  read_config,
  write_config
};

struct Decoded {
  InstKind kind = InstKind::scalar;
  uint8_t flops = 0;
  bool half = false;               // of 16 bits
  uint32_t reads = 0, writes = 0;  // registers, a bit each
  uint16_t latency = 1;            // issue -> the result may be used
  uint16_t next = 1;               // issue -> the following instruction may issue
  uint8_t seen_after = 0;          // so many instructions behind it come at least before one that others may see
  uint16_t condition = 0;          // jumps: wait beyond the result of what they test
  // vectors
  uint8_t width = 1;  // SIMD width of the mnemonic
  bool reduction = false;
  const ElementOp* element = nullptr;
  ScalarPlan plan;  // scalars
  // And what they add to counters: bytes of memory, flops, flops of 16 bits; so many bits each.
  static constexpr int kCountBits = 21;
  static constexpr uint64_t kCount = (uint64_t(1) << kCountBits) - 1;
  uint64_t counts = 0;
};

struct TileImage {
  const TileProgram* program = nullptr;
  std::vector<Decoded> code;
  uint32_t memory_low = 0;
  std::vector<uint8_t> memory;  // from there on
  MemoryGuard guard;
  static constexpr uint8_t kNoDsr = 0xFF;
  uint8_t dsrs = 0;  // that the program uses; each has a place in Pe::dsrs
  std::array<std::array<uint8_t, widths::kDsrs>, 3> dsr_place{};  // by file (destination, a, b) and number
  // Index into TileProgram::tasks, -1: none.
  std::array<int16_t, widths::kTaskIds> data_task{}, control_task{}, local_task{};
  std::array<int8_t, widths::kTaskIds> slot{};  // of ids that become runnable at some cycle, -1: none
  int slots = 0;
  uint64_t blocked = 0, activated = 0;
  uint16_t threads_blocked = 0;
  uint32_t reroutes = 0;  // colors whose routes the code may change
  uint64_t local_ids = 0;
  std::vector<QueueBinding> inputs;       // in queue order
  CoreSettings settings;                  // that its PEs begin with
};

TileImage make_tile_image(const TileProgram&, const Machine&);

}  // namespace cs::sim
