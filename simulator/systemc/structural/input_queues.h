// InputQueues: the core's end of the ramp (docs/timing.md §5). A queue holds one color; a color without a queue has one
// of its own, as deep as a lane. What departed to the ramp in cycle t may be used from t + ramp.down_cycles on.
#pragma once

#include <deque>
#include <vector>

#include "runtime/machine/machine.h"
#include "simulator/systemc/structural/router.h"
#include "simulator/systemc/structural/tile.h"

namespace cs::sim::structural {

class InputQueues : public sc_core::sc_module {
 public:
  SC_HAS_PROCESS(InputQueues);
  struct Arrived {
    Wavelet wavelet;
    Cycle departed = 0;
  };
  struct Queue {
    int id = -1;  // -1: a color without a queue
    int color = 0;
    int words = 0, depth = 0;  // as configured, in force
    int task_id = -1;          // of its data task
    int priority = 0;
    uint32_t readers = 0;  // threads with an operation on it, a bit each
    bool messages = false;
    int message_left = 0;  // wavelets of the message at the head
    std::deque<Arrived> held;
    bool full() const { return int(held.size()) >= depth; }
    const Wavelet& front() const { return held.front().wavelet; }
  };

  InputQueues(sc_core::sc_module_name, Clocks&, const Machine&, Router&, const Tile*);

  std::vector<Queue>& all() { return queues_; }
  const std::vector<Queue>& all() const { return queues_; }
  Queue& at(size_t i) { return queues_[i]; }
  const Queue& at(size_t i) const { return queues_[i]; }
  int of_color(int color);     // its index; a color without a queue gets one
  int of_queue(int id) const;  // -1: no color is bound to it
  bool bound(int color) const { return of_color_[size_t(color)] >= 0; }
  void pop(size_t i);
  void bind(int id, int color);

  Activity activity;

 private:
  void deliver();
  void publish();
  void add(Queue);

  Clocks& clocks_;
  const Machine& machine_;
  Router& router_;
  std::vector<Queue> queues_;
  std::vector<int> of_color_;
};

}  // namespace cs::sim::structural
