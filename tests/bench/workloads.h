// Programs that the benchmarks run: streams along rows, flows that share links, scalar loops, loops of one vector
// operation.
#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <stdexcept>

#include "tests/unit/engine/program_builder.h"

namespace cs::sim::test {

inline Machine wse2_machine() {
  Diag diag;
  return load_machine("wse2", diag).value_or(Machine{});
}

inline std::unique_ptr<Engine> load(const Fabric& f, int threads = 1, int side = 32) {
  auto engine = std::make_unique<Engine>(f.machine, EngineOptions{side, side, threads});
  Diag diag;
  if (!engine->load(f.p, {}, diag)) throw std::runtime_error(diag.to_string());
  return engine;
}

// A stream of the host through every row: no contention, no cores. Port 2 y feeds row y.
inline Fabric stream_rows(int side) {
  Fabric f(wse2_machine(), side, side);
  f.route({0, 0, side, side}, 1, {"W>E"});
  for (int y = 0; y < side; ++y) {
    f.port("in" + std::to_string(y), true, Port::west, y, 1);
    f.port("out" + std::to_string(y), false, Port::east, y, 1);
  }
  return f;
}

// Six random flows of up to 8 hops per PE and color: links are shared, lanes block. The sources are endless
// self-feeding operations of the cores.
inline Fabric contended_flows(int side) {
  const int kColors = 12;
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
  return f;
}

// Sums, loads, stores and exclusive ors in turn, for ever.
inline Fabric scalar_loop(int side) {
  Tile t("loop");
  std::string code = "start: mov16 r0, 0\nloop: ";
  for (int i = 0; i < 12; ++i)
    code += "add16 r1, r1, r2\nld16 r3, [512+0]\nst16 [516+0], r1\nxor16 r2, r1, r3\n";
  t.code(code + "jmp @loop").task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2_machine(), side, side);
  f.place({0, 0, side, side}, t);
  return f;
}

// One operation on `elements` elements in memory again and again, accumulating in place.
inline Fabric vector_loop(const std::string& operation, int elements, int bytes) {
  Tile t("vector");
  t.dsd(96, mem(1024, elements)).dsd(104, mem(1024 + 4 + elements * bytes, elements));
  t.code("start: lddds d0, [96], {}\nlds0ds s0_0, [96], {}\nlds1ds s1_0, [104], {}\nloop: " + operation +
         "\njmp @loop");
  t.task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2_machine(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  return f;
}

}  // namespace cs::sim::test
