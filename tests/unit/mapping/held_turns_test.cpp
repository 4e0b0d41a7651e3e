// Rows of many PEs that send a few words each, with a control wavelet behind them: collectors hold a turn's
// words before it comes (block_collector.csl), so that turns follow each other as the words do.
#include <gtest/gtest.h>

#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

using graph::ValueId;

constexpr int kRows = 50, kColumns = 576, kNumbers = 40, kSamples = 4;

struct Rectangle {
  int width, height;
  unsigned beyond;  // cycles of a turn beyond its words, at most; 0: not asked
};

// Rows of a table by their numbers: each of 40 numbers is a round of 576 words, in a turn of each row.
class HeldTurns : public testing::TestWithParam<std::tuple<const char*, Rectangle>> {
 protected:
  test::RunResult run() {
    const auto& [machine, size] = GetParam();
    graph::Graph g;
    g.name = "held";
    ops::Tensor table(ops::TensorType{DataType::f32, {kRows, kColumns}});
    for (int64_t i = 0; i < kRows * kColumns; ++i) table.set(i, double(i));
    const ValueId t = g.add_constant("t", table);
    const ValueId x = g.add_input("x", {DataType::i32, {1, kNumbers}}, 0);
    const ValueId y = test::add_op(g, "op", "gather", {t, x}, {1, kNumbers, kColumns}, Origin::autogen);
    ops::set_attr(g.node(*g.find_node("op")).attrs, "axis", int64_t(0));
    g.node(*g.find_node("op")).assignment.kernel = graph::KernelId("dtg-region");
    g.set_output(y);
    mapping::MapOptions options;
    options.force_width = size.width, options.force_height = size.height;
    for (int i = 0; i < kNumbers * kSamples; ++i) numbers_.push_back(float(i * 7 % kRows));
    return test::run_graph(g, test::machine(machine), options, {{"x", numbers_}}, kSamples);
  }
  std::vector<float> numbers_;
};

TEST_P(HeldTurns, BringAWordACycle) {
  const test::RunResult r = run();
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& got = r.outputs.at("op_out");
  ASSERT_EQ(got.size(), size_t(kSamples * kNumbers * kColumns));
  for (size_t k = 0; k < numbers_.size(); ++k)
    for (size_t c = 0; c < kColumns; ++c)
      ASSERT_EQ(got[k * kColumns + c], numbers_[k] * kColumns + float(c)) << k << ", " << c;
  const Rectangle& size = std::get<1>(GetParam());
  if (size.beyond == 0) return;
  const unsigned most = kNumbers * (kColumns + size.beyond * unsigned(size.height));
  for (size_t s = 1; s < kSamples; ++s)
    EXPECT_LE(r.sample_ends[s] - r.sample_ends[s - 1], most) << "sample " << s;
}

// Turns of three words of each of 32, 48 and 64 PEs are held: where they pass, control wavelets take 20 cycles
// of 32 PEs beyond the words, and more of the others. Those of nine words of 16 PEs pass, and of two rows
// nothing is held.
INSTANTIATE_TEST_SUITE_P(Sizes, HeldTurns,
                         testing::Combine(testing::Values("wse2", "wse3"),
                                          testing::Values(Rectangle{48, 4, 3}, Rectangle{64, 3, 3},
                                                          Rectangle{32, 6, 3}, Rectangle{16, 4, 9},
                                                          Rectangle{48, 2, 0})));

}  // namespace
}  // namespace cs
