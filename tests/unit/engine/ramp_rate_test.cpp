// A ramp that carries several wavelets per cycle (docs/timing.md §3, §5), worked out beside each number for
// WSE-2 with ramp.wavelets_per_cycle 1 and 2.
#include "tests/unit/engine/program_builder.h"

namespace cs::sim::test {
namespace {

Machine with_ramp(int wavelets) {
  Machine m = wse2();
  m.ramp.wavelets_per_cycle = wavelets;
  return m;
}

// Sends n words from memory at 256 over queue 2.
Tile sender(int n, int color) {
  Tile t("sender");
  t.dsd(96, fabout(2, color, n)).dsd(104, mem(256, n)).output(2, color);
  std::vector<uint32_t> v;
  for (int i = 0; i < n; ++i) v.push_back(uint32_t(1000 * color + i));
  t.words(256, v).code("start: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\nyield");
  return t.task(TaskKind::local, 8, "start").activated(8);
}

// Receives n words of color 1 from the west and n of color 2 from the east, each on a microthread of its own.
Fabric two_streams(int ramp, int n) {
  Tile r("receiver");
  r.dsd(96, mem(256, n))
      .dsd(104, fabin(2, 1, n))
      .dsd(112, mem(8192, n))
      .dsd(120, fabin(3, 2, n))
      .input(2, 1)
      .input(3, 2);
  r.code(
      "start: lddds d0, [96], {async ut=2}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\n"
      "lddds d1, [112], {async ut=3}\nlds0ds s0_1, [120], {}\nmov32 d1, s0_1\nyield");
  r.task(TaskKind::local, 8, "start").activated(8);
  Fabric f(with_ramp(ramp), 3, 1);
  f.place({0, 0, 1, 1}, sender(n, 1)).place({1, 0, 1, 1}, r).place({2, 0, 1, 1}, sender(n, 2));
  f.route({0, 0, 1, 1}, 1, {"R>E"});
  f.route({1, 0, 1, 1}, 1, {"W>R"});
  f.route({2, 0, 1, 1}, 2, {"R>W"});
  f.route({1, 0, 1, 1}, 2, {"E>R"});
  return f;
}

// The two streams arrive together, one wavelet of each per cycle. A ramp of one lets them pass in turns.
TEST(RampRate, wavelets_of_two_links_share_a_ramp_of_one_and_not_a_ramp_of_two) {
  for (const auto& [ramp, per_word] : {std::pair{1, 2}, {2, 1}}) {
    const auto last = [ramp = ramp](int n) {
      Simulation run(two_streams(ramp, n));
      run.finish();
      EXPECT_EQ(run.word(1, 0, 256 + 4 * (n - 1)), uint32_t(1000 + n - 1));
      EXPECT_EQ(run.word(1, 0, 8192 + 4 * (n - 1)), uint32_t(2000 + n - 1));
      return run.trace.wavelets_of(1).back().cycle;
    };
    EXPECT_EQ(last(300) - last(100), Cycle(200 * per_word)) << ramp;
  }
}

// Four words have been waiting in the queue when the operation begins. Its first group executes
// dsd_start_cycles after the issue; one word per cycle with a ramp of one, two with a ramp of two: the last
// group is two cycles earlier.
TEST(RampRate, an_operation_takes_as_many_waiting_wavelets_per_cycle_as_the_ramp_carries) {
  const auto end = [](int ramp) {
    Tile r("receiver");
    r.dsd(96, mem(256, 4)).dsd(104, fabin(2, 1, 4)).input(2, 1);
    std::string wait;
    for (int i = 0; i < 60; ++i) wait += "mov16 r1, 1\n";
    r.code("start: " + wait + "lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\nyield");
    r.task(TaskKind::local, 8, "start").activated(8);
    Fabric f(with_ramp(ramp), 2, 1);
    f.place({0, 0, 1, 1}, sender(4, 1)).place({1, 0, 1, 1}, r);
    f.route({0, 0, 1, 1}, 1, {"R>E"});
    f.route({1, 0, 1, 1}, 1, {"W>R"});
    Simulation run(f);
    run.finish();
    for (int i = 0; i < 4; ++i) EXPECT_EQ(run.word(1, 0, 256 + 4 * i), uint32_t(1000 + i));
    return run.trace.tasks_of(1).back().end;
  };
  // Task at 3, 60 moves, loads at 63 and 64, issue at 68, groups from 72 on: 4 of them until 75, or 2
  // until 73. The operation retires at the last one + 1 - dsd_start_cycles, where yield issues; the task ends
  // one cycle later.
  EXPECT_EQ(end(1), 75u + 1 - 4 + 1);
  EXPECT_EQ(end(2), 73u + 1 - 4 + 1);
}

// A link still carries one wavelet per cycle: a sender that has put two words into its lane per cycle is held
// back by it, and the words arrive in order.
TEST(RampRate, a_link_carries_one_wavelet_per_cycle_whatever_the_ramp_does) {
  const int n = 200;
  Tile r("receiver");
  r.dsd(96, mem(256, n)).dsd(104, fabin(2, 1, n)).input(2, 1);
  r.code("start: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\nyield");
  r.task(TaskKind::local, 8, "start").activated(8);
  Fabric f(with_ramp(2), 2, 1);
  f.place({0, 0, 1, 1}, sender(n, 1)).place({1, 0, 1, 1}, r);
  f.route({0, 0, 1, 1}, 1, {"R>E"});
  f.route({1, 0, 1, 1}, 1, {"W>R"});
  Simulation run(f);
  run.finish();
  const auto sent = run.trace.wavelets_of(0);
  ASSERT_EQ(sent.size(), size_t(n));
  EXPECT_EQ(sent.back().cycle - sent.front().cycle, Cycle(n - 1));
  for (int i = 0; i < n; ++i) EXPECT_EQ(run.word(1, 0, 256 + 4 * i), uint32_t(1000 + i)) << i;
}

}  // namespace
}  // namespace cs::sim::test
