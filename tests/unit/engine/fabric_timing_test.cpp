// Timing of wavelets: hops, ramps, chains, relays, contention, backpressure, switches. Numbers from published
// measurements where they exist, else worked out from docs/timing.md beside the check.
#include "tests/unit/engine/program_builder.h"

namespace cs::sim::test {
namespace {

// Sends n words from memory at 256 over queue 2 on a color, synchronously.
Tile sender(int n, int color) {
  Tile t("sender");
  t.dsd(96, fabout(2, color, n)).dsd(104, mem(256, n)).output(2, color);
  std::vector<uint32_t> v;
  for (int i = 0; i < n; ++i) v.push_back(uint32_t(1000 * color + i));
  t.words(256, v);
  t.code("start: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\nyield");
  t.task(TaskKind::local, 8, "start").activated(8);
  return t;
}

// Receives n words to memory at 256 on microthread 2, then runs task 9 ("done").
Tile receiver(int n, int color) {
  Tile t("receiver");
  t.dsd(96, mem(256, n)).dsd(104, fabin(2, isa::kQueueColor, n)).input(2, color);
  t.code(
      "start: lddds d0, [96], {async activate=9 ut=2}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\nyield\ndone: "
      "yield");
  t.task(TaskKind::local, 8, "start").task(TaskKind::local, 9, "done").activated(8);
  return t;
}

// A straight eastward path of `hops` links from PE 0 to PE `hops`.
Fabric path(const Machine& m, int hops, int n, int color) {
  Fabric f(m, hops + 1, 1);
  f.place({0, 0, 1, 1}, sender(n, color)).place({hops, 0, 1, 1}, receiver(n, color));
  f.route({0, 0, 1, 1}, color, {"R>E"});
  if (hops > 1) f.route({1, 0, hops - 1, 1}, color, {"W>E"});
  f.route({hops, 0, 1, 1}, color, {"W>R"});
  return f;
}

// FABRICA, WSE-3 simulator: 8 words to the east neighbour: first wavelet on the link 7 cycles after dispatch,
// at the neighbour's router 2 later, the receive 3 later, the completion task 3 after the last wavelet: 19 in
// all.
TEST(FabricTiming, one_hop_of_eight_words_takes_19_cycles_on_wse3) {
  Simulation run(path(wse3(), 1, 8, 1));
  run.finish();
  Cycle dispatch = run.trace.tasks_of(0)[0].begin + 1 + 4;  // two DSR loads, then the load-use time
  auto sent = run.trace.wavelets_of(0), arrived = run.trace.wavelets_of(1);
  ASSERT_EQ(sent.size(), 8u);
  EXPECT_EQ(sent[0].cycle, dispatch + 7);
  EXPECT_EQ(sent[7].cycle, dispatch + 14);
  EXPECT_EQ(arrived[0].cycle, dispatch + 9);
  auto tasks = run.trace.tasks_of(1);
  const TaskEvent& done = tasks.back();
  EXPECT_EQ(done.begin, dispatch + 19);
  for (int i = 0; i < 8; ++i) EXPECT_EQ(run.word(1, 0, 256 + 4 * i), 1000u + uint32_t(i));
}

// HPDC'24 and FABRICA: 1 cycle per hop on WSE-2, 2.000 on WSE-3; one wavelet per cycle.
TEST(FabricTiming, slopes_per_hop_and_wavelet) {
  auto done = [](const Machine& m, int hops, int n) {
    Simulation run(path(m, hops, n, 1));
    run.finish();
    return run.trace.tasks_of(hops).back().begin;
  };
  EXPECT_EQ(done(wse2(), 33, 8) - done(wse2(), 1, 8), 32u);
  EXPECT_EQ(done(wse3(), 33, 8) - done(wse3(), 1, 8), 64u);
  EXPECT_EQ(done(wse2(), 3, 1000) - done(wse2(), 3, 100), 900u);
  EXPECT_EQ(done(wse3(), 3, 1000) - done(wse3(), 3, 100), 900u);
}

// Every queue depth sustains one wavelet per cycle, the two-word ones of WSE-2 too.
TEST(FabricTiming, shallow_queues_do_not_limit_the_rate) {
  auto done = [](int n) {
    Tile s("s"), r("r");
    s.dsd(96, fabout(4, 1, n)).dsd(104, mem(256, n)).output(4, 1);
    s.code("start: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\nyield");
    s.task(TaskKind::local, 8, "start").activated(8);
    r.dsd(96, mem(256, n)).dsd(104, fabin(7, 1, n)).input(7, 1);
    r.code("start: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\nyield");
    r.task(TaskKind::local, 8, "start").activated(8);
    Fabric f(wse2(), 2, 1);
    f.place({0, 0, 1, 1}, s).place({1, 0, 1, 1}, r);
    f.route({0, 0, 1, 1}, 1, {"R>E"});
    f.route({1, 0, 1, 1}, 1, {"W>R"});
    Simulation run(f);
    run.finish();
    return run.trace.tasks_of(1)[0].end;
  };
  EXPECT_EQ(done(600) - done(100), 500u);
}

// A row in which every PE adds its vector to what comes from the east and sends the sum west: SPMM's chain
// reduce with two colors. Measured on the WSE-2 simulator: B + 6 (P - 1) + a constant (61 with its harness).
Fabric chain(int P, int B) {
  Fabric f(wse2(), P, 1);
  std::vector<float> v;
  for (int i = 0; i < B; ++i) v.push_back(float(i));
  for (int x = 0; x < P; ++x) {
    int out = x % 2, in = 1 - out;  // color by the parity of the sender
    Tile t("pe" + std::to_string(x));
    t.floats(1024, v);
    if (x == P - 1) {
      t.dsd(96, fabout(2, out, B)).dsd(104, mem(1024, B));
      t.code("start: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nfmovs d0, s0_0\nyield");
    } else {
      t.dsd(96, x == 0 ? mem(1024, B) : fabout(2, out, B)).dsd(104, fabin(2, in, B)).dsd(112, mem(1024, B));
      t.input(2, in);
      t.code(
          "start: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nlds1ds s1_0, [112], {}\nfadds d0, s0_0, "
          "s1_0\nyield");
    }
    t.output(2, out).task(TaskKind::local, 8, "start").activated(8);
    f.place({x, 0, 1, 1}, t);
    if (x > 0) f.route({x, 0, 1, 1}, out, {"R>W"});
    if (x < P - 1) f.route({x, 0, 1, 1}, in, {"E>R"});
  }
  return f;
}

TEST(FabricTiming, chain_reduce_takes_six_cycles_per_stage) {
  auto cycles = [](int P, int B) {
    Simulation run(chain(P, B));
    run.finish();
    for (int i = 0; i < B; ++i) EXPECT_EQ(run.value(0, 0, 1024 + 4 * i), float(i) * float(P));
    auto tasks = run.trace.tasks_of(0);
    return tasks[0].end - tasks[0].begin;
  };
  Cycle base = cycles(2, 1);
  for (int P : {3, 4, 16, 64})
    for (int B : {1, 2, 16, 256})
      EXPECT_EQ(cycles(P, B), base + Cycle(B - 1) + 6 * Cycle(P - 2)) << P << " " << B;
}

// HPDC'24: a broadcast along a row reaches one more PE per cycle; multicast to the core costs nothing.
TEST(FabricTiming, broadcast_takes_one_hop_per_pe) {
  const int P = 20, B = 50;
  Fabric f(wse2(), P, 1);
  f.place({0, 0, 1, 1}, sender(B, 3)).place({1, 0, P - 1, 1}, receiver(B, 3));
  f.route({0, 0, 1, 1}, 3, {"R>E"});
  f.route({1, 0, P - 2, 1}, 3, {"W>ER"});
  f.route({P - 1, 0, 1, 1}, 3, {"W>R"});
  Simulation run(f);
  run.finish();
  Cycle first = run.trace.tasks_of(1).back().begin;
  for (int x = 1; x < P; ++x) EXPECT_EQ(run.trace.tasks_of(x).back().begin, first + Cycle(x - 1));
  EXPECT_EQ(run.engine.wavelet_hops(), uint64_t(B * (P - 1) * 2));
}

// FABRICA, WSE-3: a relay that receives the whole message and sends it on in the completion task:
// 1.001 N B + 16.1 N + 16.5 cycles for N stages of B words. By the law a stage costs B + 16: task start, two
// DSR loads (1 + 4), vector start 4, result 1 + ramp up 2, hop 2, ramp down 3, less the cycle that B words
// overlap.
TEST(FabricTiming, store_and_forward_relay) {
  auto cycles = [](int N, int B) {
    Fabric f(wse3(), N + 1, 1);
    for (int x = 0; x <= N; ++x) {
      int out = x % 2, in = 1 - out;
      Tile t("pe");
      t.dsd(96, mem(1024, B)).dsd(104, fabin(2, in, B)).dsd(112, fabout(3, out, B)).dsd(120, mem(1024, B));
      std::string receive =
          "lddds d0, [96], {async activate=9 ut=2}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\n";
      std::string send = "lddds d1, [112], {}\nlds0ds s0_1, [120], {}\nmov32 d1, s0_1\n";
      t.code("start: " + std::string(x > 0 ? receive : send) + "yield\ndone: " + (x < N ? send : "") +
             "yield");
      t.input(2, in)
          .output(3, out)
          .task(TaskKind::local, 8, "start")
          .task(TaskKind::local, 9, "done")
          .activated(8);
      f.place({x, 0, 1, 1}, t);
      if (x < N) f.route({x, 0, 1, 1}, out, {"R>E"});
      if (x > 0) f.route({x, 0, 1, 1}, in, {"W>R"});
    }
    Simulation run(f);
    run.finish();
    return run.trace.tasks_of(N).back().begin - run.trace.tasks_of(0)[0].begin;
  };
  // The published constant holds the program's own start and end; 4 % is the spread of the published fit.
  auto published = [](int N, int B) { return 1.001 * N * B + 16.1 * N + 16.5; };
  for (int N : {1, 2, 4, 8})
    for (int B : {64, 512})
      EXPECT_NEAR(double(cycles(N, B) - cycles(1, 64)), published(N, B) - published(1, 64),
                  0.04 * published(N, B));
  EXPECT_EQ(cycles(8, 64) - cycles(7, 64), 64u + 16);
  EXPECT_EQ(cycles(8, 512) - cycles(2, 512), 6u * (512 + 16));
}

// FABRICA: two sources that share a link serialise fully, and the rotating priority shares it evenly.
TEST(FabricTiming, two_streams_over_one_link_alternate) {
  const int B = 200;
  Fabric f(wse2(), 3, 2);
  f.place({0, 0, 1, 1}, sender(B, 1)).place({0, 1, 1, 1}, sender(B, 2));
  Tile r("receiver");
  r.dsd(96, mem(4096, B)).dsd(104, fabin(2, 1, B)).dsd(112, mem(8192, B)).dsd(120, fabin(3, 2, B));
  r.input(2, 1).input(3, 2);
  r.code(
      "start: lddds d0, [96], {async ut=2}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\n"
      "lddds d1, [112], {async ut=3}\nlds0ds s0_1, [120], {}\nmov32 d1, s0_1\nyield");
  r.task(TaskKind::local, 8, "start").activated(8);
  f.place({2, 0, 1, 1}, r);
  f.route({0, 0, 1, 1}, 1, {"R>E"});
  f.route({1, 0, 1, 1}, 1, {"W>E"});
  f.route({2, 0, 1, 1}, 1, {"W>R"});
  f.route({0, 1, 1, 1}, 2, {"R>E"});
  f.route({1, 1, 1, 1}, 2, {"W>N"});
  f.route({1, 0, 1, 1}, 2, {"S>E"});
  f.route({2, 0, 1, 1}, 2, {"W>R"});
  Simulation run(f);
  run.finish();
  auto shared = run.trace.wavelets_of(1, 0);
  ASSERT_EQ(shared.size(), size_t(2 * B));
  EXPECT_EQ(shared.back().cycle - shared.front().cycle, Cycle(2 * B - 1));
  int first = 0;
  for (int i = 0; i < B; ++i) first += shared[size_t(i)].color == 1;
  EXPECT_NEAR(first, B / 2, 1);
}

// docs/timing.md §3: a multicast waits until all of its outputs have room, so one blocked branch stops the
// other.
TEST(FabricTiming, multicast_moves_to_all_outputs_or_not_at_all) {
  Fabric f(wse2(), 3, 1);
  const int B = 20;
  f.place({0, 0, 1, 1}, sender(B, 1));
  f.place({2, 0, 1, 1}, receiver(B, 1));
  f.route({0, 0, 1, 1}, 1, {"R>E"});
  f.route({1, 0, 1, 1}, 1,
          {"W>ER"});  // the core of PE 1 has no program: its lane-deep queue fills and stays full
  f.route({2, 0, 1, 1}, 1, {"W>R"});
  Simulation run(f);
  run.finish();
  size_t room = size_t(std::max(wse2().router.lane_depth_wavelets, wse2().ramp.down_cycles + 1));
  EXPECT_EQ(run.trace.wavelets_of(1).size(), room);
  EXPECT_TRUE(run.engine.blocked());
  std::string report = run.engine.deadlock_report();
  EXPECT_NE(report.find("PE (2, 0)"), std::string::npos) << report;
  EXPECT_NE(report.find("PE (1, 0)"), std::string::npos) << report;
}

// EX pipeline-01 on WSE-2: a host stream into input queue 2 (4 words), an asynchronous move, output queue 3
// (6 words), nobody takes the result: 14 wavelets go in. 4 + 6 and two lanes of 2.
TEST(FabricTiming, fourteen_wavelets_fit_between_the_host_and_a_blocked_output) {
  Tile t("pipeline");
  t.dsd(96, fabout(3, 2, 100)).dsd(104, fabin(2, 1, 100)).input(2, 1).output(3, 2);
  t.code("start: lddds d0, [96], {async}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\nyield");
  t.task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  f.route({0, 0, 1, 1}, 1, {"W>R"});
  f.route({0, 0, 1, 1}, 2, {"R>E"});
  int in = f.port("in", true, Port::west, 0, 1);
  Simulation run(f);
  run.engine.send(in, std::vector<uint32_t>(50, 7), 0);
  run.finish();
  EXPECT_NE(run.engine.entered(in, 13), kNever);
  EXPECT_EQ(run.engine.entered(in, 14), kNever);
  EXPECT_TRUE(run.engine.blocked());
}

TEST(FabricTiming, host_ports_keep_order_rate_and_cycles) {
  Fabric f(wse2(), 4, 1);
  f.route({0, 0, 4, 1}, 5, {"W>E"});
  int in = f.port("in", true, Port::west, 0, 5), out = f.port("out", false, Port::east, 0, 5);
  Simulation run(f);
  run.engine.send(in, std::vector<uint32_t>{1, 2, 3, 4, 5}, 10);
  run.engine.watch(out, 3);
  run.engine.step(1000);
  EXPECT_TRUE(run.engine.watch_fired());
  // Onto the edge at 10, at the routers from 11 to 14, outside at 15; the third two later, departing at 16.
  EXPECT_EQ(run.engine.now(), 17u);
  ASSERT_EQ(run.engine.received(out).size(), 3u);
  run.engine.watch(out, 0);
  run.finish();
  const auto& got = run.engine.received(out);
  ASSERT_EQ(got.size(), 5u);
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(got[i].data, i + 1);
    EXPECT_EQ(got[i].cycle, 15 + i);
    EXPECT_EQ(run.engine.entered(in, i), 10 + i);
  }
}

// A port that takes two in all, then three more from cycle 100 on. Routers at 11 to 14: the third one would
// leave the last router in cycle 16; there is room for it in 100, so it leaves in 101 and is outside at 102.
TEST(FabricTiming, an_output_takes_as_many_as_it_is_told) {
  Fabric f(wse2(), 4, 1);
  f.route({0, 0, 4, 1}, 5, {"W>E"});
  int in = f.port("in", true, Port::west, 0, 5), out = f.port("out", false, Port::east, 0, 5);
  Simulation run(f);
  run.engine.accept(out, 2);
  run.engine.send(in, std::vector<uint32_t>{1, 2, 3, 4, 5}, 10);
  run.engine.step(100);
  EXPECT_EQ(run.engine.received(out).size(), 2u);
  EXPECT_TRUE(run.engine.idle());
  run.engine.accept(out, 5);
  run.finish();
  ASSERT_EQ(run.engine.received(out).size(), 5u);
  for (size_t i = 0; i < 5; ++i) EXPECT_EQ(run.engine.received(out)[i].cycle, i < 2 ? 15 + i : 100 + i);
}

// A wavelet is ready at the last router in cycle 14 and leaves it in 3 000 000 001, when the port has had room for a
// cycle; the next one is ready a cycle later and leaves in 6 000 000 001: together more than 32 bits of waiting.
TEST(FabricTiming, waiting_is_counted_beyond_32_bits) {
  Fabric f(wse2(), 4, 1);
  f.route({0, 0, 4, 1}, 5, {"W>E"});
  int in = f.port("in", true, Port::west, 0, 5), out = f.port("out", false, Port::east, 0, 5);
  Simulation run(f);
  run.engine.accept(out, 0);
  run.engine.send(in, std::vector<uint32_t>{1, 2}, 10);
  run.engine.step(3'000'000'000, true);
  run.engine.accept(out, 1);
  run.engine.step(6'000'000'000, true);
  run.engine.accept(out, 2);
  run.finish(6'000'001'000);
  ASSERT_EQ(run.engine.received(out).size(), 2u);
  const PeStats last = run.engine.stats({3, 0});
  EXPECT_EQ(last.blocked[size_t(Port::east)], (3'000'000'001 - 14) + (6'000'000'001 - 3'000'000'002));
  EXPECT_EQ(last.sent[size_t(Port::east)], 2u);
  EXPECT_EQ(run.engine.wavelet_hops(), 8u);
}

// Control wavelets travel as data do, and end at the edge unless they are asked for.
TEST(FabricTiming, control_wavelets_cross_the_edges_on_request) {
  for (const bool kept : {false, true}) {
    Fabric f(wse2(), 4, 1);
    f.route({0, 0, 4, 1}, 5, {"W>E"});
    int in = f.port("in", true, Port::west, 0, 5), out = f.port("out", false, Port::east, 0, 5);
    Simulation run(f);
    if (kept) run.engine.keep_controls(out);
    run.engine.send(in, std::vector<uint32_t>{1}, 10);
    run.engine.send_control(in, 7U << 16, 10);
    run.engine.send(in, std::vector<uint32_t>{3}, 10);
    run.finish();
    const auto& got = run.engine.received(out);
    ASSERT_EQ(got.size(), kept ? 3u : 2u);
    EXPECT_EQ(got.back().cycle, 17u);
    if (kept) {
      EXPECT_TRUE(got[1].control);
      EXPECT_EQ(got[1].cycle, 16u);
    }
  }
}

// Two streams that enter at one place, and two that leave at one place, share a link of one wavelet per
// cycle: they take turns. The same two at places of their own do not.
TEST(FabricTiming, streams_at_one_place_share_the_host_port) {
  for (const bool shared : {true, false}) {
    Fabric f(wse2(), 4, 2);
    const int row = shared ? 0 : 1;
    f.route({0, 0, 4, 1}, 5, {"W>E"});
    f.route({0, row, 4, 1}, 6, {"W>E"});
    const int in[] = {f.port("a", true, Port::west, 0, 5), f.port("b", true, Port::west, row, 6)};
    const int out[] = {f.port("c", false, Port::east, 0, 5), f.port("d", false, Port::east, row, 6)};
    Simulation run(f);
    for (const int p : in) run.engine.send(p, std::vector<uint32_t>{1, 2, 3, 4}, 10);
    run.finish();
    for (const size_t k : {0, 1}) {
      const auto& got = run.engine.received(out[k]);
      ASSERT_EQ(got.size(), 4u);
      for (size_t i = 0; i < 4; ++i) {
        // Alone: a wavelet per cycle from 10 on, outside after five hops. Shared: every second cycle, b
        // behind a.
        const Cycle entered = shared ? 10 + 2 * i + k : 10 + i;
        EXPECT_EQ(run.engine.entered(in[k], i), entered) << shared << " " << k;
        EXPECT_EQ(got[i].cycle, entered + 5) << shared << " " << k;
        EXPECT_EQ(got[i].data, i + 1);
      }
    }
  }
}

}  // namespace
}  // namespace cs::sim::test
