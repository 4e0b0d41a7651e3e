// Ranges of indices, by struct.
#include "simulator/engine/state_check.h"

#include <algorithm>

namespace cs::sim {
namespace {

// An index, or -1.
template <class T>
bool is_index(T i, size_t limit) {
  return int64_t(i) >= -1 && int64_t(i) < int64_t(limit);
}

bool good_cursor(const Pe& p, const Cursor& c) {
  if ((c.kind != Cursor::Kind::none && c.bytes != 1 && c.bytes != 2 && c.bytes != 4)) return false;
  switch (c.kind) {
    case Cursor::Kind::fabin:
      return c.queue < p.inputs.size();
    case Cursor::Kind::fabout:
      return c.queue < widths::kQueues && c.lane() != ~0u;
    case Cursor::Kind::fifo:
      return c.queue < p.fifo_count();
    case Cursor::Kind::reg:
      return true;
    default:
      return c.low <= c.last;
  }
}

bool good_operation(const Pe& p, const VectorOp& op) {
  const auto saved = [&](int8_t i) { return is_index(i, p.dsrs.size()); };
  return op.inst < p.tile->code.size() && op.element != nullptr && op.element->fn != nullptr && op.done <= op.total &&
         op.group >= 1 && op.group_cycles >= 1 && good_cursor(p, op.dst) && good_cursor(p, op.a) &&
         good_cursor(p, op.b) && is_index(op.waits_queue, widths::kQueues) &&
         is_index(op.waits_fifo, p.fifo_count()) && std::all_of(op.saves.begin(), op.saves.end(), saved);
}

bool good_queue(const InputQueue& q) {
  return is_index(q.task_id, widths::kTaskIds) && q.color < widths::kColors &&
         (q.id == 0xFF || q.id < widths::kQueues);
}

bool good_tables(const Pe& p) {
  const auto input = [&](uint8_t i) { return i == 0xFF || i < p.inputs.size(); };
  const auto color = [](int8_t c) { return is_index(c, widths::kColors); };
  return std::all_of(p.input_of_color.begin(), p.input_of_color.end(), input) &&
         std::all_of(p.output_last.begin(), p.output_last.end(), color) &&
         std::all_of(p.settings->output_color.begin(), p.settings->output_color.end(), color) &&
         std::all_of(p.inputs.begin(), p.inputs.end(), good_queue);
}

bool good_launches(const Pe& p, const World& world) {
  const auto launch = [&](uint32_t i) { return i < world.launches.size(); };
  return p.next_command <= p.commands.size() && std::all_of(p.commands.begin(), p.commands.end(), launch) &&
         (p.launch == 0 || launch(p.launch));
}

}  // namespace

bool plausible(const Pe& p, const World& world) {
  if (!good_tables(p) || !is_index(p.why, size_t(kStalls)) || p.wanted_thread >= kThreads || p.settings->prng >= 4)
    return false;
  if (p.tile == nullptr) return p.active == 0 && !p.running && p.dsrs.empty() && p.commands.empty();
  const TileProgram& program = *p.tile->program;
  if (p.dsrs.size() != p.tile->dsrs || p.ready_at.size() != size_t(p.tile->slots) ||
      !is_index(p.task, program.tasks.size()) ||
      !is_index(p.function, program.functions.size()) || !is_index(p.launched, program.functions.size()) ||
      !good_launches(p, world) || p.active >> kThreads != 0)
    return false;
  for (size_t thread = 0; thread < p.ops.size(); ++thread) {
    const VectorOp* op = p.ops[thread];
    if (op == nullptr ? (p.active >> thread & 1) != 0 : !good_operation(p, *op)) return false;
  }
  const bool rests = !p.running && p.active == 0;
  return rests || !p.memory.empty();
}

}  // namespace cs::sim
