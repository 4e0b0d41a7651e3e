// The engine beside bare loops that do the least the same work takes, in turn on the same core: a table of
// figures, the ratio by the median of five. Absolute figures vary twofold from machine to machine, so the
// processor's name is printed.
//   bench_bare            what engine.md's table shows
#include <fmt/format.h>
#include <sched.h>
#include <time.h>

#include <bit>
#include <fstream>
#include <functional>

#include "simulator/exec/exec.h"
#include "tests/bench/bare_lanes.h"

namespace cs::sim::test {
namespace {

double cpu_seconds() {
  timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

// Work per second of processor time; `work` says how much it did.
double rate(const std::function<double()>& work) {
  const double begin = cpu_seconds();
  const double done = work();
  return done / (cpu_seconds() - begin);
}

std::string processor() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

void compare(const std::string& name, double target, const std::function<double()>& engine,
             const std::function<double()>& bare) {
  std::vector<double> ours, theirs, ratios;
  for (int i = 0; i < 5; ++i) {
    ours.push_back(rate(engine));
    theirs.push_back(rate(bare));
    ratios.push_back(ours.back() / theirs.back());
  }
  for (auto* v : {&ours, &theirs, &ratios}) std::sort(v->begin(), v->end());
  fmt::print("{:44} {:9.2f} M/s {:9.2f} M/s {:6.2f}  {:5.2f}\n", name, ours[2] / 1e6, theirs[2] / 1e6, ratios[2],
             target);
  std::fflush(stdout);
}

void streams(int side) {
  const Fabric f = stream_rows(side);
  const auto engine = load(f);
  for (int y = 0; y < side; ++y) engine->send(2 * y, std::vector<uint32_t>(60000, 1), 0);
  engine->step(Cycle(2 * side));
  BareLanes bare(f);
  bare.run(uint32_t(2 * side));
  compare(fmt::format("hops, streams {}x{}", side, side), 0.5,
          [&] {
            const uint64_t before = engine->wavelet_hops();
            engine->step(engine->now() + 1000);
            return double(engine->wavelet_hops() - before);
          },
          [&] { return double(bare.run(1000)); });
}

void flows(int side, Cycle cycles) {
  const Fabric f = contended_flows(side);
  const auto engine = load(f);
  engine->step(500);
  BareLanes bare(f);
  bare.run(500);
  compare(fmt::format("hops, contended flows with cores {}x{}", side, side), 0.4,
          [&] {
            const uint64_t before = engine->wavelet_hops();
            engine->step(engine->now() + cycles);
            return double(engine->wavelet_hops() - before);
          },
          [&] { return double(bare.run(uint32_t(cycles))); });
}

// What `scalar_loop` does, as an interpreter of four micro-operations would.
uint64_t bare_scalars(uint64_t count, std::vector<uint16_t>& memory) {
  static constexpr uint8_t kCode[] = {0, 1, 2, 3};
  uint16_t r[4] = {0, 1, 2, 3};
  for (uint64_t i = 0; i < count; ++i) {
    asm volatile("" : "+m"(r));  // as many instructions as there are
    switch (kCode[i % 4]) {
      case 0:
        r[1] = uint16_t(r[1] + r[2]);
        break;
      case 1:
        r[3] = memory[256];
        break;
      case 2:
        memory[258] = r[1];
        break;
      default:
        r[2] = uint16_t(r[1] ^ r[3]);
    }
  }
  return count;
}

void scalars(int side) {
  const Fabric f = scalar_loop(side);
  const auto engine = load(f);
  engine->step(100);
  std::vector<uint16_t> memory(1024);
  compare(fmt::format("scalar instructions, {}x{}", side, side), 0.3,
          [&] {
            const uint64_t before = engine->instructions();
            engine->step(engine->now() + Cycle(4000000 / (side * side)));
            return double(engine->instructions() - before);
          },
          [&] { return double(bare_scalars(8000000, memory)); });
}

template <class T>
void vectors(const char* name, const std::string& operation, T (*element)(T, T)) {
  const int n = 2048;
  const Fabric f = vector_loop(operation, n, int(sizeof(T)));
  const auto engine = load(f);
  engine->step(1000);
  std::vector<T> a(n, T(1)), b(n, T(1));
  compare(name, 0.3,
          [&] {
            const uint64_t before = engine->stats({0, 0}).elements;
            engine->step(engine->now() + 20000000);
            return double(engine->stats({0, 0}).elements - before);
          },
          [&] {
            const int rounds = 20000;
            for (int k = 0; k < rounds; ++k) {
              for (int i = 0; i < n; ++i) a[size_t(i)] = element(a[size_t(i)], b[size_t(i)]);
              asm volatile("" : : "r"(a.data()) : "memory");
            }
            return double(rounds) * n;
          });
}

void all() {
  cpu_set_t one;  // both on one core
  CPU_ZERO(&one);
  CPU_SET(sched_getcpu(), &one);
  sched_setaffinity(0, sizeof(one), &one);
  fmt::print("{}\n{:44} {:>13} {:>13} {:>6}  {:>5}\n", processor(), "", "engine", "bare loop", "ratio", "asked");
  streams(64);
  flows(64, 1000);
  scalars(1);
  scalars(64);
  vectors<float>("vector elements, f32 (fadds)", "fadds d0, s0_0, s1_0", [](float x, float y) { return x + y; });
  vectors<uint16_t>("vector elements, integers (add16)", "add16 d0, s0_0, s1_0",
                    [](uint16_t x, uint16_t y) { return uint16_t(x + y); });
}

}  // namespace
}  // namespace cs::sim::test

int main() { cs::sim::test::all(); }
