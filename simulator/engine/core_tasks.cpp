// Scheduling of tasks, sleeping until something can happen, and accounting of cycles.
//
// Candidates for the main thread: activated local tasks, wavelets at queue heads (data and control tasks),
// the next launched function. Each has the cycle from which it may start; among those that may, the next in
// the circular order of (kind, id) after the one chosen last runs.

#include <algorithm>
#include <bit>

#include "simulator/engine/core.h"

namespace cs::sim {
namespace {

enum Kind { kData = 0, kControl = 1, kLocal = 2, kFunction = 3 };

}  // namespace

void Core::activate(int id, Cycle at, Cycle not_before) {
  uint64_t bit = uint64_t(1) << id;
  if (pe_.activated & bit) return;
  pe_.activated |= bit;
  pe_.tasks_changed = true;
  int s = slot(id);
  if (s >= 0)
    pe_.ready_at[size_t(s)] =
        std::max({pe_.ready_at[size_t(s)], at + Cycle(world_.machine.core.task_start_cycles), not_before});
}

void Core::unblock(int id, Cycle at, Cycle not_before) {
  uint64_t bit = uint64_t(1) << id;
  if (!(pe_.blocked & bit)) return;
  pe_.blocked &= ~bit;
  pe_.tasks_changed = true;
  int s = slot(id);
  if (s >= 0)
    pe_.ready_at[size_t(s)] =
        std::max({pe_.ready_at[size_t(s)], at + Cycle(world_.machine.core.task_start_cycles), not_before});
}

// The control task that a control wavelet of this queue names.
int Core::control_task_of(const InputQueue& q, Entry w) const {
  const int base = q.id < widths::kQueues ? pe_.settings->control_table[q.id] : 0;
  return (control_entry(entry_data(w)) + base) % widths::kTaskIds;
}

// When the wavelet at the head of the queue may start a task, and which; kNever if it starts none.
Cycle Core::queue_ready(const InputQueue& q, int& kind, int& id) const {
  if (q.count == 0 || q.task_id < 0 || (pe_.blocked >> q.task_id & 1)) return kNever;
  const Entry w = q.front();
  const bool control = (w & kEntryControl) != 0;
  const TileImage& tile = *pe_.tile;
  kind = control ? kControl : kData;
  id = control ? control_task_of(q, w) : q.task_id;
  if (!control && tile.data_task[size_t(id)] < 0) return kNever;
  // The id of a data task that nobody bound is blocked from the start; that says nothing about a control task's.
  const bool unbound = (tile.blocked >> id & 1) && tile.data_task[size_t(id)] < 0;
  if (control && (pe_.blocked >> id & 1) && !unbound && tile.control_task[size_t(id)] >= 0) return kNever;
  const Machine& m = world_.machine;
  Cycle ready = now_ - entry_age(w, now_) + Cycle(std::max(m.ramp.down_cycles, m.core.task_start_cycles));
  if (int s = slot(q.task_id); s >= 0) ready = std::max(ready, pe_.ready_at[size_t(s)]);
  return ready;
}

Cycle Core::command_ready() const {
  if (pe_.next_command == pe_.commands.size() || !pe_.command_ready) return kNever;
  const Launch& launch = world_.launches[pe_.commands[pe_.next_command]];
  return std::max(launch.not_before, pe_.command_ready_at) + Cycle(world_.machine.launch_cycles());
}

Cycle Core::next_task() {
  if (!pe_.tasks_changed) return pe_.next_task;
  pe_.tasks_changed = false;
  Cycle best = command_ready();
  for (uint64_t rest = pe_.activated & ~pe_.blocked & pe_.tile->local_ids; rest != 0; rest &= rest - 1)
    best = std::min(best, pe_.ready_at[size_t(slot(std::countr_zero(rest)))]);
  int kind = 0, id = 0;
  for (const InputQueue& q : pe_.inputs) best = std::min(best, queue_ready(q, kind, id));
  return pe_.next_task = best == kNever ? best : std::max(best, pe_.free_at);
}

bool Core::pick_task() {
  if (next_task() > now_) return false;
  int best_kind = -1, best_id = 0, best_turn = 1 << 20;
  size_t best_queue = 0;
  auto offer = [&](Cycle ready, int kind, int id, size_t queue) {
    if (ready > now_) return;
    const int class_id = kind == kControl ? pe_.inputs[queue].task_id : id;
    const bool high = kind != kFunction && class_id >= 0 && (pe_.settings->high_tasks >> class_id & 1);
    constexpr int kChoices = 4 * widths::kTaskIds;
    const int own = kind * widths::kTaskIds + id;
    const int turn = (own - pe_.last_choice - 1 + kChoices) % kChoices + (high ? 0 : kChoices);
    if (turn >= best_turn) return;
    best_turn = turn;
    best_kind = kind;
    best_id = id;
    best_queue = queue;
  };
  for (uint64_t rest = pe_.activated & ~pe_.blocked & pe_.tile->local_ids; rest != 0; rest &= rest - 1) {
    int id = std::countr_zero(rest);
    offer(pe_.ready_at[size_t(slot(id))], kLocal, id, 0);
  }
  for (size_t i = 0; i < pe_.inputs.size(); ++i) {
    int kind = 0, id = 0;
    Cycle ready = queue_ready(pe_.inputs[i], kind, id);
    offer(ready, kind, id, i);
  }
  offer(command_ready(), kFunction, 0, 0);
  if (best_kind < 0) return false;
  start_task(best_kind, best_id, best_queue);
  return true;
}

void Core::start_task(int kind, int id, size_t queue) {
  const TileImage& tile = *pe_.tile;
  block_.ensure_memory(pe_);
  pe_.last_choice = uint16_t(kind * widths::kTaskIds + id);
  pe_.tasks_changed = true;
  pe_.function = pe_.task = -1;
  uint32_t data = 0;
  if (world_.details) [[unlikely]] {
    const bool by_wavelet = kind == kData || kind == kControl;
    world_.details->begin({pe_.at, now_, by_wavelet ? int(pe_.inputs[queue].color) : -1, kind == kFunction});
  }
  if (kind == kData || kind == kControl) {
    const InputQueue& q = pe_.inputs[queue];
    data = entry_data(q.front());
    const bool last_of_message = q.messages && q.message_left == 1;
    pop_input(queue);
    if (last_of_message) return;  // it only ends the message: no task sees it
  }
  if (kind == kLocal) pe_.activated &= ~(uint64_t(1) << id);
  if (kind == kFunction) {
    start_function();
  } else {
    auto& table = kind == kData ? tile.data_task : kind == kControl ? tile.control_task : tile.local_task;
    pe_.task = table[size_t(id)];
    if (pe_.task < 0) return;  // a control wavelet for nobody: taken and forgotten
    pe_.pc = tile.program->tasks[size_t(pe_.task)].entry;
  }
  if (pe_.task >= 0 && kind != kLocal) {
    switch (tile.program->tasks[size_t(pe_.task)].args) {
      case TaskArgs::none:
        break;
      case TaskArgs::word:
        pe_.regs.set_pair(0, data);
        break;
      case TaskArgs::half:
        pe_.regs.r[0] = uint16_t(data);
        break;
      case TaskArgs::half_and_index:
        pe_.regs.r[0] = uint16_t(data);
        pe_.regs.r[1] = uint16_t(data >> 16);
        break;
    }
  }
  pe_.regs.r[size_t(isa::link_register(world_.machine))] = uint16_t(isa::kReturnToScheduler);
  pe_.running = true;
  pe_.ready = now_;
  pe_.task_begin = now_;
  pe_.task_entry = pe_.pc;
  if (pe_.stats.tasks++ == 0) pe_.stats.first_task = now_;
}

// Arguments become parameters in memory; the command stream is taken until the program gives it back.
void Core::start_function() {
  pe_.launch = pe_.commands[pe_.next_command++];
  pe_.launched_at = now_;
  block_.launches[pe_.launch].begins(now_);
  const Launch& launch = world_.launches[pe_.launch];
  if (pe_.next_command == pe_.commands.size()) {
    pe_.commands.clear();
    pe_.next_command = 0;
  }
  --block_.commands_waiting;
  ++block_.streams_not_ready;
  pe_.command_ready = false;
  const TileProgram& program = *pe_.tile->program;
  const Function* f = program.function(launch.name);
  pe_.function = pe_.launched = int16_t(f - program.functions.data());
  pe_.pc = f->entry;
  for (size_t i = 0; i < f->parameters.size() && i < launch.args.size(); ++i) {
    const Parameter& p = f->parameters[i];
    size_t bytes = size_t(data_type_bytes(p.type));
    if (!pe_.memory.holds(p.address, int64_t(p.address + bytes))) continue;
    for (size_t k = 0; k < bytes; ++k) *pe_.memory.at(uint32_t(p.address + k)) = uint8_t(launch.args[i] >> (8 * k));
  }
}

void Core::pop_input(size_t queue) {
  InputQueue& q = pe_.inputs[queue];
  if (q.messages) {
    if (q.message_left == 0)
      q.message_left = uint8_t(isa::MessageHeader::of(entry_data(q.front())).length);
    else
      --q.message_left;
  }
  q.pop();
  if (q.count == 0 && q.id < widths::kQueues && (pe_.settings->flush_wanted >> q.id & 1)) block_.wake(pe_, now_ + 1);
  if (q.task_id >= 0 && !(pe_.blocked >> q.task_id & 1)) pe_.tasks_changed = true;
  if (!q.lane_waits) return;
  q.lane_waits = false;
  if (ColorNode* n = block_.find_node(pe_.index, q.color))
    block_.wake_node(uint32_t(n - block_.nodes.data()), now_);
}

// `t` is the cycle of the task's last instruction.
void Core::end_task(Cycle t) {
  pe_.running = false;
  pe_.tasks_changed = true;
  pe_.free_at = std::max(t + Cycle(std::max(1, world_.machine.core.task_switch_cycles)), pe_.last_group);
  pe_.stats.last_task_end = t + 1;
  if (world_.trace)
    world_.trace->task({pe_.at, pe_.task_begin, t + 1, pe_.task, pe_.function, -1, pe_.task_entry});
}

// What an operation only takes from its queue (a control wavelet, what @dfilt drops, a header) needs no datapath.
bool Core::needs_datapath(const VectorOp& op) const {
  for (const Cursor* c : {&op.a, &op.b}) {
    if (c->kind != Cursor::Kind::fabin || c->half != 0) continue;
    const InputQueue& q = pe_.inputs[c->queue];
    if (q.count == 0) continue;
    if (c->drops || (q.messages && q.message_left == 0)) return false;
    if ((q.front() & kEntryControl) && !c->transform) return false;
  }
  return true;
}

// The next cycle worth looking at, and what the time until then counts as.
void Core::sleep() {
  Cycle next = kNever;
  int why = -1, thread = -1, queue = -1;
  uint32_t inst = pe_.pc;
  for (uint32_t rest = pe_.active; rest != 0; rest &= rest - 1) {
    int t = std::countr_zero(rest);
    const VectorOp& op = *pe_.ops[size_t(t)];
    if (!op.waits && !(t < kMainThread && (pe_.threads_blocked >> t & 1))) {
      const Cycle due = std::max(op.next, now_ + 1);
      next = std::min(next, pe_.datapath_free > due && needs_datapath(op) ? pe_.datapath_free : due);
    }
    if (why < 0 || t == kMainThread) {
      why = int(op.why);
      thread = t == kMainThread ? -1 : t;
      queue = op.waits_queue;
      inst = op.inst;
    }
  }
  if (pe_.running && !(pe_.active >> kMainThread & 1) && !pe_.waits_thread) {
    if (pe_.ready != kNever)
      next = std::min(next, std::max({pe_.ready, now_ + 1, is_ahead() ? ahead_until() - 1 : 0}));
    why = int(Stall::dependency);
    thread = queue = -1;
    inst = pe_.pc;
  } else if (!pe_.running) {
    Cycle task = next_task();
    if (task != kNever) {
      next = std::min(next, std::max(task, now_ + 1));
      const Machine::Core& core = world_.machine.core;
      // From the last cycle in which it did something, not from this look: it may have run ahead.
      const Cycle since = std::max(now_, pe_.accounted == 0 ? 0 : pe_.accounted - 1);
      const bool soon = task <= since + Cycle(core.task_start_cycles + core.task_switch_cycles);
      if (soon || why < 0) why = soon ? int(Stall::dispatch) : -1;
      if (soon) thread = queue = -1;
    }
  }
  // What the core has done ahead of time is work of cycles to come: the run does not end before them.
  if (next == kNever && pe_.accounted > now_ + 1) next = pe_.accounted - 1;
  pe_.why = int8_t(why);
  pe_.why_thread = int8_t(thread);
  pe_.why_queue = int8_t(queue);
  pe_.why_inst = inst;
  if (next != kNever) block_.wake(pe_, next);
}

void Core::account_gap(Cycle until, int why, int thread, int queue, uint32_t inst) {
  if (until <= pe_.accounted) return;
  if (why >= 0) {
    pe_.stats.stalls[size_t(why)] += until - pe_.accounted;
    if (world_.trace) world_.trace->stall({pe_.at, pe_.accounted, until, Stall(why), thread, queue, inst});
  }
  pe_.accounted = until;
}

void Core::account_busy(Cycle t, Work what, uint64_t cycles) {
  Cycle end = t + cycles;
  if (end <= pe_.accounted) return;
  const uint64_t more = end - std::max(t, pe_.accounted);
  pe_.stats.busy += more;
  if (what == Work::memory) pe_.stats.memory_groups += more;
  if (what == Work::fabric) pe_.stats.fabric_groups += more;
  pe_.accounted = end;
}

}  // namespace cs::sim
