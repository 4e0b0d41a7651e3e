// When a run is over: not before the last cycle in which a core does something, also of a core that has run
// ahead of the engine's clock.
#include "tests/unit/engine/program_builder.h"

namespace cs::sim::test {
namespace {

// Runs until nothing can happen any more, as a program without a host does.
Cycle end_of(const Fabric& f) {
  Engine engine(f.machine, {});
  Diag diag;
  EXPECT_TRUE(engine.load(f.p, {}, diag)) << diag.to_string();
  engine.step(kNever, false);
  EXPECT_TRUE(engine.idle());
  EXPECT_FALSE(engine.blocked());
  return engine.now();
}

Tile adds_100() {
  Tile t("adds");
  t.dsd(96, mem(256, 100)).dsd(104, mem(256, 100)).dsd(112, mem(1028, 100));
  t.code(
      "start: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nlds1ds s1_0, [112], {}\nfadds d0, s0_0, "
      "s1_0\nyield");
  return t.task(TaskKind::local, 8, "start").activated(8);
}

// WSE-2. The task starts at task_start_cycles = 3. DSR loads issue at 3, 4, 5; fadds dsr_load_use_cycles = 4
// after the last, at 9; its first group executes dsd_start_cycles = 4 later, at 13. Two elements of f32 per
// group (simd_width of fadds, 16 bytes read from two sources), in different banks: 50 groups, the last one in
// cycle 62.
TEST(EndOfRun, a_core_that_runs_ahead_of_the_clock_is_waited_for) {
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, adds_100());
  EXPECT_EQ(end_of(f), 63u);
}

// The same with the second source in the banks of the first: two cycles per group, 13 + 2 * 50.
TEST(EndOfRun, the_last_cycle_of_a_bank_conflict_counts) {
  Tile t("conflict");
  t.dsd(96, mem(256, 100)).dsd(104, mem(256, 100)).dsd(112, mem(1024, 100));
  t.code(
      "start: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nlds1ds s1_0, [112], {}\nfadds d0, s0_0, "
      "s1_0\nyield");
  t.task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  EXPECT_EQ(end_of(f), 113u);
}

// Scalars: issue at 3, 4 and 5, nothing after them.
TEST(EndOfRun, the_last_scalar_instruction_counts) {
  Tile t("scalars");
  t.code("start: imov16 r1, 1\nimov16 r2, 2\nyield").task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  EXPECT_EQ(end_of(f), 6u);
}

// On a fabric with many idle PEs the end is that of the one that works.
TEST(EndOfRun, the_size_of_the_fabric_does_not_matter) {
  Fabric f(wse2(), 100, 100);
  f.place({40, 40, 1, 1}, adds_100());
  EXPECT_EQ(end_of(f), 63u);
}

}  // namespace
}  // namespace cs::sim::test
