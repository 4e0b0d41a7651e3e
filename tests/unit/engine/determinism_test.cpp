// The same program gives the same values, cycles and counters for every block size and number of threads, and
// however the run is cut into steps.
#include "tests/unit/engine/random_traffic.h"

namespace cs::sim::test {
namespace {

struct Outcome {
  std::vector<uint8_t> memory;
  std::vector<uint64_t> counters;
  Cycle end = 0;
  bool operator==(const Outcome&) const = default;
};

Outcome run(const Fabric& f, EngineOptions options, Cycle cut, bool trace, Cycle unseen = 0) {
  Engine engine(f.machine, options);
  Recorder recorder;
  if (trace) engine.set_trace(&recorder);
  Diag diag;
  EXPECT_TRUE(engine.load(f.p, {}, diag)) << diag.to_string();
  Outcome o;
  while (!engine.idle()) {
    o.end = engine.next_event() + 1;
    engine.step(engine.next_event() + cut, true, unseen);
    EXPECT_FALSE(engine.faulted()) << engine.fault().message;
    if (engine.faulted()) break;
  }
  engine.step(20000);
  for (int y = 0; y < kSide; ++y)
    for (int x = 0; x < kSide; ++x) {
      std::vector<uint8_t> m(16384);
      engine.read({x, y}, 0, m);
      o.memory.insert(o.memory.end(), m.begin(), m.end());
      PeStats s = engine.stats({x, y});
      uint64_t all = s.busy;
      for (uint64_t v : s.stalls) all += v;
      EXPECT_LE(all, engine.now());
      o.counters.insert(o.counters.end(), {s.busy, s.instructions, s.elements, s.flops, s.tasks, s.first_task,
                                           s.last_task_end, s.injected});
      o.counters.insert(o.counters.end(), s.stalls.begin(), s.stalls.end());
      o.counters.insert(o.counters.end(), s.sent.begin(), s.sent.end());
      o.counters.insert(o.counters.end(), s.blocked.begin(), s.blocked.end());
    }
  o.counters.push_back(engine.wavelet_hops());
  o.counters.push_back(engine.instructions());
  return o;
}

TEST(Determinism, block_sizes_threads_and_steps_do_not_matter) {
  for (const char* name : {"wse2", "wse3"})
    for (uint32_t seed : {1u, 2u, 3u}) {
      Traffic traffic(machine(name), seed);
      Outcome want = run(traffic.f, {32, 32, 1}, 100000, false);
      EXPECT_GT(want.counters[want.counters.size() - 2], 1000u) << "the test moves too little";
      for (int side : {1, 3, 8})
        for (int threads : {1, 2}) {
          Outcome got = run(traffic.f, {side, side, threads, 0}, 100000, false);
          EXPECT_TRUE(got.memory == want.memory) << name << " " << seed << " " << side << " " << threads;
          EXPECT_EQ(got.counters, want.counters) << name << " " << seed << " " << side << " " << threads;
        }
      Outcome steps = run(traffic.f, {8, 8, 1}, 1, true);
      EXPECT_TRUE(steps.memory == want.memory);
      EXPECT_EQ(steps.counters, want.counters);
      Outcome uneven = run(traffic.f, {5, 7, 1}, 13, false);
      EXPECT_TRUE(uneven.memory == want.memory);
      EXPECT_EQ(uneven.counters, want.counters);
      Outcome unseen = run(traffic.f, {8, 8, 1}, 5, false, 20000);
      EXPECT_TRUE(unseen.memory == want.memory);
      EXPECT_EQ(unseen.counters, want.counters);
    }
}

// Three streams over one router: two multicasts to EAST and RAMP, one stream to EAST. All want EAST, so it
// carries 3 n wavelets one per cycle, in fair shares, whatever the block size.
TEST(Determinism, contending_multicasts_share_and_finish) {
  const int n = 90;
  Tile t("taps");
  for (int i = 0; i < 2; ++i)
    t.dsd(96 + 16 * i, mem(1024 + 1024 * i, n)).dsd(104 + 16 * i, fabin(2 + i, 1 + i, n)).input(2 + i, 1 + i);
  t.code(
      "start: lddds d0, [96], {async ut=2}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\n"
      "lddds d1, [112], {async ut=3}\nlds0ds s0_1, [120], {}\nmov32 d1, s0_1\nyield");
  t.task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2(), 3, 1);
  f.place({1, 0, 1, 1}, t);
  for (int color : {1, 2}) {
    f.route({0, 0, 1, 1}, color, {"W>E"});
    f.route({1, 0, 1, 1}, color, {"W>ER"});
    f.route({2, 0, 1, 1}, color, {"W>E"});
  }
  f.route({1, 0, 1, 1}, 3, {"N>E"});
  f.route({2, 0, 1, 1}, 3, {"W>E"});
  const int in[] = {f.port("a", true, Port::west, 0, 1), f.port("b", true, Port::west, 0, 2),
                    f.port("c", true, Port::north, 1, 3)};
  const int out[] = {f.port("x", false, Port::east, 0, 1), f.port("y", false, Port::east, 0, 2),
                     f.port("z", false, Port::east, 0, 3)};
  std::vector<std::vector<Cycle>> cycles;
  for (int side : {1, 2, 32}) {
    Engine engine(f.machine, EngineOptions{side, side});
    Diag diag;
    ASSERT_TRUE(engine.load(f.p, {}, diag)) << diag.to_string();
    for (int i = 0; i < 3; ++i) engine.send(in[i], std::vector<uint32_t>(n, uint32_t(i + 1)), 20);
    engine.step(5000);
    EXPECT_FALSE(engine.blocked());
    std::vector<Cycle> all, seen(5001);
    for (int i = 0; i < 3; ++i) {
      ASSERT_EQ(engine.received(out[i]).size(), size_t(n));
      for (const PortEvent& e : engine.received(out[i])) {
        all.push_back(e.cycle);
        EXPECT_EQ(seen[e.cycle]++, 0u) << "two wavelets on one link in a cycle";
      }
      EXPECT_LE(engine.received(out[i]).back().cycle, 20u + 3 + 3 * n + 8);
    }
    cycles.push_back(all);
  }
  EXPECT_EQ(cycles[0], cycles[1]);
  EXPECT_EQ(cycles[0], cycles[2]);
}

// A watch may stop the run while cores have run ahead: what the host then reads is what it reads in a run
// that is cut at that cycle anyway.
// `missing` wavelets before each stop: with many, cores run ahead without a way back until the stop is near.
void expect_state_of_the_stop(size_t missing, size_t least_stops) {
  for (uint32_t seed : {4u, 5u, 6u, 7u}) {
    Traffic traffic(wse2(), seed);
    std::mt19937 rng(seed);
    // A host stream beside the traffic, on a color of its own, stops the run every few wavelets.
    traffic.f.route({0, 3, kSide, 1}, 20, {"W>E"});
    int in = traffic.f.port("in", true, Port::west, 3, 20),
        out = traffic.f.port("out", false, Port::east, 3, 20);
    auto make = [&](int side) {
      auto engine = std::make_unique<Engine>(traffic.f.machine, EngineOptions{side, side});
      Diag diag;
      EXPECT_TRUE(engine->load(traffic.f.p, {}, diag)) << diag.to_string();
      if (missing > 1) engine->send(in, std::vector<uint32_t>(4 * missing, 1), 1);
      for (Cycle t = 1; missing == 1 && t < 900; t += 1 + rng() % 37)
        engine->send(in, std::vector<uint32_t>{1}, t);
      return engine;
    };
    auto state = [](const Engine& e) {
      std::vector<uint64_t> all{e.now(), e.instructions(), e.wavelet_hops()};
      std::vector<uint8_t> m(1024);
      for (int y = 0; y < kSide; ++y)
        for (int x = 0; x < kSide; ++x) {
          for (int base : {2048, 7680, 8192}) {
            e.read({x, y}, uint16_t(base), m);
            uint64_t hash = 0;
            for (uint8_t b : m) hash = hash * 1099511628211u + b;
            all.push_back(hash);
          }
          PeStats s = e.stats({x, y});
          all.insert(all.end(), {s.busy, s.elements, s.instructions, s.tasks});
          all.insert(all.end(), s.stalls.begin(), s.stalls.end());
        }
      return all;
    };
    rng.seed(seed);
    auto watched = make(8);
    rng.seed(seed);
    auto plain = make(32);
    size_t stops = 0;
    for (;;) {
      watched->watch(out, watched->received(out).size() + missing);
      watched->step(3000);
      plain->step(watched->now());
      ASSERT_EQ(state(*watched), state(*plain)) << "seed " << seed << " stop " << stops;
      if (!watched->watch_fired()) break;
      ++stops;
    }
    EXPECT_GE(stops, least_stops);
  }
}

TEST(Determinism, early_stops_leave_memory_as_of_the_stop) { expect_state_of_the_stop(1, 20); }
TEST(Determinism, stops_that_are_known_to_be_far_leave_memory_as_of_the_stop) {
  expect_state_of_the_stop(280, 4);
}

}  // namespace
}  // namespace cs::sim::test
