// What the engine knows of launches, by hand: docs/timing.md §8, §11.
//
// A function is `mov16 r6, 1` and `stcfg16 6, r6` (the command stream is given back) behind k more moves,
// each one cycle: it begins at b, gives the stream back in cycle b + k + 1, and so has ended at b + k + 2.
// The next launch begins command_cycles behind that cycle, or behind its own arrival.
#include "tests/unit/engine/program_builder.h"

namespace cs::sim::test {
namespace {

Tile function_of(const std::string& name, int moves, const std::string& more = "") {
  Tile t(name);
  std::string code = "run: ";
  for (int i = 0; i < moves; ++i) code += "mov16 r" + std::to_string(i) + ", 1\n";
  const std::string end = "mov16 r6, 1\nstcfg16 6, r6\nyield";
  t.code(code + end + (more.empty() ? "" : "\n" + more + ": " + end));
  t.function("run");
  if (!more.empty()) t.function(more);
  return t;
}

// PE (0, 0) takes three cycles more than (1, 0), and has a function of its own.
Fabric two_pes(int command_cycles) {
  Fabric f(wse2(), 2, 1);
  f.machine.memcpy.command_cycles = command_cycles;
  f.place({0, 0, 1, 1}, function_of("long", 3, "alone")).place({1, 0, 1, 1}, function_of("short", 0));
  f.p.exports = {{"run", true}, {"alone", true}};
  return f;
}

LaunchSpan span(const std::string& function, Cycle issued, Cycle begin, Cycle last_begin, Cycle first_end,
                Cycle end, Coord last_pe, int64_t pes, int64_t ended, uint64_t pe_cycles) {
  return {function, issued, begin, last_begin, first_end, end, last_pe, pes, ended, pe_cycles};
}

std::vector<LaunchSpan> three_launches(int command_cycles, int block_width, int threads) {
  const Fabric f = two_pes(command_cycles);
  EngineOptions options;
  options.block_width = block_width;
  options.threads = threads;
  options.parallel_work = 0;
  Engine engine(f.machine, options);
  Diag diag;
  EXPECT_TRUE(engine.load(f.p, {}, diag)) << diag.to_string();
  engine.launch(0, {}, {0, 0, 2, 1}, 50);
  engine.launch(0, {}, {0, 0, 2, 1}, 50);
  engine.launch(1, {}, {0, 0, 2, 1}, 50);
  engine.step(kNever, false);
  return engine.launches();
}

// command_cycles 20. The first launch begins at 50 + 20 on both PEs and ends at 70 + 0 + 2 and 70 + 3 + 2.
// Queued behind it the second one begins at 71 + 20 and 74 + 20 and ends at 93 and 99. The third one, on (0,
// 0) alone, has nothing but the two instructions: it begins at 98 + 20 and ends at 120.
TEST(Launches, each_has_its_own_begin_and_end) {
  const std::vector<LaunchSpan> expected{span("run", 50, 70, 70, 72, 75, {0, 0}, 2, 2, 2 + 5),
                                         span("run", 50, 91, 94, 93, 99, {0, 0}, 2, 2, 2 + 5),
                                         span("alone", 50, 118, 118, 120, 120, {0, 0}, 1, 1, 2)};
  EXPECT_EQ(three_launches(20, 32, 1), expected);
  EXPECT_EQ(three_launches(20, 1, 2), expected);  // a block per PE
}

// A launch takes no less than any task: task_start_cycles, 3 on WSE-2.
TEST(Launches, take_at_least_what_a_task_takes) {
  const std::vector<LaunchSpan> spans = three_launches(0, 32, 1);
  ASSERT_EQ(spans.size(), 3u);
  EXPECT_EQ(spans[0].begin, 53u);
  EXPECT_EQ(spans[1].begin, 54u + 3);  // (1, 0) gives its stream back in cycle 54
}

// Stopped in cycle 73, the first launch is over on (1, 0) alone, and the others have not begun.
TEST(Launches, that_are_not_over_say_so) {
  const Fabric f = two_pes(20);
  Engine engine(f.machine, {});
  Diag diag;
  ASSERT_TRUE(engine.load(f.p, {}, diag));
  engine.launch(0, {}, {0, 0, 2, 1}, 50);
  engine.launch(1, {}, {0, 0, 2, 1}, 50);
  engine.step(73);
  const std::vector<LaunchSpan> spans = engine.launches();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0], span("run", 50, 70, 70, 72, 72, {1, 0}, 2, 1, 2));
  EXPECT_FALSE(spans[0].done());
  EXPECT_EQ(spans[1].begin, kNever);
  EXPECT_EQ(spans[1].pes, 1);
}

// Of PEs that end together the first in row order is named, whatever the blocks.
TEST(Launches, name_one_of_several_last_pes) {
  for (const int width : {1, 2, 32}) {
    Fabric f(wse2(), 3, 2);
    f.machine.memcpy.command_cycles = 20;
    f.place({0, 0, 3, 2}, function_of("f", 0));
    f.p.exports = {{"run", true}};
    EngineOptions options;
    options.block_width = width;
    options.block_height = 1;
    Engine engine(f.machine, options);
    Diag diag;
    ASSERT_TRUE(engine.load(f.p, {}, diag));
    engine.launch(0, {}, {0, 0, 3, 2}, 0);
    engine.step(kNever, false);
    EXPECT_EQ(engine.launches()[0], span("run", 0, 20, 20, 22, 22, {0, 0}, 6, 6, 12));
  }
}

}  // namespace
}  // namespace cs::sim::test
