// What the structs of a simulation's state have, for checkpoints (archive.h). Every routine takes its struct apart as a
// whole: one that gets another field does not compile before the field is named here. Pe, which has a base, has its
// size checked instead.
//
// Not here: what a load makes again from the Program (tile, code, places in a block), and what is of one cycle only.
#pragma once

#include "simulator/engine/archive.h"
#include "simulator/engine/pe.h"
#include "simulator/engine/world.h"

namespace cs::sim {

template <class A>
void state(A& a, Registers& x) {
  auto& [r, carry] = x;
  a(r, carry);
}

template <class A>
void state(A& a, CoreStats& x) {
  auto& [busy, memory_groups, fabric_groups, stalls, instructions, elements, flops, half_flops, memory_bytes, tasks,
         launch_cycles, first_task, last_task_end, injected] = x;
  a(busy, memory_groups, fabric_groups, stalls, instructions, elements, flops, half_flops, memory_bytes, tasks,
    launch_cycles, first_task, last_task_end, injected);
}

template <class A>
void state(A& a, Coord& x) {
  auto& [column, row] = x;
  a(column, row);
}

// ---- descriptors and operations

template <class A>
void state(A& a, isa::Dsd& x) {
  auto& [kind, base, extent, stride, indexed, first, end, queue, color, control, advance_switch, control_transform,
         simd, priority, microthread, zero] = x;
  a.below(kind, uint64_t(isa::DsdKind::circbuf) + 1);
  a(base, extent, stride, indexed, first, end, queue, color, control, advance_switch, control_transform, simd, priority,
    microthread, zero);
}

template <class A>
void state(A& a, isa::DsrConfig& x) {
  auto& [async, save_address, single_step, activate, unblock, microthread, priority, on_control, on_control_task] = x;
  a(async, save_address, single_step, activate, unblock, microthread, priority, on_control, on_control_task);
}

template <class A>
void state(A& a, PackedDsd& x) {
  isa::Dsd dsd = x.unpacked();
  a(dsd);
  x = dsd;
}

template <class A>
void state(A& a, Dsr& x) {
  auto& [ready, dsd, loaded_with, stepped, at] = x;
  a(ready, dsd, loaded_with, stepped, at);
}

// Of what is sent, the lane is the PE's ramp lane of the color: a walk over the state finds it again.
template <class A>
void state(A& a, Cursor& x) {
  auto& [kind, bytes, queue, color, packed, simd_64, half, control, advance, indexed, transform, clears, drops, index,
         address, step, value, low, last, late] = x;
  a.below(kind, uint64_t(Cursor::Kind::fabout) + 1);
  uint16_t bits = uint16_t(packed | simd_64 << 1 | half << 2 | control << 3 | advance << 4 | indexed << 5 |
                           transform << 6 | clears << 7 | drops << 8);
  int32_t place = kind == Cursor::Kind::fabout ? 0 : address;
  a(bits, bytes, queue, color, index, place, step, value, low, last, late);
  if constexpr (A::kReads) {
    address = place;
    packed = bits & 1, simd_64 = bits >> 1 & 1, half = bits >> 2 & 1, control = bits >> 3 & 1, advance = bits >> 4 & 1;
    indexed = bits >> 5 & 1, transform = bits >> 6 & 1, clears = bits >> 7 & 1, drops = bits >> 8 & 1;
  }
}

template <class A>
void state(A& a, Walk& x) {
  auto& [kind, first, extent, stride, end, at] = x;
  a.below(kind, uint64_t(isa::DsdKind::circbuf) + 1);
  a(first, extent, stride, end, at);
}

template <class A>
void state(A& a, Walks& x) {
  bool any = x.bytes() != 0;
  a(any);
  for (size_t i = 0; any && i < 3; ++i) {
    Walk walk = x[i];
    a(walk);
    if constexpr (A::kReads) x.set(i, walk);
  }
}

// The function of an element is that of the instruction: see restored_operation().
template <class A>
void state(A& a, VectorOp& x) {
  auto& [next, served, element, total, done, group, group_cycles, work_cycles, drag, dragged, sync, fabric, stopped,
         waits, holds_datapath, reduction, wide, half, flops, memory_bytes, rank, why, waits_queue, waits_fifo, scalar,
         inst, dst, first, second, config, saves, issued, walks] = x;
  static_cast<void>(element);
  uint8_t bits = uint8_t(sync | fabric << 1 | stopped << 2 | waits << 3 | holds_datapath << 4 | reduction << 5 |
                         wide << 6 | half << 7);
  a.below(why, uint64_t(kStalls));
  a(next, served, total, done, group, group_cycles, work_cycles, drag, dragged, bits, flops, memory_bytes, rank,
    waits_queue, waits_fifo, scalar, inst, dst, first, second, config, saves, issued, walks);
  if constexpr (A::kReads) {
    sync = bits & 1, fabric = bits >> 1 & 1, stopped = bits >> 2 & 1, waits = bits >> 3 & 1;
    holds_datapath = bits >> 4 & 1, reduction = bits >> 5 & 1, wide = bits >> 6 & 1, half = bits >> 7 & 1;
  }
}

// ---- queues and memory

// Entries lie in a ring of the block's.
template <class A>
void state(A& a, InputQueue& x) {
  static_assert(sizeof(InputQueue) == 24, "a field more? It belongs here");
  uint8_t priority = x.priority;
  bool lane_waits = x.lane_waits, messages = x.messages;
  a(x.readers, x.count, x.depth, x.color, x.id, x.words, x.task_id, x.message_left, priority, lane_waits, messages);
  x.priority = priority & 63;
  x.lane_waits = lane_waits;
  x.messages = messages;
}

template <class A>
void state(A& a, Fifo& x) {
  auto& [head, fill, was_full, was_empty, need] = x;
  a(head, fill, was_full, was_empty, need);
}

template <class A>
void state(A& a, PeMemory& x) {
  uint32_t low = x.low(), size = x.empty() ? 0 : x.size();
  bool empty = x.empty();
  a(empty);
  if (empty) return;
  a(low, size);
  if constexpr (A::kReads) {
    if (low > 0xFFFF || size > 0x10000) a.fail();
    if (!a.ok() || a.left() < size) return a.fail();
    x.assign(low, std::vector<uint8_t>(size));
  }
  a.raw({x.at(low), size});
}

// ---- the core

template <class A>
void state(A& a, ResultTimes& x) {
  x.fields([&](auto& latest, auto& low) { a(latest, low); });
}

template <class A>
void state(A& a, MainState& x) {
  auto& [accounted, ready, datapath_free, pc, why, why_thread, why_queue, why_inst, next_index, regs, results,
         last_group, blocked, activated, stats, ready_at, dsrs] = x;
  a(accounted, ready, datapath_free, pc, why, why_thread, why_queue, why_inst, next_index, regs, results, last_group,
    blocked, activated, stats, ready_at, dsrs);
}

template <class A>
void state(A& a, CoreSettings& x) {
  auto& [output_color, control_table, high_tasks, teardowns, flush_wanted, flush_done, transform_mask, exceptions,
         main_priority, tsc_on, prng, tsc_latch, tsc_base, lfsr, resting_prngs] = x;
  a(output_color, control_table, high_tasks, teardowns, flush_wanted, flush_done, transform_mask, exceptions,
    main_priority, tsc_on, prng, tsc_latch, tsc_base, lfsr, resting_prngs);
}

template <class A>
void state(A& a, Pe::Print& x) {
  auto& [line, high] = x;
  a(line, high);
}

// All but what has its own place in a checkpoint: operations, queues, words without a value, and what a Program says.
template <class A>
void state(A& a, Pe& x) {
  static_assert(sizeof(Pe) == 832, "a field more? It belongs here");
  state(a, static_cast<MainState&>(x));
  a(x.wake, x.threads_blocked, x.active, x.running, x.waits_thread, x.wanted_thread, x.tasks_changed, x.next_task,
    x.ramp_base, x.ramp_taken, x.first_arrival, x.memory, x.free_at, x.still_until, x.test, x.task,
    x.function, x.launched, x.task_begin, x.task_entry, x.last_choice, x.commands, x.next_command, x.launch,
    x.launched_at, x.command_ready, x.command_ready_at, x.input_of_color, x.output_last);
  bool own = x.settings.own();
  a(own);
  if (own) state(a, x.settings.change());
  if (A::kReads) x.make_fifos();
  for (size_t i = 0; i < x.fifo_count(); ++i) a(x.fifos[i]);
  bool prints = x.print != nullptr;
  a(prints);
  if (A::kReads && prints) x.print = std::make_unique<Pe::Print>();
  if (prints) a(*x.print);
}

// ---- the fabric

template <class A>
void state(A& a, SwitchPosition& x) {
  auto& [valid, rx, tx] = x;
  a(valid, rx, tx);
}

template <class A>
void state(A& a, FilterConfig& x) {
  auto& [kind, count_data, count_control, filter_control, init_counter, max_counter, limit1, limit2, min_index,
         max_index] = x;
  a.below(kind, uint64_t(FilterKind::range) + 1);
  a(count_data, count_control, filter_control, init_counter, max_counter, limit1, limit2, min_index, max_index);
}

template <class A>
void state(A& a, RouteConfig& x) {
  auto& [positions, current, ring_mode, pop_mode, teardown, swap_x, swap_y, filter] = x;
  a.below(pop_mode, uint64_t(PopMode::pop_on_advance_nop) + 1);
  a(positions, current, ring_mode, teardown, swap_x, swap_y, filter);
}

template <class A>
void state(A& a, OwnRoute& x) {
  auto& [config, words] = x;
  a(config, words);
}

template <class A>
void state(A& a, FilterState& x) {
  auto& [config, counter, off] = x;
  a(config, counter, off);
}

// ---- the host's side

template <class A>
void state(A& a, PortState::Chunk& x) {
  auto& [data, not_before, control] = x;
  a(data, not_before, control);
}

template <class A>
void state(A& a, Launch& x) {
  auto& [function_export, name, args, not_before, pes] = x;
  a(function_export, name, args, not_before, pes);
}

template <class A>
void state(A& a, LaunchTally& x) {
  auto& [begin, last_begin, first_end, end, last_pe, ended, pe_cycles] = x;
  a(begin, last_begin, first_end, end, last_pe, ended, pe_cycles);
}

template <class A>
void state(A& a, PrintLine& x) {
  auto& [cycle, pe, text] = x;
  a(cycle, pe, text);
}

template <class A>
void state(A& a, Fault& x) {
  auto& [name, message, cycle, pe] = x;
  a(name, message, cycle, pe);
}

}  // namespace cs::sim
