// Core: one PE's processor: issues the instructions of the main thread in order, one at a time (docs/timing.md §6), and
// starts tasks (§8). Operations on vectors are the VectorUnit's.
//
// Where the law says that something happens before the cycle in which it is known (an operation retires
// dsd_start_cycles before its last group), the core catches up when it is known, each instruction at its own cycle.
#pragma once

#include "simulator/systemc/structural/config_registers.h"
#include "simulator/systemc/structural/core_state.h"
#include "simulator/systemc/structural/vector_unit.h"

namespace cs::sim::structural {

class Core : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(Core);
  Core(sc_core::sc_module_name, const Surroundings&);

  // A function that the host has called; launches run one after the other.
  void launch(size_t number, int function);
  size_t commands_pending() const { return commands_.size() - next_command_ + (state_.command_ready ? 0 : 1); }
  bool waits() const { return vectors_.any() || commands_pending() != 0; }
  const CoreState& state() const { return state_; }
  Activity& activity() { return state_.activity; }

  // What others can see of it.
  sc_core::sc_signal<bool> running{"running"};           // the main thread has a task
  sc_core::sc_signal<int> task{"task"};                  // index into TileProgram::tasks, -1: none
  sc_core::sc_signal<uint32_t> pc{"pc"};
  sc_core::sc_signal<uint32_t> operations{"operations"};  // at work, a bit per thread

 private:
  struct Command {
    size_t launch = 0;
    int function = 0;  // index into TileProgram::functions
  };

  void execute();
  void run_main();
  void show();
  // ---- tasks
  bool start_task();
  void start_function();
  void end_task(Cycle t);
  Cycle command_ready_at() const;
  // ---- instructions (dispatch.cpp); `t` is the cycle of the instruction; false: the main thread has to wait
  Cycle operands_ready(const Instruction&, Cycle t);
  bool is_seen(const Instruction&) const;
  bool issue(Cycle t);
  bool carry_out(const Instruction&, Cycle t);
  bool scalar(const Instruction&, Cycle t);
  bool mapped(const Instruction&, uint32_t address, Cycle t);
  void jump(const Instruction&, Cycle t);
  bool load_dsr(const Instruction&, Cycle t);
  bool block(const Instruction&, Cycle t);

  CoreState state_;
  VectorUnit vectors_;
  ConfigRegisters config_;
  std::vector<Command> commands_;
  size_t next_command_ = 0;
  Cycle task_begin_ = 0;
  uint32_t task_entry_ = 0;
};

}  // namespace cs::sim::structural
