// Speed of the engine: wavelet-hops per second streaming and contended, scalar instructions and vector
// elements per second, loading a whole wafer, what idle PEs cost. The goals stand in docs/engine.md.
#include <benchmark/benchmark.h>

#include "tests/bench/workloads.h"

namespace cs::sim::test {
namespace {

// Host streams through every row of a side x side fabric: no contention, no cores.
void streaming(benchmark::State& state) {
  const int side = int(state.range(0));
  const Fabric f = stream_rows(side);
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

void contended(benchmark::State& state) {
  const Fabric f = contended_flows(int(state.range(0)));
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
  const Fabric f = scalar_loop(side);
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
