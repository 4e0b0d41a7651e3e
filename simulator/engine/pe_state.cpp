// Copies the state of one PE out of the engine.
#include "simulator/engine/pe_state.h"

#include <fmt/format.h>

#include <bit>

#include "simulator/engine/engine_impl.h"
#include "simulator/engine/together_messages.h"
#include "simulator/engine/waiting.h"

namespace cs::sim {
namespace {

const char* kind_name(TaskKind kind) {
  switch (kind) {
    case TaskKind::data:
      return "data";
    case TaskKind::control:
      return "control";
    default:
      return "local";
  }
}

std::string what_it_waits_for(const Pe& p, const VectorOp& op, int thread) {
  if (thread < kMainThread && (p.threads_blocked >> thread & 1)) return "to be unblocked";
  if (op.waits_fifo >= 0)
    return fmt::format("{} FIFO {}", op.why == Stall::output ? "room in" : "an element of", op.waits_fifo);
  if (!op.waits) return "";
  if (op.why == Stall::output) return fmt::format("room on color {}", op.dst.color);
  const InputQueue& q = p.inputs[awaited(p, op).queue];
  return fmt::format("wavelets of color {}{}", q.color,
                     q.id == 0xFF ? "" : fmt::format(" on input queue {}", q.id));
}

void add_program(const Pe& p, PeState& s) {
  const TileProgram& program = *p.tile->program;
  s.tile = program.name;
  if (p.running) {
    s.running = thread_name(p, kMainThread);
    s.inst = p.pc;
    s.source = program.where(p.pc);
  }
  s.registers.assign(p.regs.r.begin(), p.regs.r.end());
  s.carry = p.regs.carry;
  s.command_ready = p.command_ready;
  s.commands = p.commands.size() - p.next_command;
  for (uint32_t rest = p.active; rest != 0; rest &= rest - 1) {
    const int thread = std::countr_zero(rest);
    const VectorOp& op = *p.ops[size_t(thread)];
    s.operations.push_back({thread_name(p, thread), program.where(op.inst), op.inst, op.done, op.total,
                            what_it_waits_for(p, op, thread)});
  }
  for (const TaskBinding& task : program.tasks)
    s.tasks.push_back({task.name, kind_name(task.kind), task.id, (p.activated >> task.id & 1) != 0,
                       (p.blocked >> task.id & 1) != 0});
}

void add_queues(const Pe& p, PeState& s) {
  for (const InputQueue& q : p.inputs) {
    QueueState& state = s.queues.emplace_back();
    state.id = q.id == 0xFF ? -1 : q.id;
    state.color = q.color;
    state.depth = q.depth;
    for (size_t i = 0; i < q.count; ++i)
      state.words.push_back({entry_data(q.at(i)), (q.at(i) & kEntryControl) != 0});
  }
}

}  // namespace

PeState Engine::state(Coord c) const {
  if (leads()) return impl_->together->whole().state(c);
  PeState s;
  s.pe = c;
  const Block* b = impl_->grid.block_at(c);
  if (b == nullptr) return s;
  const uint32_t index = b->index_of(c);
  if (const Pe* p = b->find_pe(index); p != nullptr && p->tile != nullptr) {
    add_program(*p, s);
    add_queues(*p, s);
  } else if (b->tile_of[index] >= 0) {
    s.tile = impl_->world.program.tiles[size_t(b->tile_of[index])].name;
  }
  const Router& r = b->routers[index];
  for (uint32_t i = r.first_node; i < r.first_node + r.nodes; ++i) {
    const ColorNode& n = b->nodes[i];
    for (uint32_t l = n.first_lane; l < n.first_lane + uint32_t(std::popcount(n.inputs)); ++l)
      if (const Lane& lane = b->lanes[l]; lane.count != 0)
        s.lanes.push_back({lane.color, lane.port, lane.count, lane.capacity});
  }
  return s;
}

std::vector<Coord> Engine::waiting() const {
  std::vector<Coord> out;
  if (leads())
    for (const auto& more : impl_->together->ask_all<std::vector<Coord>>(Asked::waiting))
      out.insert(out.end(), more.begin(), more.end());
  for (const auto& b : impl_->grid.own()) {
    if (!b) continue;
    for (const auto& p : b->pes)
      if (p && (p->active != 0 || p->running || p->next_command < p->commands.size() || !p->command_ready))
        out.push_back(p->at);
  }
  std::sort(out.begin(), out.end(),
            [](Coord a, Coord b) { return std::pair(a.y, a.x) < std::pair(b.y, b.x); });
  return out;
}

}  // namespace cs::sim
