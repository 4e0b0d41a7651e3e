// Speed of the engine: wavelet-hops per second streaming and contended, scalar instructions and vector
// elements per second, loading a whole wafer, what idle PEs cost. The goals stand in docs/engine.md.
#include <benchmark/benchmark.h>

#include <random>

#include "tests/unit/engine/program_builder.h"

namespace cs::sim::test {
namespace {

Machine wse2_machine() {
  Diag diag;
  return load_machine("wse2", diag).value_or(Machine{});
}

std::unique_ptr<Engine> load(const Fabric& f, int threads = 1, int side = 32) {
  auto engine = std::make_unique<Engine>(f.machine, EngineOptions{side, side, threads});
  Diag diag;
  if (!engine->load(f.p, {}, diag)) throw std::runtime_error(diag.to_string());
  return engine;
}

// Host streams through every row of a side x side fabric: no contention, no cores.
void streaming(benchmark::State& state) {
  const int side = int(state.range(0));
  Fabric f(wse2_machine(), side, side);
  f.route({0, 0, side, side}, 1, {"W>E"});
  for (int y = 0; y < side; ++y) {
    f.port("in" + std::to_string(y), true, Port::west, y, 1);
    f.port("out" + std::to_string(y), false, Port::east, y, 1);
  }
  uint64_t hops = 0;
  std::vector<uint32_t> data(2000, 1);
  for (auto unused : state) {
    state.PauseTiming();
    auto engine = load(f, int(state.range(1)));
    for (int y = 0; y < side; ++y) engine->send(2 * y, data, 0);
    state.ResumeTiming();
    engine->step(100000);
    hops += engine->wavelet_hops();
  }
  state.counters["hops/s"] = benchmark::Counter(double(hops), benchmark::Counter::kIsRate);
}
BENCHMARK(streaming)->Args({64, 1})->Args({64, 2})->Args({128, 1})->UseRealTime()->Unit(
    benchmark::kMillisecond);

// Six random flows of up to 8 hops per PE and color: links are shared, lanes block. The sources are endless
// self-feeding operations of the cores.
void contended(benchmark::State& state) {
  const int side = int(state.range(0)), kColors = 12;
  Fabric f(wse2_machine(), side, side);
  std::mt19937 rng(7);
  std::vector<std::vector<bool>> used(kColors, std::vector<bool>(size_t(side * side)));
  std::vector<std::vector<std::pair<int, bool>>> ends(size_t(side * side));
  for (int color = 0; color < kColors; ++color)
    for (int tries = 0; tries < side * side; ++tries) {
      int x0 = int(rng() % uint32_t(side)), y0 = int(rng() % uint32_t(side));
      int x1 = std::clamp(x0 + int(rng() % 17) - 8, 0, side - 1),
          y1 = std::clamp(y0 + int(rng() % 17) - 8, 0, side - 1);
      if ((x0 == x1 && y0 == y1) || ends[size_t(y0 * side + x0)].size() > 1 ||
          ends[size_t(y1 * side + x1)].size() > 1)
        continue;
      std::vector<std::tuple<int, int, std::string>> steps;
      char in = 'R';
      int x = x0, y = y0;
      while (x != x1 || y != y1) {
        char out = x < x1 ? 'E' : x > x1 ? 'W' : y < y1 ? 'S' : 'N';
        steps.emplace_back(x, y, std::string() + in + ">" + out);
        x += out == 'E' ? 1 : out == 'W' ? -1 : 0;
        y += out == 'S' ? 1 : out == 'N' ? -1 : 0;
        in = out == 'E' ? 'W' : out == 'W' ? 'E' : out == 'S' ? 'N' : 'S';
      }
      steps.emplace_back(x, y, std::string() + in + ">R");
      bool free = true;
      for (auto& [px, py, text] : steps) free &= !used[size_t(color)][size_t(py * side + px)];
      if (!free) continue;
      for (auto& [px, py, text] : steps) {
        used[size_t(color)][size_t(py * side + px)] = true;
        f.route({px, py, 1, 1}, color, {text});
      }
      ends[size_t(y0 * side + x0)].emplace_back(color, false);
      ends[size_t(y1 * side + x1)].emplace_back(color, true);
    }
  for (int i = 0; i < side * side; ++i) {
    Tile t("pe");
    std::string code = "start: mov16 r0, 1\n";
    int at = 96, q = 0;
    for (auto [color, receives] : ends[size_t(i)]) {
      std::string n = std::to_string(q), data = std::to_string(at), fab = std::to_string(at + 8);
      t.dsd(at, mem(1024, 30000, 0)).dsd(at + 8, receives ? fabin(q, color, 30000) : fabout(q, color, 30000));
      if (receives)
        t.input(q, color);
      else
        t.output(q, color);
      code += "lddds d0, [" + (receives ? data : fab) + "], {async ut=" + n + "}\nlds0ds s0_0, [" +
              (receives ? fab : data) + "], {}\nmov32 d0, s0_0\n";
      at += 16;
      ++q;
    }
    t.code(code + "yield").task(TaskKind::local, 8, "start").activated(8);
    f.place({i % side, i / side, 1, 1}, t);
  }
  uint64_t hops = 0;
  double cycles = 0;
  for (auto unused : state) {
    state.PauseTiming();
    auto engine = load(f, int(state.range(1)));
    engine->step(500);
    uint64_t before = engine->wavelet_hops();
    state.ResumeTiming();
    engine->step(2500);
    hops += engine->wavelet_hops() - before;
    cycles += 2000;
  }
  state.counters["hops/s"] = benchmark::Counter(double(hops), benchmark::Counter::kIsRate);
  state.counters["hops/cycle"] = double(hops) / cycles;
}
BENCHMARK(contended)->Args({32, 1})->Args({64, 1})->Args({64, 2})->UseRealTime()->Unit(
    benchmark::kMillisecond);

void scalar(benchmark::State& state) {
  const int side = int(state.range(0));
  Tile t("loop");
  std::string code = "start: mov16 r0, 0\nloop: ";
  for (int i = 0; i < 12; ++i)
    code += "add16 r1, r1, r2\nld16 r3, [512+0]\nst16 [516+0], r1\nxor16 r2, r1, r3\n";
  t.code(code + "jmp @loop").task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2_machine(), side, side);
  f.place({0, 0, side, side}, t);
  uint64_t instructions = 0;
  for (auto unused : state) {
    state.PauseTiming();
    auto engine = load(f);
    state.ResumeTiming();
    engine->step(Cycle(20000000 / (side * side)));
    instructions += engine->instructions();
  }
  state.counters["instructions/s"] = benchmark::Counter(double(instructions), benchmark::Counter::kIsRate);
}
BENCHMARK(scalar)->Arg(1)->Arg(64)->Unit(benchmark::kMillisecond);

// One local task that keeps activating itself.
void tasks(benchmark::State& state) {
  Tile t("tasks");
  t.code("start: actvt 8\nyield").task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2_machine(), 32, 32);
  f.place({0, 0, 32, 32}, t);
  uint64_t n = 0;
  for (auto unused : state) {
    state.PauseTiming();
    auto engine = load(f);
    state.ResumeTiming();
    engine->step(3000);
    n += engine->stats({0, 0}).tasks * 1024;
  }
  state.counters["tasks/s"] = benchmark::Counter(double(n), benchmark::Counter::kIsRate);
}
BENCHMARK(tasks)->Unit(benchmark::kMillisecond);

// A whole wafer: every PE has a program and a route, one of them works.
void wafer(benchmark::State& state) {
  Tile idle("idle"), busy("busy");
  idle.code("start: yield").task(TaskKind::local, 8, "start");
  busy.code("start: jmp @start").task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2_machine(), 757, 996);
  f.place({1, 0, 756, 996}, idle).place({0, 0, 1, 1}, busy);
  f.route({0, 0, 757, 996}, 1, {"W>E"});
  for (auto unused : state) {
    auto engine = load(f);
    state.PauseTiming();
    engine->step(1000);
    engine.reset();
    state.ResumeTiming();
  }
}
BENCHMARK(wafer)->Unit(benchmark::kMillisecond)->Iterations(1);

}  // namespace
}  // namespace cs::sim::test
