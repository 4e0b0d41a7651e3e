// Random programs with much traffic, for tests that compare ways to run them.
#pragma once

#include <array>
#include <random>
#include <tuple>

#include "tests/unit/engine/program_builder.h"

namespace cs::sim::test {

inline constexpr int kSide = 14;
inline constexpr int kColors = 10;

// Random L-shaped streams, one or two per color where they do not meet, over a square fabric; every PE sends
// what it has to asynchronously, adds what it receives into memory, and computes in between.
struct Traffic {
  struct Flow {
    int color, x0, y0, x1, y1, n;
  };

  explicit Traffic(const Machine& m, uint32_t seed) : f(m, kSide, kSide) {
    std::mt19937 rng(seed);
    std::vector<Flow> flows;
    for (int color = 0; color < kColors; ++color)
      for (int tries = 0; tries < 4; ++tries) {
        Flow w{color,
               int(rng() % kSide),
               int(rng() % kSide),
               int(rng() % kSide),
               int(rng() % kSide),
               int(20 + rng() % 60)};
        if ((w.x0 == w.x1 && w.y0 == w.y1) || !add_route(w)) continue;
        flows.push_back(w);
      }
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x) f.place({x, y, 1, 1}, tile(x, y, flows));
  }

  bool add_route(const Flow& w) {
    std::vector<std::tuple<int, int, std::string>> steps;
    int x = w.x0, y = w.y0;
    char in = 'R';
    while (x != w.x1 || y != w.y1) {
      char out = x < w.x1 ? 'E' : x > w.x1 ? 'W' : y < w.y1 ? 'S' : 'N';
      steps.emplace_back(x, y, std::string() + in + ">" + out);
      x += out == 'E' ? 1 : out == 'W' ? -1 : 0;
      y += out == 'S' ? 1 : out == 'N' ? -1 : 0;
      in = out == 'E' ? 'W' : out == 'W' ? 'E' : out == 'S' ? 'N' : 'S';
    }
    steps.emplace_back(x, y, std::string() + in + ">R");
    for (auto& [px, py, text] : steps)
      if (used[size_t(w.color)][size_t(py * kSide + px)]) return false;
    for (auto& [px, py, text] : steps) {
      used[size_t(w.color)][size_t(py * kSide + px)] = true;
      f.route({px, py, 1, 1}, w.color, {text});
    }
    return true;
  }

  Tile tile(int x, int y, const std::vector<Flow>& flows) {
    Tile t("pe");
    int at = 96, in = 0, out = 0, memory = 2048;
    std::string code = "start: mov16 r2, 5\n";
    for (const Flow& w : flows) {
      if (w.x0 == x && w.y0 == y && out < 2) {
        t.dsd(at, fabout(out, w.color, w.n)).dsd(at + 8, mem(1024, w.n)).output(out, w.color);
        code += "lddds d0, [" + std::to_string(at) + "], {async ut=" + std::to_string(out) +
                "}\nlds0ds s0_0, [" + std::to_string(at + 8) + "], {}\nmov32 d0, s0_0\n";
        ++out;
      } else if (w.x1 == x && w.y1 == y && in < 6) {
        t.dsd(at, mem(memory, w.n)).dsd(at + 8, fabin(2 + in, w.color, w.n)).input(2 + in, w.color);
        code += "lddds d0, [" + std::to_string(at) + "], {async activate=9 ut=" + std::to_string(2 + in) +
                "}\nlds0ds s0_0, [" + std::to_string(at + 8) + "], {}\nmov32 d0, s0_0\n";
        memory += 4 * w.n;
        ++in;
      }
      at += 16;
    }
    for (int i = 0; i < 100; ++i) words_[size_t(i)] = uint32_t(1000 * y + 100 * x + i);
    t.words(1024, {words_.begin(), words_.end()});
    t.dsd(16, mem(8192, 77)).dsd(24, mem(1024, 77));
    code +=
        "loop: sub16 r2, r2, 1\nlddds d1, [16], {}\nlds0ds s0_1, [24], {}\nlds1ds s1_1, [16], {}\n"
        "add16 d1, s0_1, s1_1\njmpt r2, @loop\nyield\n"
        "done: ld16 r0, [8000+0]\nadd16 r0, r0, 1\nst16 [8000+0], r0\nactvt 10\nlddds d1, [16], {}\n"
        "lds0ds s0_1, [24], {}\nlds1ds s1_1, [16], {}\nsub16 d1, s0_1, s1_1\nyield\n"
        "after: lds1ds s1_2, [16], {}\nadd16 r5, r5, s1_2\nst16 [8002+0], r5\nyield";
    t.code(code).task(TaskKind::local, 8, "start").task(TaskKind::local, 9, "done");
    t.task(TaskKind::local, 10, "after").activated(8);
    return t;
  }

  Fabric f;
  std::array<std::array<bool, kSide * kSide>, kColors> used{};
  std::array<uint32_t, 100> words_{};
};

}  // namespace cs::sim::test
