// Configuration of queues, the events that activate the task of id 29, and registers that are state of the core alone.
//
//   bind     a queue gets another color
//   flush    the program wants to know when a queue is empty (@queue_flush)
//   teardown a color's router stopped at the command of a control wavelet

#include <algorithm>
#include <bit>

#include "simulator/engine/core.h"

namespace cs::sim {

void Core::write_queue(uint16_t address, uint16_t value) {
  const int queue = address % widths::kQueues;
  if (address >= isa::kInputFlush) {
    const uint32_t bit = 1u << (queue + (address >= isa::kOutputFlush ? kOutputBit : 0));
    if (value != 0) {
      pe_.settings.change().flush_wanted |= bit;
      check_flush();
    } else {
      pe_.settings.change().flush_done &= ~bit;
    }
  } else if (!check_id(value, world_.machine.router.colors, "a color", now_)) {
    return;
  } else if (address >= isa::kOutputColor) {
    pe_.settings.change().output_color[size_t(queue)] = int8_t(value);
  } else {
    bind_input(queue, value);
  }
}

// The queue gets another color; wavelets of the color before stay with it.
void Core::bind_input(int queue, int color) {
  for (size_t i = 0; i < pe_.inputs.size(); ++i) {
    InputQueue& q = pe_.inputs[i];
    if (q.id != queue) continue;
    pe_.input_of_color[q.color] = 0xFF;
    if (ColorNode* n = block_.find_node(pe_.index, q.color)) block_.set_queue(*n, 0xFF);
    q.color = uint8_t(color);
    if (!world_.machine.queues.data_task_on_queue) q.task_id = int8_t(color);
    pe_.input_of_color[size_t(color)] = uint8_t(i);
    ColorNode* n = block_.find_node(pe_.index, color);
    if (n == nullptr) return;
    block_.set_queue(*n, uint8_t(i));
    block_.wake_node(uint32_t(n - block_.nodes.data()), now_);
    return;
  }
}

// Lane of an output queue's color at our router; null without a color or route.
Lane* Core::output_lane(int queue) const {
  const int color = pe_.settings->output_color[size_t(queue)];
  ColorNode* n = color < 0 ? nullptr : block_.find_node(pe_.index, color);
  const uint32_t lane = n ? block_.lane_of(*n, Port::ramp) : ~0u;
  return lane == ~0u ? nullptr : &block_.lanes[lane];
}

// Of an output queue: its last wavelet has reached the lane of its router.
bool Core::queue_empty(int bit) const {
  if (bit >= kOutputBit) {
    const Lane* l = output_lane(bit - kOutputBit);
    if (l == nullptr || l->count == 0) return true;
    return taken_at_start(*l) <= world_.machine.router.lane_depth_wavelets &&
           entry_wait(block_.lane_back(*l), now_) == 0;
  }
  for (const InputQueue& q : pe_.inputs)
    if (q.id == bit) return q.count == 0;
  return true;
}

uint16_t Core::queue_bits(bool output, bool full) const {
  uint16_t bits = 0;
  const auto& words = output ? world_.machine.queues.output_words : world_.machine.queues.input_words;
  for (int queue = 0; queue < int(words.size()); ++queue) {
    bool set = queue_empty(queue + (output ? kOutputBit : 0));
    if (full) {
      set = false;
      const Lane* l = output ? output_lane(queue) : nullptr;
      if (l) set = taken_at_start(*l) >= words[size_t(queue)] + world_.machine.router.lane_depth_wavelets;
      for (const InputQueue& q : pe_.inputs) set |= !output && q.id == queue && q.count >= q.words;
    }
    bits |= uint16_t(set) << queue;
  }
  return bits;
}

// Queues that were flushed and are empty now: the task that looks after them runs.
void Core::check_flush() {
  for (uint32_t rest = pe_.settings->flush_wanted; rest != 0; rest &= rest - 1) {
    const int bit = std::countr_zero(rest);
    if (queue_empty(bit)) {
      pe_.settings.change().flush_wanted &= ~(1u << bit);
      pe_.settings.change().flush_done |= 1u << bit;
      activate(isa::kTeardownTask, now_);
    } else if (bit >= kOutputBit) {
      Lane& l = *output_lane(bit - kOutputBit);
      if (l.count > world_.machine.router.lane_depth_wavelets)
        l.flags |= Lane::core_waits;
      else
        block_.wake(pe_, now_ + std::max<Cycle>(1, entry_wait(block_.lane_back(l), now_)));
    }
  }
}

// ---- teardown

// Called while the routers work, also when the core has run ahead: the activation survives a return.
void Core::enter_teardown(int color) {
  pe_.settings.change().teardowns |= 1u << color;
  // If the task is active already, whoever activated it made the core look at it, and its ready_at may lie in the past.
  const bool pending = pe_.activated >> isa::kTeardownTask & 1;
  activate(isa::kTeardownTask, now_);
  const int s = slot(isa::kTeardownTask);
  if (pe_.ahead) {
    MainState& main = pe_.ahead->main;
    main.activated |= uint64_t(1) << isa::kTeardownTask;
    if (s >= 0 && size_t(s) < main.ready_at.size()) main.ready_at[size_t(s)] = pe_.ready_at[size_t(s)];
  }
  if (s >= 0 && !pe_.running && !pending) block_.wake(pe_, pe_.ready_at[size_t(s)]);
}

const CoreSettings SharedSettings::kNone;

bool set_config(CoreSettings& all, uint16_t address, uint16_t value) {
  if (address >= isa::kTaskPriority && address < isa::kColorConfig) {
    const uint64_t bit = uint64_t(1) << (address - isa::kTaskPriority);
    all.high_tasks = value ? all.high_tasks | bit : all.high_tasks & ~bit;
  } else if (address >= isa::kControlTable && address < isa::kQueueEnd) {
    all.control_table[address - isa::kControlTable] = uint8_t(value % widths::kTaskIds);
  } else if (address == uint16_t(isa::ConfigReg::main_priority)) {
    all.main_priority = uint8_t(std::min<uint16_t>(value, 3));
  } else if (address == uint16_t(isa::ConfigReg::transform_mask)) {
    all.transform_mask = value % widths::kTaskIds;
  } else if (address == uint16_t(isa::ConfigReg::exceptions)) {
    all.exceptions = value;
  } else {
    return false;
  }
  return true;
}

}  // namespace cs::sim
