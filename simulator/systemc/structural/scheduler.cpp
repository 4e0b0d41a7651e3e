// A task that is activated and not blocked may start task_start_cycles after the event that made it so; one that a
// wavelet starts, as long after the wavelet's departure to the ramp.
#include "simulator/systemc/structural/scheduler.h"

#include <algorithm>
#include <bit>

namespace cs::sim::structural {

Scheduler::Scheduler(const Machine& m, const Tile& tile, const InputQueues& queues, const Clocks& clocks,
                     Activity& activity)
    : machine_(m),
      tile_(tile),
      queues_(queues),
      clocks_(clocks),
      activity_(activity),
      activated_(tile.activated),
      blocked_(tile.blocked) {
  for (int id = 0; id < widths::kTaskIds; ++id)
    if (activated_ >> id & 1) event(id, 0, 0);
}

void Scheduler::event(int id, Cycle at, Cycle not_before) {
  Cycle& ready = ready_at_[size_t(id)];
  ready = std::max({ready, at + Cycle(machine_.core.task_start_cycles), not_before});
  activity_.wait_until(ready);
}

void Scheduler::activate(int id, Cycle at, Cycle not_before) {
  const uint64_t bit = uint64_t(1) << id;
  if (activated_ & bit) return;
  activated_ |= bit;
  event(id, at, not_before);
}

void Scheduler::unblock(int id, Cycle at, Cycle not_before) {
  const uint64_t bit = uint64_t(1) << id;
  if (!(blocked_ & bit)) return;
  blocked_ &= ~bit;
  event(id, at, not_before);
}

void Scheduler::set_high(int id, bool high) {
  const uint64_t bit = uint64_t(1) << id;
  high_ = high ? high_ | bit : high_ & ~bit;
}

int Scheduler::control_task_of(const InputQueues::Queue& q, const Wavelet& w) const {
  const int first = q.id >= 0 ? control_table_[size_t(q.id)] : 0;
  return (ControlWord{w.data}.entry_point() + first) % widths::kTaskIds;
}

// When the wavelet at the head of the queue may start a task, and which; kNever if it starts none.
Cycle Scheduler::wavelet_ready(const InputQueues::Queue& q, Kind& kind, int& id) const {
  if (q.held.empty() || q.task_id < 0 || blocked(q.task_id)) return kNever;
  const InputQueues::Arrived& head = q.held.front();
  if (head.wavelet.control) {
    kind = Kind::control;
    id = control_task_of(q, head.wavelet);
    // The id of a data task that nobody bound is blocked from the start; that says nothing about a control task.
    const bool unbound = (tile_.blocked >> id & 1) && tile_.data_task[size_t(id)] < 0;
    if (blocked(id) && !unbound && tile_.control_task[size_t(id)] >= 0) return kNever;
  } else {
    kind = Kind::data;
    id = q.task_id;
    if (tile_.data_task[size_t(id)] < 0) return kNever;
  }
  const Cycle start = Cycle(std::max(machine_.ramp.down_cycles, machine_.core.task_start_cycles));
  return std::max(head.departed + start, ready_at_[size_t(q.task_id)]);
}

bool Scheduler::choose(Cycle command, Choice& best) const {
  constexpr int kChoices = 4 * widths::kTaskIds;
  int best_turn = 2 * kChoices;
  const auto offer = [&](Cycle ready, const Choice& c, int class_id) {
    if (ready > clocks_.cycle) {
      activity_.wait_until(ready);
      return;
    }
    const int place = int(c.kind) * widths::kTaskIds + c.id;
    int turn = (place - last_ - 1 + kChoices) % kChoices;
    if (class_id < 0 || !high(class_id)) turn += kChoices;  // behind those of high priority
    if (turn >= best_turn) return;
    best_turn = turn;
    best = c;
  };
  for (uint64_t rest = activated_ & ~blocked_ & tile_.local_ids; rest != 0; rest &= rest - 1) {
    const int id = std::countr_zero(rest);
    offer(ready_at_[size_t(id)], {Kind::local, id, 0}, id);
  }
  for (size_t i = 0; i < queues_.all().size(); ++i) {
    const InputQueues::Queue& q = queues_.at(i);
    Choice c{Kind::data, 0, i};
    const Cycle ready = wavelet_ready(q, c.kind, c.id);
    offer(ready, c, q.task_id);
  }
  offer(command, {Kind::function, 0, 0}, -1);
  return best_turn < 2 * kChoices;
}

void Scheduler::taken(const Choice& c) {
  last_ = int(c.kind) * widths::kTaskIds + c.id;
  if (c.kind == Kind::local) activated_ &= ~(uint64_t(1) << c.id);
}

}  // namespace cs::sim::structural
