// Values of vector instructions through the engine: whatever way the operands come (1-D memory in tight
// loops, 4-D memory row by row or element by element, wavelets) the results are those of a loop that the test
// does itself.
#include <cmath>
#include <functional>

#include "tests/unit/engine/program_builder.h"

namespace cs::sim::test {
namespace {

constexpr int kDst = 1024, kA = 2048, kB = 3072, kCount = 37;

isa::Dsd mem4(int base, int extent, int stride = 1) {
  isa::Dsd d;
  d.kind = isa::DsdKind::mem4d;
  d.base = uint16_t(base);
  d.extent = {1, 1, 1, uint16_t(extent)};
  d.stride = {0, 0, 0, int16_t(stride)};
  return d;
}

std::vector<float> numbers(float scale) {
  std::vector<float> v(kCount);
  for (int i = 0; i < kCount; ++i) v[size_t(i)] = scale * float((i * 7919) % 101 - 50) + 0.1f;
  return v;
}

// A tile with a, b and a filled destination that runs `body` once. Descriptors: d0, s0_0, s1_0 from 96, 128,
// 160.
Tile vectors(const std::string& body, const std::function<isa::Dsd(int, int)>& make) {
  Tile t("vectors");
  t.dsd(96, make(kDst, kCount)).dsd(128, make(kA, kCount)).dsd(160, make(kB, kCount));
  t.floats(kDst, std::vector<float>(kCount, 7.0f)).floats(kA, numbers(0.37f)).floats(kB, numbers(-1.3f));
  t.code("start: lddds d0, [96], {}\nlds0ds s0_0, [128], {}\nlds1ds s1_0, [160], {}\n" + body + "\nyield");
  t.task(TaskKind::local, 8, "start").activated(8);
  return t;
}

void expect_values(const Tile& tile, const std::vector<float>& want, const std::string& what) {
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, tile);
  Simulation run(f);
  run.finish();
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_EQ(run.value(0, 0, kDst + 4 * int(i)), want[i]) << what << " " << i;
}

TEST(VectorValues, one_and_four_dimensions_agree_with_a_loop) {
  const std::vector<float> a = numbers(0.37f), b = numbers(-1.3f);
  struct Case {
    const char* body;
    std::function<float(size_t)> want;
  };
  // 2.5 = 0x40200000
  const Case kCases[] = {
      {"fadds d0, s0_0, s1_0", [&](size_t i) { return a[i] + b[i]; }},
      {"fsubs d0, s0_0, s1_0", [&](size_t i) { return a[i] - b[i]; }},
      {"fmuls d0, s0_0, 0x40200000", [&](size_t i) { return a[i] * 2.5f; }},
      {"fmuls d0, 0x40200000, s1_0", [&](size_t i) { return 2.5f * b[i]; }},
      {"fmacs d0, s0_0, s1_0, 0x40200000", [&](size_t i) { return std::fma(b[i], 2.5f, a[i]); }},
      {"fmacs d0, d0, s1_0, 0x40200000", [&](size_t i) { return std::fma(b[i], 2.5f, 7.0f); }},
      {"fmaxs d0, s0_0, 0", [&](size_t i) { return a[i] > 0 ? a[i] : 0.0f; }},
      {"fmovs d0, s0_0", [&](size_t i) { return a[i]; }},
      {"fmovs d0, 0x40200000", [](size_t) { return 2.5f; }},
      {"fnegs d0, s0_0", [&](size_t i) { return -a[i]; }},
      {"fabss d0, s0_0", [&](size_t i) { return std::fabs(a[i]); }},
      {"fscales d0, s0_0, 3", [&](size_t i) { return a[i] * 8; }},
  };
  for (const Case& c : kCases) {
    std::vector<float> want;
    for (size_t i = 0; i < size_t(kCount); ++i) want.push_back(c.want(i));
    expect_values(vectors(c.body, [](int base, int n) { return mem(base, n); }), want,
                  std::string(c.body) + " 1-D");
    expect_values(vectors(c.body, [](int base, int n) { return mem4(base, n); }), want,
                  std::string(c.body) + " 4-D");
  }
}

TEST(VectorValues, reductions_into_a_register_and_into_a_cell) {
  const std::vector<float> b = numbers(-1.3f);
  float sum = 1.5f, fused = 1.5f, largest = -1000;
  for (float x : b) {
    sum += x;
    fused = std::fma(x, 2.5f, fused);
    largest = x > largest ? x : largest;
  }
  // 1.5 = 0x3fc00000, -1000 = 0xc47a0000
  const std::string kStore = "\nst32 [1024], p0";
  const auto one = [](int base, int n) { return mem(base, n); };
  const auto four = [](int base, int n) { return mem4(base, n); };
  for (const auto& make : {std::function<isa::Dsd(int, int)>(one), std::function<isa::Dsd(int, int)>(four)}) {
    expect_values(vectors("fadds p0, 0x3fc00000, s1_0" + kStore, make), {sum}, "sum from a literal");
    expect_values(vectors("imov32 p0, 1069547520\nfadds p0, p0, s1_0" + kStore, make), {sum}, "sum in place");
    expect_values(
        vectors("imov32 p0, 1069547520\nimov32 p2, 1075838976\nfmacs p0, p0, s1_0, p2" + kStore, make),
        {fused}, "fused");
    expect_values(vectors("fmaxs p0, 0xc47a0000, s1_0" + kStore, make), {largest}, "maximum");
    expect_values(vectors("fmovs p0, s0_0" + kStore, make), {numbers(0.37f).back()}, "the last one wins");
  }
  // Stride 0 and the destination as A: the cell (7 at first) accumulates.
  float cell = 7;
  for (float x : b) cell += x;
  const auto still = [](int base, int n) { return mem(base, n, base == kDst ? 0 : 1); };
  expect_values(vectors("fadds d0, d0, s1_0", still), {cell}, "cell");
}

// y += 2.5 b over planes of rows, by a loop over the same addresses. The walks go up, down, over each other,
// back to where they were, or stand still; those that the engine may compute row by row and those that it may
// not.
TEST(VectorValues, walks_of_several_dimensions_agree_with_a_loop) {
  struct Walk {
    int base;
    std::array<int, 3> steps;  // in elements, outermost first
  };
  const int extents[] = {3, 4, 5};  // 60 elements
  const Walk kUp{kDst, {28, 7, 1}}, kApart{kA, {40, 9, 2}};
  struct Case {
    const char* what;
    Walk y, b;
  };
  const Case kCases[] = {
      {"apart", kUp, kApart},
      {"without gaps", {kDst, {20, 5, 1}}, {kA, {20, 5, 1}}},
      {"columns first", kUp, {kA, {1, 3, 12}}},
      {"backwards", kUp, {kA + 4 * 90, {-20, -5, -1}}},
      {"destination backwards", {kDst + 4 * 90, {-20, -5, -1}}, kApart},
      {"destination comes back", {kDst, {0, 5, 1}}, kApart},
      {"one place", {kDst, {0, 0, 0}}, kApart},
      {"one place among the sources", {kA, {0, 0, 0}}, kApart},
      {"onto itself", kUp, kUp},
      {"one ahead of itself", {kDst + 4, {28, 7, 1}}, kUp},
      {"one behind itself", kUp, {kDst + 4, {28, 7, 1}}},
  };
  for (const Case& c : kCases) {
    auto make = [&](const Walk& w) {  // a stride includes the way back to the start of the inner dimensions
      isa::Dsd d = mem4(w.base, 1);
      int back = 0;
      for (size_t k = 3; k-- > 0;) {
        d.extent[k + 1] = uint16_t(extents[k]);
        d.stride[k + 1] = int16_t(w.steps[k] - back);
        back += w.steps[k] * (extents[k] - 1);
      }
      return d;
    };
    std::vector<float> memory(1024);  // from kDst on
    for (size_t i = 0; i < memory.size(); ++i) memory[i] = float(int(i * 7919 % 101) - 50) * 0.37f;
    Tile t("walks");
    t.dsd(96, make(c.y)).dsd(128, make(c.b)).floats(kDst, memory);
    t.code("start: lddds d0, [96], {}\nlds1ds s1_0, [128], {}\nfmacs d0, d0, s1_0, 0x40200000\nyield");
    t.task(TaskKind::local, 8, "start").activated(8);
    for (int i = 0; i < extents[0]; ++i)
      for (int j = 0; j < extents[1]; ++j)
        for (int k = 0; k < extents[2]; ++k) {
          auto at = [&](const Walk& w) {
            return size_t((w.base - kDst) / 4 + w.steps[0] * i + w.steps[1] * j + w.steps[2] * k);
          };
          memory[at(c.y)] = std::fma(memory[at(c.b)], 2.5f, memory[at(c.y)]);
        }
    expect_values(t, memory, c.what);
  }
}

TEST(VectorValues, a_shifted_copy_of_itself_runs_in_element_order) {
  // dst = b + 1 element: each element is the one written before it, so the first value fills all.
  const auto shifted = [](int base, int n) { return mem(base == kDst ? kA + 4 : base, n); };
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, vectors("fmovs d0, s0_0", shifted));
  Simulation run(f);
  run.finish();
  for (int i = 0; i <= kCount; ++i) EXPECT_EQ(run.value(0, 0, kA + 4 * i), numbers(0.37f)[0]) << i;
}

// PE 0 sends its a; PE 1 receives it as an operand and computes with its own b.
TEST(VectorValues, wavelets_as_operands) {
  Tile sender("sender"), receiver("receiver");
  sender.dsd(96, fabout(2, 5, kCount)).dsd(128, mem(kA, kCount)).floats(kA, numbers(0.37f)).output(2, 5);
  sender.code("start: lddds d0, [96], {}\nlds0ds s0_0, [128], {}\nfmovs d0, s0_0\nyield");
  sender.task(TaskKind::local, 8, "start").activated(8);
  receiver.dsd(96, mem(kDst, kCount)).dsd(128, mem(kB, kCount)).dsd(160, fabin(2, 5, kCount));
  receiver.floats(kB, numbers(-1.3f)).input(2, 5);
  receiver.code(
      "start: lddds d0, [96], {}\nlds0ds s0_0, [128], {}\nlds1ds s1_0, [160], {}\n"
      "fmacs d0, s0_0, s1_0, 0x40200000\nyield");
  receiver.task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2(), 2, 1);
  f.place({0, 0, 1, 1}, sender).place({1, 0, 1, 1}, receiver);
  f.route({0, 0, 1, 1}, 5, {"R>E"});
  f.route({1, 0, 1, 1}, 5, {"W>R"});
  Simulation run(f);
  run.finish();
  const std::vector<float> a = numbers(0.37f), b = numbers(-1.3f);
  for (size_t i = 0; i < size_t(kCount); ++i)
    EXPECT_EQ(run.value(1, 0, kDst + 4 * int(i)), std::fma(a[i], 2.5f, b[i])) << i;
}

}  // namespace
}  // namespace cs::sim::test
