// Small programs for the tests of shell, traces and reports: eight words from one PE to its neighbour on a
// WSE-3.
//
// Hand calculation (docs/timing.md): both tasks start at 3 (task_start_cycles); the sender's vector issues at
// 3 + 1 + 4 = 8 after two DSR loads, its elements execute at 12 ... 19, depart at 15 ... 22, land at 17 ...
// 24 and depart to the ramp at once; the receiver's completion task starts 19 after the vector: 27, and runs
// one instruction.
#pragma once

#include "tests/unit/engine/program_builder.h"

namespace cs::sim::test {

inline constexpr Cycle kFirstCrossing = 15, kLastCrossing = 22, kDoneTask = 27;

inline Fabric one_hop() {
  Tile send("sender"), receive("receiver");
  send.dsd(96, fabout(2, 1, 8))
      .dsd(104, mem(256, 8))
      .output(2, 1)
      .words(256, {10, 11, 12, 13, 14, 15, 16, 17});
  send.code("start: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\nyield");
  send.task(TaskKind::local, 8, "start").activated(8);
  receive.dsd(96, mem(256, 8)).dsd(104, fabin(2, isa::kQueueColor, 8)).input(2, 1);
  receive.code(
      "start: lddds d0, [96], {async activate=9 ut=2}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\nyield\ndone: "
      "yield");
  receive.task(TaskKind::local, 8, "start").task(TaskKind::local, 9, "done").activated(8);
  for (Tile* t : {&send, &receive})
    t->t.sections = {{"code", SectionKind::code, 0, 64}, {"data", SectionKind::data, 256, 32}};
  Fabric f(wse3(), 2, 1);
  f.place({0, 0, 1, 1}, send).place({1, 0, 1, 1}, receive);
  f.route({0, 0, 1, 1}, 1, {"R>E"});
  f.route({1, 0, 1, 1}, 1, {"W>R"});
  f.p.name = "one_hop";
  set_program_machine(f.p, wse3());
  return f;
}

// The same with a kernel table, as a compiled network has it.
inline Fabric one_hop_with_kernels() {
  Fabric f = one_hop();
  HostPart host;
  host.model = "hop";
  host.policy = "medium";
  host.dtype = "fp32";
  KernelRow a{.name = "send", .op = "identity", .origin = Origin::handwritten, .rect = {0, 0, 1, 1}};
  KernelRow b{.name = "receive", .op = "relu", .origin = Origin::autogen, .rect = {1, 0, 1, 1}};
  b.ideal_cycles = 10;
  b.estimated_cycles = 20;
  b.colors = {1};
  host.kernels = {a, b};
  host.ops = {{.name = "receive", .op = "relu", .origin = Origin::autogen, .kernels = {"receive"}}};
  f.p.host = host;
  return f;
}

}  // namespace cs::sim::test
