// The ramp itself holds as many wavelets as are on their way through it, so a queue never limits the rate.
#include "simulator/systemc/structural/input_queues.h"

#include <algorithm>

namespace cs::sim::structural {

// NOLINTNEXTLINE(performance-unnecessary-value-param)
InputQueues::InputQueues(sc_core::sc_module_name name, Clocks& clocks, const Machine& m, Router& router,
                         const Tile* tile)
    : sc_module(name), clocks_(clocks), machine_(m), router_(router), of_color_(widths::kColors, -1) {
  if (tile != nullptr)
    for (const QueueBinding& b : tile->inputs) {
      Queue q;
      q.id = b.queue;
      q.color = b.color;
      q.priority = b.priority;
      q.words = b.queue < m.queues.input_words.size() ? m.queues.input_words[b.queue] : 1;
      q.task_id = m.queues.data_task_on_queue ? b.queue : b.color;
      add(std::move(q));
    }
  SC_METHOD(deliver);
  sensitive << clocks.deliver.posedge_event();
  dont_initialize();
  SC_METHOD(publish);
  sensitive << clocks.commit.posedge_event();
  dont_initialize();
}

void InputQueues::add(Queue q) {
  q.depth = std::max(q.words, machine_.ramp.down_cycles + 1);
  of_color_[size_t(q.color)] = int(queues_.size());
  queues_.push_back(std::move(q));
}

int InputQueues::of_color(int color) {
  if (!bound(color)) {
    Queue q;
    q.color = color;
    q.words = machine_.router.lane_depth_wavelets;
    if (!machine_.queues.data_task_on_queue) q.task_id = color;
    add(std::move(q));
  }
  return of_color_[size_t(color)];
}

int InputQueues::of_queue(int id) const {
  for (size_t i = 0; i < queues_.size(); ++i)
    if (queues_[i].id == id) return int(i);
  return -1;
}

// Wavelets of the color before stay with the queue.
void InputQueues::bind(int id, int color) {
  const int index = of_queue(id);
  if (index < 0) return;
  Queue& q = queues_[size_t(index)];
  of_color_[size_t(q.color)] = -1;
  q.color = color;
  if (!machine_.queues.data_task_on_queue) q.task_id = color;
  of_color_[size_t(color)] = index;
}

void InputQueues::pop(size_t i) {
  Queue& q = queues_[i];
  if (q.messages) {
    if (q.message_left == 0)
      q.message_left = isa::MessageHeader::of(q.front().data).length;
    else
      --q.message_left;
  }
  q.held.pop_front();
}

void InputQueues::deliver() {
  for (const Wavelet& w : router_.to_core.read()) {
    Queue& q = queues_[size_t(of_color(w.color))];
    q.held.push_back({w, clocks_.cycle});
    q.messages |= w.message;
    activity.act();
    activity.wait_until(clocks_.cycle + Cycle(machine_.ramp.down_cycles));
  }
}

// Room as the router sees it in the next cycle.
void InputQueues::publish() {
  uint32_t room = ~0u;
  for (const Queue& q : queues_)
    if (of_color_[size_t(q.color)] >= 0 && &queues_[size_t(of_color_[size_t(q.color)])] == &q && q.full())
      room &= ~(1u << q.color);
  if (router_.queue_room.read() != room) router_.queue_room.write(room);
}

}  // namespace cs::sim::structural
