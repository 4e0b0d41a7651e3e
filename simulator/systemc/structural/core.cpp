// The execute phase of a core, and its tasks.
#include "simulator/systemc/structural/core.h"

#include <algorithm>

namespace cs::sim::structural {

// NOLINTNEXTLINE(performance-unnecessary-value-param)
Core::Core(sc_core::sc_module_name name, const Surroundings& s)
    : sc_module(name), state_(s), vectors_(state_), config_(state_) {
  task.write(-1);
  SC_METHOD(execute);
  sensitive << s.clocks.execute.posedge_event();
  dont_initialize();
}

void Core::execute() {
  if (state_.faulted) return;
  config_.take_teardowns();
  if (vectors_.any()) vectors_.step();
  config_.look_at_queues();
  if (!state_.faulted) run_main();
  if (state_.activity.acted) show();
}

void Core::run_main() {
  for (;;) {
    if (!state_.running) {
      if (!start_task()) return;
      continue;
    }
    if (vectors_.busy(kMainThread) || state_.wanted_thread >= 0) return;
    state_.activity.wait_until(state_.ready);
    if (state_.ready > state_.now() || !issue(state_.ready)) return;
  }
}

void Core::show() {
  running.write(state_.running);
  task.write(state_.running ? state_.task : -1);
  pc.write(state_.pc);
  uint32_t at_work = 0;
  for (int thread = 0; thread < kThreads; ++thread) at_work |= uint32_t(vectors_.busy(thread)) << thread;
  operations.write(at_work);
}

// ---- tasks

void Core::launch(size_t number, int function) { commands_.push_back({number, function}); }

Cycle Core::command_ready_at() const {
  if (next_command_ == commands_.size() || !state_.command_ready) return kNever;
  const Cycle issued = state_.launches[commands_[next_command_].launch].span.issued;
  return std::max(issued, state_.command_ready_at) + Cycle(state_.machine.launch_cycles());
}

// False: none may start now.
bool Core::start_task() {
  CoreState& s = state_;
  Scheduler::Choice c;
  s.activity.wait_until(s.free_at);
  if (!s.scheduler.choose(command_ready_at(), c) || s.free_at > s.now()) return false;
  using Kind = Scheduler::Kind;
  s.scheduler.taken(c);
  s.activity.act();
  s.task = s.function = -1;
  uint32_t data = 0;
  if (c.kind == Kind::data || c.kind == Kind::control) {
    const InputQueues::Queue& q = s.inputs.at(c.queue);
    data = q.front().data;
    const bool ends_message = q.messages && q.message_left == 1;
    s.inputs.pop(c.queue);
    if (ends_message) return true;  // no task sees it
  }
  if (c.kind == Kind::function) {
    start_function();
  } else {
    const Tile::Tasks& table = c.kind == Kind::data      ? s.tile.data_task
                               : c.kind == Kind::control ? s.tile.control_task
                                                         : s.tile.local_task;
    s.task = table[size_t(c.id)];
    if (s.task < 0) return true;  // a control wavelet for nobody: taken and forgotten
    const TaskBinding& task = s.tile.program->tasks[size_t(s.task)];
    s.pc = task.entry;
    if (c.kind != Kind::local && task.args != TaskArgs::none) {
      s.regs.r[0] = uint16_t(data);
      if (task.args != TaskArgs::half) s.regs.r[1] = uint16_t(data >> 16);
    }
  }
  s.regs.r[size_t(isa::link_register(s.machine))] = uint16_t(isa::kReturnToScheduler);
  s.running = true;
  s.ready = task_begin_ = s.now();
  task_entry_ = s.pc;
  return true;
}

// Arguments become parameters in memory; the command stream is taken until the program gives it back.
void Core::start_function() {
  CoreState& s = state_;
  const Command command = commands_[next_command_++];
  Launch& launch = s.launches[command.launch];
  launch.begins(s.now());
  s.launch = command.launch;
  s.launched_at = s.now();
  s.command_ready = false;
  s.function = command.function;
  const Function& f = s.tile.program->functions[size_t(command.function)];
  s.pc = f.entry;
  for (size_t i = 0; i < std::min(f.parameters.size(), launch.args.size()); ++i) {
    const Parameter& p = f.parameters[i];
    const size_t bytes = size_t(data_type_bytes(p.type));
    if (!s.memory.holds(p.address, int64_t(p.address + bytes))) continue;
    for (size_t k = 0; k < bytes; ++k) *s.memory.at(uint32_t(p.address + k)) = uint8_t(launch.args[i] >> (8 * k));
  }
}

// `t` is the cycle of the task's last instruction. No task starts before the last group of the main thread's
// operations.
void Core::end_task(Cycle t) {
  CoreState& s = state_;
  s.running = false;
  s.free_at = std::max(t + Cycle(std::max(1, s.machine.core.task_switch_cycles)), s.last_group);
  s.observer.ended({s.at, task_begin_, t + 1, s.task, s.function, -1, task_entry_});
}

}  // namespace cs::sim::structural
