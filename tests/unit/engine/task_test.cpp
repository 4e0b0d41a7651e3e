// Tasks, launches, microthreads, deadlock reports, counters: the core's scheduler by docs/timing.md §7, §8,
// §10.
#include "tests/unit/engine/program_builder.h"

namespace cs::sim::test {
namespace {

TEST(Tasks, an_activated_task_starts_task_start_cycles_after_the_activating_instruction) {
  Tile t("t");
  t.code("start: mov16 r0, 9\nactvt r0\nmov16 r1, 1\nmov16 r2, 1\nyield\nnext: yield");
  t.task(TaskKind::local, 8, "start").task(TaskKind::local, 9, "next").activated(8);
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  Simulation run(f);
  run.finish();
  ASSERT_EQ(run.trace.tasks.size(), 2u);
  Cycle begin = run.trace.tasks[0].begin;
  EXPECT_EQ(begin, 3u);  // active at cycle 0
  // actvt at begin + 1, ready at begin + 4; the yield issues at begin + 4, task_switch 1: begin + 5.
  EXPECT_EQ(run.trace.tasks[1].begin, begin + 5);
}

TEST(Tasks, a_blocked_task_waits_for_its_unblock) {
  Tile t("t");
  t.code("start: actvt 9\nyield\nother: ublk 0, 9\nyield\nnext: yield");
  t.task(TaskKind::local, 8, "start").task(TaskKind::local, 9, "next").task(TaskKind::local, 10, "other");
  t.activated(8).activated(10).blocked(9);
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  Simulation run(f);
  run.finish();
  ASSERT_EQ(run.trace.tasks.size(), 3u);
  EXPECT_EQ(run.trace.tasks[1].task, 2);
  EXPECT_EQ(run.trace.tasks[2].task, 1);
  EXPECT_EQ(run.trace.tasks[2].begin, run.trace.tasks[1].begin + 3);  // from the issue of ublk
}

// Three tasks that keep activating themselves get equal turns.
TEST(Tasks, equal_tasks_take_turns) {
  Tile t("t");
  t.code("a: actvt 8\nyield\nb: actvt 9\nyield\nc: actvt 10\nyield");
  t.task(TaskKind::local, 8, "a").task(TaskKind::local, 9, "b").task(TaskKind::local, 10, "c");
  t.activated(8).activated(9).activated(10);
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  Simulation run(f);
  run.engine.step(1000);
  std::array<int, 3> turns{};
  for (const TaskEvent& e : run.trace.tasks) ++turns[size_t(e.task)];
  EXPECT_GT(turns[0], 50);
  EXPECT_NEAR(turns[0], turns[1], 1);
  EXPECT_NEAR(turns[0], turns[2], 1);
}

// A wavelet that departs to the ramp at t starts its data task at t + max(down, task_start); arguments in
// registers.
TEST(Tasks, data_tasks_start_by_wavelets_with_their_arguments) {
  for (const Machine& m : {wse2(), wse3()}) {
    Tile t("t");
    t.code("got: st16 [512+0], r0\nst16 [514+0], r1\nyield");
    t.input(2, 4).task(TaskKind::data, m.queues.data_task_on_queue ? 2 : 4, "got", TaskArgs::half_and_index);
    Fabric f(m, 1, 1);
    f.place({0, 0, 1, 1}, t);
    f.route({0, 0, 1, 1}, 4, {"W>R"});
    int in = f.port("in", true, Port::west, 0, 4);
    Simulation run(f);
    run.engine.send(in, std::vector<uint32_t>{0x00070009}, 0);
    run.finish();
    EXPECT_EQ(run.word(0, 0, 512), 0x00070009u);
    ASSERT_EQ(run.trace.tasks.size(), 1u);
    EXPECT_EQ(run.trace.tasks[0].begin, run.trace.wavelets.at(0).cycle + 3);
    EXPECT_TRUE(run.engine.leftovers().empty());
  }
}

TEST(Tasks, a_blocked_data_task_leaves_its_wavelets_in_the_queue) {
  Tile t("t");
  t.code("got: yield").input(2, 4).task(TaskKind::data, 4, "got", TaskArgs::word).blocked(4);
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  f.route({0, 0, 1, 1}, 4, {"W>R"});
  int in = f.port("in", true, Port::west, 0, 4);
  Simulation run(f);
  run.engine.send(in, std::vector<uint32_t>{1, 2}, 0);
  run.finish();
  EXPECT_TRUE(run.trace.tasks.empty());
  ASSERT_EQ(run.engine.leftovers().size(), 1u);
  EXPECT_EQ(run.engine.leftovers()[0], "PE (0, 0): input queue 2, color 4: 2 wavelets");
  EXPECT_FALSE(run.engine.blocked());  // nobody waits: leftovers, not a deadlock
}

// It is taken and forgotten; a PE on which nothing has run yet must not begin at its first instruction.
TEST(Tasks, a_control_wavelet_for_nobody_starts_nothing) {
  Tile sender("sender");
  isa::Dsd d = fabout(2, 1, 1);
  d.control = true;
  sender.dsd(96, d).output(2, 1).code("start: " + send_word(96, 5u << 16) + "yield");
  sender.task(TaskKind::local, 8, "start").activated(8);
  Tile t("t");
  t.code("other: mov16 r0, 7\nst16 [512+0], r0\nyield").input(2, 1).task(TaskKind::local, 9, "other");
  t.t.unblocked = {1};
  Fabric f(wse2(), 2, 1);
  f.place({0, 0, 1, 1}, sender);
  f.place({1, 0, 1, 1}, t);
  f.route({0, 0, 1, 1}, 1, {"R>E"});
  f.route({1, 0, 1, 1}, 1, {"W>R"});
  Simulation run(f);
  run.finish();
  EXPECT_EQ(run.word(1, 0, 512), 0u);
  EXPECT_EQ(run.engine.stats({1, 0}).instructions, 0u);
  EXPECT_TRUE(run.engine.leftovers().empty());
}

Tile launched() {
  Tile t("t");
  t.code(
      "add: ld32 p0, [256+0]\nld32 p2, [260+0]\nadd32 p4, p0, p2\nst32 [260+0], p4\n"
      "mov16 r6, 1\nstcfg16 6, r6\nyield\nforever: yield");
  t.function("add", {{DataType::u32, 256}}).function("forever");
  t.words(256, {0, 100});
  return t;
}

TEST(Launches, functions_get_arguments_and_run_in_order) {
  Fabric f(wse2(), 2, 1);
  f.machine.memcpy.command_cycles = 20;
  f.place({0, 0, 2, 1}, launched());
  f.p.exports = {{"add", true}, {"forever", true}};
  Simulation run(f);
  run.engine.launch(0, std::vector<uint32_t>{5}, {0, 0, 2, 1}, 50);
  run.engine.launch(0, std::vector<uint32_t>{7}, {0, 0, 1, 1}, 0);
  EXPECT_EQ(run.engine.commands_pending(), 3u);
  run.engine.watch_commands(true);
  run.engine.step(1000000);
  EXPECT_EQ(run.engine.commands_pending(), 0u);
  EXPECT_LT(run.engine.now(), 130u);
  EXPECT_EQ(run.word(0, 0, 260), 112u);
  EXPECT_EQ(run.word(1, 0, 260), 105u);
  auto tasks = run.trace.tasks_of(0);
  ASSERT_EQ(tasks.size(), 1u);     // the second still has its yield to do, or is done in the same cycle
  EXPECT_EQ(tasks[0].begin, 70u);  // arrival at 50, command_cycles 20
  EXPECT_EQ(tasks[0].function, 0);
}

TEST(Launches, a_function_that_keeps_the_command_stream_is_reported) {
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, launched());
  f.p.exports = {{"add", true}, {"forever", true}};
  Simulation run(f);
  run.engine.launch(1, {}, {0, 0, 1, 1}, 0);
  run.engine.launch(0, std::vector<uint32_t>{5}, {0, 0, 1, 1}, 0);
  run.finish();
  EXPECT_TRUE(run.engine.blocked());
  EXPECT_NE(run.engine.deadlock_report().find("'add'"), std::string::npos) << run.engine.deadlock_report();
}

// Two asynchronous copies from the fabric share the datapath with scalar code of the main thread, which does
// not wait.
TEST(Microthreads, scalar_code_runs_beside_them) {
  Tile t("t");
  t.dsd(96, mem(1024, 20)).dsd(104, fabin(2, 1, 20)).input(2, 1);
  t.code(
      "start: lddds d0, [96], {async ut=2 activate=9}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\n"
      "mov16 r0, 40\nloop: sub16 r0, r0, 1\njmpt r0, @loop\nyield\ndone: yield");
  t.task(TaskKind::local, 8, "start").task(TaskKind::local, 9, "done").activated(8);
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  f.route({0, 0, 1, 1}, 1, {"W>R"});
  int in = f.port("in", true, Port::west, 0, 1);
  Simulation run(f);
  std::vector<uint32_t> data(20, 3);
  run.engine.send(in, data, 20);
  run.finish();
  for (int i = 0; i < 20; ++i) EXPECT_EQ(run.word(0, 0, 1024 + 4 * i), 3u);
  std::vector<TaskEvent> main;
  for (const TaskEvent& e : run.trace.tasks)
    if (e.microthread < 0) main.push_back(e);
  ASSERT_EQ(main.size(), 2u);
  // 2 loads, vector at +5 (load-use), 1 move at +6, then 39 trips of 3 + 6 and the last of 3 + 3: yield.
  EXPECT_EQ(main[0].end - main[0].begin, 2u + 3 + 1 + 1 + 39 * 9 + 6 + 1);
}

// The higher priority gets the datapath whenever its operands are there.
TEST(Microthreads, priority_decides_and_equals_alternate) {
  for (int high : {0, 1}) {
    Tile t("t");
    const int n = 100;
    for (int i = 0; i < 2; ++i) {
      isa::Dsd out = fabout(2 + i, 1 + i, n);
      out.priority = high && i == 1 ? 3 : 1;
      t.dsd(96 + 16 * i, out).dsd(104 + 16 * i, mem(1024, n)).output(2 + i, 1 + i);
    }
    t.code(
        "start: lddds d0, [96], {async ut=2}\nlds0ds s0_0, [104], {}\nlddds d1, [112], {async ut=3}\n"
        "lds0ds s0_1, [120], {}\nmov32 d0, s0_0\nmov32 d1, s0_1\nyield");
    t.task(TaskKind::local, 8, "start").activated(8);
    Fabric f(wse2(), 3, 1);
    f.place({1, 0, 1, 1}, t);
    f.route({1, 0, 1, 1}, 1, {"R>W"});
    f.route({1, 0, 1, 1}, 2, {"R>E"});
    f.route({0, 0, 1, 1}, 1, {"E>W"});
    f.route({2, 0, 1, 1}, 2, {"W>E"});
    f.port("west", false, Port::west, 0, 1);
    f.port("east", false, Port::east, 0, 2);
    Simulation run(f);
    run.finish();
    auto first = run.trace.wavelets_of(1, 0, 1), second = run.trace.wavelets_of(1, 0, 2);
    ASSERT_EQ(first.size(), size_t(n));
    ASSERT_EQ(second.size(), size_t(n));
    if (high) {
      EXPECT_EQ(second.back().cycle - second.front().cycle, Cycle(n - 1));
      EXPECT_GE(first.back().cycle, second.back().cycle + Cycle(n - 10));
    } else {
      EXPECT_NEAR(double(first.back().cycle), double(second.back().cycle), 3);
    }
  }
}

// Two PEs that each wait for the other's first word.
TEST(Deadlock, the_report_names_the_cycle) {
  Fabric f(wse2(), 2, 1);
  for (int x = 0; x < 2; ++x) {
    int out = x, in = 1 - x;
    Tile t("pe");
    t.dsd(96, mem(256, 4)).dsd(104, fabin(2, in, 4)).dsd(112, fabout(3, out, 4)).dsd(120, mem(256, 4));
    t.input(2, in).output(3, out);
    t.code(
        "exchange: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\n"
        "lddds d1, [112], {}\nlds0ds s0_1, [120], {}\nmov32 d1, s0_1\nyield");
    t.task(TaskKind::local, 8, "exchange").activated(8);
    t.t.files = {"ring.csl"};
    t.t.lines = {{0, 0, 20, 1}, {2, 0, 21, 1}, {5, 0, 22, 1}};
    f.place({x, 0, 1, 1}, t);
    f.route({x, 0, 1, 1}, out, {x == 0 ? "R>E" : "R>W"});
    f.route({x, 0, 1, 1}, in, {x == 0 ? "E>R" : "W>R"});
  }
  Simulation run(f);
  run.finish();
  EXPECT_TRUE(run.engine.idle());
  EXPECT_TRUE(run.engine.blocked());
  std::string report = run.engine.deadlock_report();
  EXPECT_NE(report.find("cycle of waiting: PE (0, 0) -> PE (1, 0) -> PE (0, 0)"), std::string::npos)
      << report;
  EXPECT_NE(report.find("task 'exchange' at ring.csl:21"), std::string::npos) << report;
  EXPECT_NE(report.find("color 1 on input queue 2 (0 of 4 words)"), std::string::npos) << report;
}

// A 16-bit stream takes one wavelet per element, or half as many packed.
TEST(Operands, packed_elements_travel_in_pairs) {
  for (bool packed : {false, true}) {
    const int n = 7;
    Fabric f(wse2(), 2, 1);
    auto with = [&](isa::Dsd d) {
      d.simd = packed ? isa::SimdMode::simd_32 : isa::SimdMode::off;
      return d;
    };
    Tile s("s"), r("r");
    std::vector<uint16_t> v;
    for (int i = 0; i < n; ++i) v.push_back(uint16_t(100 + i));
    s.dsd(96, with(fabout(2, 1, n))).dsd(104, mem(256, n)).bytes(256, v.data(), v.size() * 2).output(2, 1);
    s.code("start: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nmov16 d0, s0_0\nyield");
    s.task(TaskKind::local, 8, "start").activated(8);
    r.dsd(96, mem(256, n)).dsd(104, with(fabin(2, 1, n))).input(2, 1);
    r.code("start: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nmov16 d0, s0_0\nyield");
    r.task(TaskKind::local, 8, "start").activated(8);
    f.place({0, 0, 1, 1}, s).place({1, 0, 1, 1}, r);
    f.route({0, 0, 1, 1}, 1, {"R>E"});
    f.route({1, 0, 1, 1}, 1, {"W>R"});
    Simulation run(f);
    run.finish();
    EXPECT_FALSE(run.engine.blocked());
    for (int i = 0; i < n; ++i) EXPECT_EQ(run.word(1, 0, 256 + 2 * i) & 0xFFFF, uint32_t(100 + i));
    EXPECT_EQ(run.trace.wavelets_of(0).size(), packed ? 4u : 7u);
  }
}

// A store-and-load loop ahead of the block's time must stop where the host stops.
TEST(Steps, memory_is_what_it_is_at_the_cycle_of_the_stop) {
  Tile t("t");
  t.code("start: mov16 r0, 0\nloop: add16 r0, r0, 1\nst16 [512+0], r0\njmp @loop");
  t.task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  Simulation run(f);
  // Start at 3; trip k (from 0): add at 4 + 8 k, store at 5 + 8 k, jump 6 cycles.
  for (Cycle k : {0u, 1u, 5u, 100u}) {
    run.engine.step(5 + 8 * k);
    EXPECT_EQ(run.word(0, 0, 512) & 0xFFFF, uint32_t(k));
    run.engine.step(6 + 8 * k);
    EXPECT_EQ(run.word(0, 0, 512) & 0xFFFF, uint32_t(k + 1));
  }
  PeStats s = run.engine.stats({0, 0});
  EXPECT_EQ(s.busy + s.stalls[size_t(Stall::dependency)] + s.stalls[size_t(Stall::dispatch)],
            run.engine.now());
}

TEST(Steps, timestamps_count_cycles) {
  Tile t("t");
  t.code(
      "start: mov16 r0, 1\nstcfg16 3, r0\nldcfg16 r1, 0\nmov16 r2, 1\nmov16 r2, 1\nldcfg16 r3, 0\nldcfg16 "
      "r4, 1\n"
      "sub16 r5, r3, r1\nst16 [512+0], r5\nst16 [514+0], r4\nldcfg16 r6, 4\nst16 [516+0], r6\nyield");
  t.task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2(), 3, 1);
  f.place({0, 0, 3, 1}, t);
  Simulation run(f);
  run.finish();
  EXPECT_EQ(run.word(0, 0, 512), 3u);
  EXPECT_EQ(run.word(2, 0, 516) & 0xFFFF, 2u);
}

}  // namespace
}  // namespace cs::sim::test
