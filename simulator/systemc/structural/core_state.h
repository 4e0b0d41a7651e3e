// CoreState: what the parts of one core share: registers, descriptor registers, the main thread's place in the code.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "simulator/systemc/structural/launches.h"
#include "simulator/systemc/structural/memory.h"
#include "simulator/systemc/structural/operation.h"
#include "simulator/systemc/structural/output_ramp.h"
#include "simulator/systemc/structural/scheduler.h"

namespace cs::sim::structural {

inline constexpr int kMainThread = widths::kMicrothreads;  // threads below are the microthreads
inline constexpr int kThreads = kMainThread + 1;

// A ring in memory between two operations: bytes from `head` on are filled.
struct Fifo {
  int head = 0, fill = 0;
  bool was_full = false, was_empty = false;  // an operation had to stop there; the next one at the other end clears it
  int need = 0;                              // bytes that it needs
};

// Where the core's parts find each other and what lies around them.
struct Surroundings {
  Clocks& clocks;
  const Machine& machine;
  const Tile& tile;
  Coord at;
  Rect user;
  Memory& memory;
  Router& router;
  InputQueues& inputs;
  OutputRamp& ramp;
  Launches& launches;
  Observer& observer;
};

struct CoreState : Surroundings {
  explicit CoreState(const Surroundings& s) : Surroundings(s), scheduler(machine, tile, inputs, clocks, activity) {
    output_color = tile.output_color;
    output_last.fill(-1);
    fifos.resize(tile.program->fifos.size());
    for (const DsrInit& d : tile.program->dsrs) {
      Dsr& target = dsrs[d.file][d.index];
      target.dsd = isa::decode(d.words);
      target.config = isa::decode_config(d.config);
    }
    threads_blocked = tile.threads_blocked;
  }
  CoreState(const CoreState&) = delete;

  Activity activity;
  Scheduler scheduler;
  // ---- registers
  Registers regs;
  std::array<Cycle, widths::kRegisters> reg_ready{};  // an instruction that reads it may issue
  std::array<std::array<Dsr, widths::kDsrs>, 3> dsrs;  // files: destination, source 0, source 1
  std::vector<Fifo> fifos;
  std::array<int, widths::kQueues> output_color{};  // that a queue is bound to, -1: none
  std::array<int, widths::kQueues> output_last{};   // color of what it holds, -1: none yet
  // ---- main thread
  bool running = false;  // has a task
  int task = -1, function = -1;
  uint32_t pc = 0;
  Cycle ready = 0;       // its next instruction may issue
  Cycle free_at = 0;     // not running: a task may start
  Cycle last_group = 0;  // of its operations
  int wanted_thread = -1;  // the busy microthread that its next instruction waits for
  uint16_t next_index = 0;  // of the next vector operation
  bool test = true;         // the last FIFO operation of the main thread did all its elements
  uint32_t threads_blocked = 0;
  uint16_t transform_mask = 0;
  uint8_t main_priority = 0;
  bool command_ready = true;  // its command stream
  Cycle command_ready_at = 0;
  size_t launch = 0;          // that has the command stream, or had it last
  Cycle launched_at = 0;
  uint64_t instructions = 0;
  bool faulted = false;

  Cycle now() const { return clocks.cycle; }
  Dsr& dsr(const isa::Operand& o) {
    return dsrs[size_t(o.kind) - size_t(isa::OperandKind::dest)][size_t(o.value)];
  }
  uint16_t value16(const isa::Operand& o) const { return uint16_t(operand_value(o, regs, 2)); }
  void set_result(const Instruction& i, Cycle at) {
    for (size_t r = 0; r < reg_ready.size(); ++r)
      if (i.writes >> r & 1) reg_ready[r] = at;
    activity.wait_until(at);
  }
  // The program ends here, with this core's fault.
  void fault(const char* name, Cycle at_cycle, uint32_t inst, const std::string& what) {
    const std::string where = tile.program->where(inst);
    observer.faulted({name, what + (where.empty() ? "" : ", at " + where), at_cycle, at});
    faulted = true;
    activity.act();
  }
  // An id that the program has computed.
  bool check_id(int id, int limit, const char* what, Cycle t) {
    if (id < limit) return true;
    fault("illegal-instruction", t, pc,
          "there is no id " + std::to_string(id) + " of " + what + ", ids are 0 to " + std::to_string(limit - 1));
    return false;
  }
};

}  // namespace cs::sim::structural
