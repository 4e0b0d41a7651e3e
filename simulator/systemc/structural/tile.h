// Tile: a tile program as its cores read it: instructions by kind, with the registers that they touch and what
// docs/timing.md §6 says they take; tasks by id; queues. One per TileProgram.
#pragma once

#include <array>
#include <vector>

#include "runtime/isa/scalar_cycles.h"
#include "runtime/machine/machine.h"
#include "runtime/program/program.h"
#include "simulator/exec/exec.h"
#include "simulator/exec/guard.h"

namespace cs::sim::structural {

struct Instruction {
  enum class Kind : uint8_t {
    scalar, jump, vector, load_dsr, yield, trap, activate, block, unblock, read_config, write_config
  } kind = Kind::scalar;
  isa::Inst inst;
  uint32_t reads = 0, writes = 0;  // registers, a bit each
  isa::ScalarCycles cycles;
  ScalarPlan plan;                     // scalars
  const ElementOp* element = nullptr;  // vectors
  int simd_width = 1;
  bool reduction = false;
};

struct Tile {
  Tile(const TileProgram&, const Machine&);

  const TileProgram* program = nullptr;
  std::vector<Instruction> code;
  using Tasks = std::array<int, widths::kTaskIds>;  // index into TileProgram::tasks, -1: none
  Tasks data_task{}, control_task{}, local_task{};
  uint64_t blocked = 0, activated = 0, local_ids = 0;
  uint32_t threads_blocked = 0;
  uint32_t opens_colors = 0;  // whose routes the code may change
  std::vector<QueueBinding> inputs;
  std::array<int, widths::kQueues> output_color{};  // -1: not bound
  MemoryGuard guard;
};

}  // namespace cs::sim::structural
