// Scheduler: tasks of one core, from the events that make them runnable to the choice of the next one
// (docs/timing.md §8).
#pragma once

#include <array>

#include "simulator/systemc/structural/input_queues.h"

namespace cs::sim::structural {

class Scheduler {
 public:
  enum class Kind : uint8_t { data, control, local, function };
  struct Choice {
    Kind kind = Kind::local;
    int id = 0;
    size_t queue = 0;  // of data and control tasks: index in InputQueues
  };

  Scheduler(const Machine&, const Tile&, const InputQueues&, const Clocks&, Activity&);

  void activate(int id, Cycle at, Cycle not_before = 0);
  void block(int id) { blocked_ |= uint64_t(1) << id; }
  void unblock(int id, Cycle at, Cycle not_before = 0);
  bool blocked(int id) const { return blocked_ >> id & 1; }
  void set_high(int id, bool high);
  bool high(int id) const { return high_ >> id & 1; }
  void taken(const Choice&);  // it starts
  int control_task_of(const InputQueues::Queue&, const Wavelet&) const;
  // The task that may start at the latest now and whose turn it is; `command`: when a launched function may.
  bool choose(Cycle command, Choice&) const;
  void set_control_table(int queue, int first) { control_table_[size_t(queue)] = first; }
  int control_table(int queue) const { return control_table_[size_t(queue)]; }

 private:
  void event(int id, Cycle at, Cycle not_before);
  Cycle wavelet_ready(const InputQueues::Queue&, Kind&, int& id) const;

  const Machine& machine_;
  const Tile& tile_;
  const InputQueues& queues_;
  const Clocks& clocks_;
  Activity& activity_;
  uint64_t activated_, blocked_, high_ = 0;
  std::array<Cycle, widths::kTaskIds> ready_at_{};
  std::array<int, widths::kQueues> control_table_{};
  int last_ = 0;  // place of the one that ran last in the order of (kind, id)
};

}  // namespace cs::sim::structural
