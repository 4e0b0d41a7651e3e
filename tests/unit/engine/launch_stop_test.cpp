// A run that ends when the last command stream is given back: time, memory and counters at that stop, and
// after it, are the same whether cores run ahead of the clock or not. An engine with a trace never lets them.
#include <random>

#include "tests/unit/engine/program_builder.h"

namespace cs::sim::test {
namespace {

constexpr int kWidth = 6;

// A function of random parts: operations on memory, scalars, a loop, questions about queues, a stream from the
// neighbour to the west and one to the east beneath; in between the command stream is given back.
Tile random_function(int x, std::mt19937& rng) {
  Tile t("random" + std::to_string(x));
  t.dsd(16, mem(8192, 60)).dsd(24, mem(1024, 60)).dsd(32, mem(9001 & ~1, 33)).dsd(40, mem(10000, 50));
  for (int k = 0; k < 8; ++k) t.dsd(200 + 8 * k, mem(8192 + 4 * int(rng() % 9), 1 + int(rng() % 60)));
  std::vector<uint32_t> words(100);
  for (uint32_t& w : words) w = rng();
  t.words(1024, words);
  std::string code = "run: mov16 r2, 3\n";
  if (x + 1 < kWidth) {
    t.dsd(48, fabout(1, x % 2, 50)).output(1, x % 2);
    code += "lddds d3, [48], {async ut=1}\nlds0ds s0_3, [24], {}\nmov32 d3, s0_3\n";
  }
  if (x > 0) {
    t.dsd(56, fabin(2, 1 - x % 2, 50)).input(2, 1 - x % 2);
    code += "lddds d4, [40], {async activate=9 ut=2}\nlds0ds s0_4, [56], {}\nmov32 d4, s0_4\n";
  }
  int label = 0;
  auto part = [&]() -> std::string {
    const std::string length = std::to_string(200 + 8 * int(rng() % 8));
    switch (rng() % 6) {
      case 0:
      case 1:
        return "lddds d1, [" + length + "], {}\nlds0ds s0_1, [24], {}\nlds1ds s1_1, [16], {}\nadd16 d1, s0_1, s1_1\n";
      case 2: {
        std::string scalars;
        for (uint32_t k = 0; k < rng() % 9; ++k) scalars += "add16 r3, r3, 7\nst16 [8100+0], r3\n";
        return scalars;
      }
      case 3: {
        const std::string name = "loop" + std::to_string(label++);
        return "mov16 r4, 3\n" + name + ": sub16 r4, r4, 1\nlddds d2, [" + length +
               "], {}\nlds0ds s0_2, [24], {}\nlds1ds s1_2, [16], {}\nxor16 d2, s0_2, s1_2\njmpt r4, @" + name + "\n";
      }
      case 4:
        return "ldcfg16 r5, " + std::to_string(int(isa::ConfigReg::input_empty)) +
               "\nst16 [8110+0], r5\nldcfg16 r5, " + std::to_string(int(isa::ConfigReg::output_full)) +
               "\nadd16 r6, r6, r5\nst16 [8112+0], r6\n";
      default:
        return "lds1ds s1_5, [" + length + "], {}\nadd16 r7, r7, s1_5\nst16 [8114+0], r7\n";
    }
  };
  const uint32_t parts = 2 + rng() % 8, give = rng() % parts;
  for (uint32_t k = 0; k < parts; ++k) {
    code += part();
    if (k == give) code += "mov16 r8, 1\nstcfg16 6, r8\n";
  }
  code += "yield\ndone: lddds d1, [16], {}\nlds0ds s0_1, [40], {}\nlds1ds s1_1, [16], {}\nadd16 d1, s0_1, s1_1\nyield";
  t.code(code).function("run").task(TaskKind::local, 9, "done");
  return t;
}

Fabric random_fabric(const Machine& m, uint32_t seed) {
  std::mt19937 rng(seed);
  Fabric f(m, kWidth, 1);
  f.machine.memcpy.command_cycles = 20;
  for (int x = 0; x < kWidth; ++x) {
    f.place({x, 0, 1, 1}, random_function(x, rng));
    if (x + 1 < kWidth) f.route({x, 0, 1, 1}, x % 2, {"R>E"});
    if (x > 0) f.route({x, 0, 1, 1}, 1 - x % 2, {"W>R"});
  }
  f.p.exports = {{"run", true}};
  return f;
}

// Everything that the host can see now.
std::vector<uint64_t> seen(const Engine& engine) {
  std::vector<uint64_t> all{engine.now(), engine.commands_pending(), engine.wavelet_hops(), engine.instructions()};
  for (int x = 0; x < kWidth; ++x) {
    std::vector<uint8_t> memory(12000);
    engine.read({x, 0}, 0, memory);
    all.insert(all.end(), memory.begin(), memory.end());
    const PeStats s = engine.stats({x, 0});
    all.insert(all.end(), {s.busy, s.instructions, s.elements, s.flops, s.tasks, s.last_task_end, s.injected});
    all.insert(all.end(), s.stalls.begin(), s.stalls.end());
  }
  return all;
}

std::vector<std::vector<uint64_t>> stops(const Fabric& f, bool trace, EngineOptions options, Cycle stretch) {
  Engine engine(f.machine, options);
  Recorder recorder;
  if (trace) engine.set_trace(&recorder);
  Diag diag;
  EXPECT_TRUE(engine.load(f.p, {}, diag)) << diag.to_string();
  std::vector<std::vector<uint64_t>> all;
  for (int launch = 0; launch < 2; ++launch) {
    engine.launch(0, {}, {0, 0, kWidth, 1}, engine.now());
    engine.watch_commands(true);
    while (engine.commands_pending() != 0 && !engine.faulted()) engine.step(engine.now() + stretch, true, 1000000);
    EXPECT_FALSE(engine.faulted()) << engine.fault().message;
    all.push_back(seen(engine));
    engine.watch_commands(false);
    engine.step(engine.now() + 11);
    all.push_back(seen(engine));
    engine.step(engine.now() + 3000);
    all.push_back(seen(engine));
  }
  return all;
}

TEST(LaunchStop, what_the_host_sees_does_not_depend_on_running_ahead) {
  for (const char* name : {"wse2", "wse3"})
    for (uint32_t seed = 1; seed <= 60; ++seed) {
      const Fabric f = random_fabric(machine(name), seed);
      const auto want = stops(f, true, {32, 32, 1}, 1 << 14);
      EXPECT_TRUE(stops(f, false, {32, 32, 1}, 1 << 14) == want) << name << " " << seed;
      EXPECT_TRUE(stops(f, false, {2, 1, 1}, 17) == want) << name << " " << seed;
    }
}

// f32 sums of 40 elements behind one another: what follows the last one is `between` moves and the instruction
// that gives the stream back. It retires dsd_start cycles before its last group, but others see what comes
// then only when that group is over.
TEST(LaunchStop, a_stream_is_not_given_back_before_the_last_group) {
  for (int between = 0; between < 9; ++between) {
    Tile t("sum");
    t.dsd(96, mem(256, 40)).dsd(104, mem(256, 40)).dsd(112, mem(1028, 40));
    t.floats(1028, std::vector<float>(40, 1.0f));
    std::string code = "run: lddds d0, [96], {}\nlds0ds s0_0, [104], {}\nlds1ds s1_0, [112], {}\n";
    code += "fadds d0, s0_0, s1_0\nfadds d0, s0_0, s1_0\n";
    for (int k = 0; k < between; ++k) code += "mov16 r" + std::to_string(k % 6) + ", 1\n";
    t.code(code + "mov16 r6, 1\nstcfg16 6, r6\nyield").function("run");
    Fabric f(wse2(), 1, 1);
    f.place({0, 0, 1, 1}, t);
    f.p.exports = {{"run", true}};
    Cycle end[2];
    for (const bool trace : {false, true}) {
      Engine engine(f.machine, {});
      Recorder recorder;
      if (trace) engine.set_trace(&recorder);
      Diag diag;
      ASSERT_TRUE(engine.load(f.p, {}, diag)) << diag.to_string();
      engine.launch(0, {}, {0, 0, 1, 1}, 0);
      engine.watch_commands(true);
      engine.step(1000000);
      end[trace] = engine.now();
      for (int i = 0; i < 40; ++i) {
        uint8_t bytes[4];
        engine.read({0, 0}, uint16_t(256 + 4 * i), bytes);
        float value;
        std::memcpy(&value, bytes, 4);
        EXPECT_EQ(value, 2.0f) << between << " " << i;
      }
    }
    EXPECT_EQ(end[0], end[1]) << between;
  }
}

}  // namespace
}  // namespace cs::sim::test
