// Timing of one core against published measurements and docs/timing.md, worked out beside each number.
#include "tests/unit/engine/program_builder.h"

namespace cs::sim::test {
namespace {

// Cycles from the first instruction of a task to the one after `body` (the yield that ends it).
Cycle body_cycles(const Machine& m, Tile tile, const std::string& body) {
  tile.code("start: " + body + "\nyield").task(TaskKind::local, 8, "start").activated(8);
  Fabric f(m, 1, 1);
  f.place({0, 0, 1, 1}, tile);
  Simulation run(f);
  run.finish();
  EXPECT_EQ(run.trace.tasks.size(), 1u);
  return run.trace.tasks.empty() ? 0 : run.trace.tasks[0].end - 1 - run.trace.tasks[0].begin;
}

// dst at 96, sources at 104 and 112.
Tile three_vectors(int n, int dst, int a, int b) {
  Tile t("vectors");
  t.dsd(96, mem(dst, n)).dsd(104, mem(a, n)).dsd(112, mem(b, n));
  return t;
}
const std::string kLoads = "lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nlds1ds s1_0, [112], {}\n";

// pr0f3ss/SpMM_Cerebras fmacs_test on the WSE-2 simulator: 5130 cycles for 5124 elements and 1034 for 1028 (n
// + 6) without a bank conflict, 10254 and 2062 (2n + 6) with one.
TEST(CoreTiming, vector_over_memory_takes_n_plus_6) {
  const std::string kFmacs = kLoads + "fmacs d0, s0_0, s1_0, 1065353216";
  // The second source lies one 32-bit element further modulo the banks: words 2 apart, so banks differ
  // modulo 4.
  EXPECT_EQ(body_cycles(wse2(), three_vectors(5124, 256, 256, 20756), kFmacs), 5130u);
  EXPECT_EQ(body_cycles(wse2(), three_vectors(1028, 256, 256, 20756), kFmacs), 1034u);
  EXPECT_EQ(body_cycles(wse2(), three_vectors(5124, 256, 256, 20752), kFmacs), 10254u);
  EXPECT_EQ(body_cycles(wse2(), three_vectors(1028, 256, 256, 20752), kFmacs), 2062u);
}

// Same source: operations of width 2 take 2597 for 5124 elements, half a cycle per element and some 35 cycles
// of the test itself. The law gives 5124 / 2 + 6 = 2568.
TEST(CoreTiming, width_two_operations_take_half_a_cycle_per_element) {
  EXPECT_EQ(body_cycles(wse2(), three_vectors(5124, 256, 256, 20756), kLoads + "fadds d0, s0_0, s1_0"),
            2568u);
}

// FABRICA, WSE-3, fp16 add over n elements: the next dispatch is at 6 + 2 (n / 8) from the first DSR load.
TEST(CoreTiming, half_precision_add_takes_a_quarter_cycle_per_element) {
  EXPECT_EQ(body_cycles(wse3(), three_vectors(8, 256, 256, 1028), kLoads + "faddh d0, s0_0, s1_0"), 8u);
  EXPECT_EQ(body_cycles(wse3(), three_vectors(512, 256, 256, 4100), kLoads + "faddh d0, s0_0, s1_0"),
            6u + 128u);
}

// FABRICA: fp16 copies 8 per cycle on WSE-3; 4 per cycle by the width table on WSE-2.
TEST(CoreTiming, copies_run_at_the_width_of_the_mnemonic) {
  const std::string kCopy = "lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nfmovh d0, s0_0";
  // Two loads: one cycle less than three. 1 + 4 + n / width.
  EXPECT_EQ(body_cycles(wse3(), three_vectors(1024, 256, 8448, 0), kCopy), 5u + 1024 / 8);
  EXPECT_EQ(body_cycles(wse2(), three_vectors(1024, 256, 8448, 0), kCopy), 5u + 1024 / 4);
}

// FABRICA: an add reduction of fp16 takes 2.0 cycles per element.
TEST(CoreTiming, reductions_take_two_cycles_per_element) {
  const std::string kSum = "lds1ds s1_0, [112], {}\nfaddh r0, r0, s1_0";
  Cycle c100 = body_cycles(wse3(), three_vectors(0, 0, 0, 256).dsd(112, mem(256, 100)), kSum);
  Cycle c200 = body_cycles(wse3(), three_vectors(0, 0, 0, 256).dsd(112, mem(256, 200)), kSum);
  EXPECT_EQ(c200 - c100, 200u);
}

// FABRICA: an isolated scalar operation on memory is ld16, ld16, op, st16: the next operation 4 cycles later.
TEST(CoreTiming, independent_scalars_issue_every_cycle) {
  EXPECT_EQ(body_cycles(wse3(), Tile("s"),
                        "ld16 r0, [256+0]\nld16 r1, [256+2]\nadd16 r2, r0, r1\nst16 [256+4], r2"),
            4u);
}

// FABRICA: dependent floating-point instructions issue 2 cycles apart, independent ones 1.
TEST(CoreTiming, dependent_floats_wait) {
  EXPECT_EQ(body_cycles(wse3(), Tile("s"), "fadds p0, p2, p4\nfadds p6, p0, p4\nfadds p8, p6, p4"),
            1u + 2 + 2);
  EXPECT_EQ(body_cycles(wse3(), Tile("s"), "fadds p0, p2, p4\nfadds p6, p2, p4\nfadds p8, p2, p4"), 3u);
}

// FABRICA: a taken jump costs 6 cycles to the next dispatch, one that is not taken 3.
TEST(CoreTiming, jumps) {
  EXPECT_EQ(body_cycles(wse3(), Tile("s"), "jmpt 0, @end\nmov16 r0, 1\nend: mov16 r1, 1"), 3u + 1 + 1);
  EXPECT_EQ(body_cycles(wse3(), Tile("s"), "jmpt 1, @end\nmov16 r0, 1\nend: mov16 r1, 1"), 6u + 1);
  // A loop of three trips: sub, the jump 3 cycles later; 2 * (3 + 6) + 3 + 3.
  EXPECT_EQ(body_cycles(wse3(), Tile("s"), "mov16 r0, 3\nloop: sub16 r0, r0, 1\njmpt r0, @loop"),
            1u + 2 * 9 + 6);
}

// FABRICA: an access of 32 bits is one instruction (LD16RP; a load, a conversion and a store of them are
// followed after 3 cycles), as is a floating-point number in a pair; a sum of 32 bits is two halves, its
// result there with the second.
TEST(CoreTiming, halves_of_32_bits) {
  EXPECT_EQ(body_cycles(wse3(), Tile("s"), "ld32 p0, [1000]\nadd32 p2, p0, p0\nst32 [1004], p2\nmov16 r8, 1"),
            1u + 2 + 1 + 1);
  EXPECT_EQ(body_cycles(wse3(), Tile("s"), "ld32 p0, [1000]\nfadds p2, p0, p0\nmov16 r8, 1"), 1u + 1 + 1);
  EXPECT_EQ(
      body_cycles(wse3(), Tile("s"), "imov32 p0, 65537\nmov32 p2, p0\nselect32 p4, r6, p0, p2\nmov16 r8, 1"),
      2u + 1 + 1 + 1);
  EXPECT_EQ(body_cycles(wse3(), Tile("s"), "extu16 p0, r4\nwpack p2, r4, r5\nmov16 r8, 1"), 1u + 1 + 1);
}

// A condition is known 3 cycles after the comparison, of floating point too: it is a flag. Instructions
// between fill the wait, and a selection does not wait.
TEST(CoreTiming, jumps_wait_for_conditions) {
  EXPECT_EQ(body_cycles(wse3(), Tile("s"), "lt16 r0, 2, 1\njmpt r0, @end\nend: mov16 r1, 1"), 3u + 3 + 1);
  EXPECT_EQ(body_cycles(wse3(), Tile("s"), "lt16 r0, 2, 1\nmov16 r2, 1\njmpt r0, @end\nend: mov16 r1, 1"),
            3u + 3 + 1);
  EXPECT_EQ(body_cycles(wse3(), Tile("s"), "flts r0, p2, p4\njmpt r0, @end\nend: mov16 r1, 1"), 3u + 3 + 1);
  EXPECT_EQ(body_cycles(wse3(), Tile("s"), "flts r0, p2, p4\nselect32 p6, r0, p2, p4\nmov16 r1, 1"), 3u);
  EXPECT_EQ(body_cycles(wse3(), Tile("s"), "lt16 r0, 2, 1\nselect16 r1, r0, r2, r3\nmov16 r1, 1"), 3u);
}

TEST(CoreTiming, divisions_block_the_thread) {
  EXPECT_EQ(body_cycles(wse2(), Tile("s"), "fdivs p0, p2, p4\nmov16 r8, 1"), 50u + 1);
}

// Values and the accounting identity: what is not busy or stalled is idle, and no cycle counts twice.
TEST(CoreTiming, busy_and_stalls_of_a_vector) {
  Tile t = three_vectors(100, 256, 1024, 2052);
  std::vector<float> a(100), b(100);
  for (int i = 0; i < 100; ++i) a[size_t(i)] = float(i), b[size_t(i)] = 0.5f;
  t.floats(1024, a).floats(2052, b);
  t.code("start: " + kLoads + "fmacs d0, s0_0, s1_0, 1073741824\nyield");
  t.task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  Simulation run(f);
  run.finish(1000);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(run.value(0, 0, 256 + 4 * i), float(i) + 1.0f);
  PeStats s = run.engine.stats({0, 0});
  EXPECT_EQ(s.instructions, 5u);
  EXPECT_EQ(s.elements, 100u);
  EXPECT_EQ(s.flops, 200u);
  // 3 loads, the vector, 100 elements; the yield issues while the last elements execute.
  EXPECT_EQ(s.busy, 3u + 1 + 100);
  EXPECT_EQ(s.stalls[size_t(Stall::dependency)],
            3u + 3);  // load-use after the third load; start of the vector
  EXPECT_EQ(run.engine.now(), 1000u);
}

TEST(CoreTiming, memory_four_dimensions) {
  // A 2 x 3 block out of rows of 5: inner stride 1, then to the next row: 5 - 2 = 3.
  Tile t("mem4d");
  isa::Dsd d;
  d.kind = isa::DsdKind::mem4d;
  d.base = 512;
  d.extent = {1, 1, 2, 3};
  d.stride = {0, 0, 3, 1};
  t.dsd(96, mem(256, 6)).dsd(120, d);
  std::vector<uint32_t> v(10);
  for (uint32_t i = 0; i < 10; ++i) v[i] = i;
  t.words(512, v);
  t.code("start: lddds d0, [96], {}\nlds0ds s0_0, [120], {}\nmov32 d0, s0_0\nyield");
  t.task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  Simulation run(f);
  run.finish();
  const uint32_t kWant[] = {0, 1, 2, 5, 6, 7};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(run.word(0, 0, 256 + 4 * i), kWant[i]);
}

TEST(CoreTiming, faults_have_names_cycles_and_places) {
  Tile t("bad");
  t.code("start: mov16 r0, 1\nld16 r1, [65534+0]\nyield").task(TaskKind::local, 8, "start").activated(8);
  t.t.files = {"bad.csl"};
  t.t.lines = {{0, 0, 7, 1}, {1, 0, 8, 1}};
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  Simulation run(f);
  run.engine.step(100);
  ASSERT_TRUE(run.engine.faulted());
  EXPECT_EQ(run.engine.fault().fault, "out-of-bounds");
  EXPECT_NE(run.engine.fault().message.find("bad.csl:8"), std::string::npos) << run.engine.fault().message;
  EXPECT_NE(run.engine.fault().message.find("cycle 4"), std::string::npos) << run.engine.fault().message;
}

}  // namespace
}  // namespace cs::sim::test
