// Kernels of whole rows (softmax and its logarithm, layer norm, RMS norm) through the CSL compiler and the
// engine, against their definitions in double precision.
#include <cmath>

#include <gtest/gtest.h>

#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

using graph::ValueId;

constexpr int kSamples = 4, kRows = 5;

// Lengths that four, three and neither divide: the accumulators of a row's sum differ.
class Rows : public testing::TestWithParam<std::tuple<const char*, int, int, const char*>> {
 protected:
  std::string op() const { return std::get<0>(GetParam()); }
  int n() const { return std::get<1>(GetParam()); }
  bool has_scale() const { return op() == "layer_norm" || op() == "rms_norm"; }

  std::vector<double> expected(const float* x) const {
    std::vector<double> y;
    double most = x[0], sum = 0, mean = 0, squares = 0;
    for (int i = 0; i < n(); ++i) most = std::max(most, double(x[i]));
    for (int i = 0; i < n(); ++i) sum += std::exp(x[i] - most);
    for (int i = 0; i < n(); ++i) mean += op() == "layer_norm" ? x[i] / double(n()) : 0;
    for (int i = 0; i < n(); ++i) squares += (x[i] - mean) * (x[i] - mean) / n();
    for (int i = 0; i < n(); ++i) {
      if (op() == "softmax")
        y.push_back(std::exp(x[i] - most) / sum);
      else if (op() == "log_softmax")
        y.push_back(x[i] - most - std::log(sum));
      else
        y.push_back((x[i] - mean) / std::sqrt(squares + 1e-3) * scale_[size_t(i)] +
                    (op() == "layer_norm" ? bias_[size_t(i)] : 0));
    }
    return y;
  }

  test::RunResult run(const std::vector<float>& x) {
    graph::Graph g;
    g.name = "rows";
    std::vector<ValueId> operands = {g.add_input("x", {DataType::f32, {1, kRows, n()}}, 0)};
    scale_ = test::numbers(size_t(n()), 3);
    bias_ = test::numbers(size_t(n()), 4);
    if (has_scale())
      operands.push_back(g.add_constant("scale", ops::Tensor::from_floats({n()}, scale_)));
    if (op() == "layer_norm")
      operands.push_back(g.add_constant("bias", ops::Tensor::from_floats({n()}, bias_)));
    g.set_output(test::add_op(g, "op", op(), operands, {1, kRows, n()}, Origin::handwritten));
    if (has_scale()) ops::set_attr(g.node(*g.find_node("op")).attrs, "epsilon", 1e-3);
    mapping::MapOptions options;
    options.force_width = std::get<2>(GetParam());
    options.force_height = 1;
    return test::run_graph(g, test::machine(std::get<3>(GetParam())), options, {{"x", x}}, kSamples);
  }

  std::vector<float> scale_, bias_;
};

TEST_P(Rows, AreWhatTheirDefinitionSays) {
  std::vector<float> x = test::numbers(size_t(kSamples * kRows * n()), 2);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= float(1 + i % 40);  // differences up to about 80
  const test::RunResult r = run(x);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& y = r.outputs.at("op_out");
  ASSERT_EQ(y.size(), x.size());
  for (size_t row = 0; row < x.size(); row += size_t(n())) {
    const std::vector<double> want = expected(&x[row]);
    for (int i = 0; i < n(); ++i) {  // logarithms have the size of the differences
      const double unit = std::max(1.0, std::fabs(want[size_t(i)]) / 8);
      EXPECT_NEAR(y[row + size_t(i)], want[size_t(i)], 2e-6 * unit) << row << " + " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Rows,
                         testing::Combine(testing::Values("softmax", "log_softmax", "layer_norm", "rms_norm"),
                                          testing::Values(1, 7, 9, 32), testing::Values(1, 3, 5),
                                          testing::Values("wse2", "wse3")),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param)) + "_" +
                                  std::to_string(std::get<1>(info.param)) + "_on_" +
                                  std::to_string(std::get<2>(info.param)) + "_" + std::get<3>(info.param);
                         });

// More rows than the PEs hold: 24 on at most five PEs, each with room for one of 200 (two buffers and five
// temporaries are 5620 bytes), so that a sample takes several rounds; also of 16-bit floats.
TEST(RowsInRounds, AreWhatTheirDefinitionSays) {
  constexpr int kMany = 24, kLength = 200;
  for (const DataType type : {DataType::f32, DataType::f16})
    for (const char* name : {"wse2", "wse3"}) {
      graph::Graph g;
      g.name = "rows";
      const ValueId in = g.add_input("x", {type, {1, kMany, kLength}}, 0);
      const ValueId out = test::add_op(g, "op", "softmax", {in}, {1, kMany, kLength}, Origin::handwritten);
      g.value(out).type.dtype = type;
      g.set_output(out);
      Machine small = test::machine(name);
      small.core.memory_bytes = 9000;
      mapping::MapOptions options;
      options.fabric_width = 7;
      options.fabric_height = 3;
      std::vector<float> x = test::numbers(size_t(kSamples * kMany * kLength), 2);
      for (float& f : x) f = test::number_of(test::word_of(4 * f, type), type);
      const test::RunResult r = test::run_graph(g, small, options, {{"x", x}}, kSamples);
      ASSERT_TRUE(r.ok) << r.message;
      const std::vector<float>& y = r.outputs.at("op_out");
      ASSERT_EQ(y.size(), x.size());
      const double relative = type == DataType::f16 ? std::pow(2, -11) : 1e-6;
      for (size_t row = 0; row < x.size(); row += kLength) {
        double sum = 0;
        for (int i = 0; i < kLength; ++i) sum += std::exp(double(x[row + size_t(i)]));
        for (int i = 0; i < kLength; ++i) {
          const double want = std::exp(double(x[row + size_t(i)])) / sum;
          ASSERT_NEAR(y[row + size_t(i)], want, relative * want + 1e-7) << row << " + " << i;
        }
      }
    }
}

// 22 rows, of which a PE has room for three (1,600 bytes each in two buffers beside what is counted above): 11 at a
// time are 3, 3, 3 and 2 on four PEs, and a PE has six in all; equally many for each would be 11 on two PEs.
TEST(RowsInRounds, TheLastPeMayHaveFewer) {
  constexpr int kMany = 22, kLength = 200;
  const std::vector<float> x = test::numbers(size_t(kSamples * kMany * kLength), 2);
  const auto run = [&](int fabric_width) {
    graph::Graph g;
    g.name = "rows";
    const ValueId in = g.add_input("x", {DataType::f32, {1, kMany, kLength}}, 0);
    g.set_output(test::add_op(g, "op", "softmax", {in}, {1, kMany, kLength}, Origin::handwritten));
    Machine small = test::machine("wse2");
    small.core.memory_bytes = 12500;
    mapping::MapOptions options;
    options.fabric_width = fabric_width;
    options.fabric_height = 3;
    return test::run_graph(g, small, options, {{"x", x}}, kSamples);
  };
  const test::RunResult one = run(3), several = run(7);
  ASSERT_TRUE(one.ok && several.ok) << one.message << several.message;
  EXPECT_EQ(one.outputs.at("op_out"), several.outputs.at("op_out"));
  const auto interval = [](const test::RunResult& r) { return double(r.sample_ends[3] - r.sample_ends[2]); };
  EXPECT_GT(interval(one), 3 * interval(several));
}

// From one sample to the next on WSE-2, five rows: for every element a cycle for the maximum and for the way
// out, two for the exponent, half of one for the difference and for the sum (two elements per cycle); 2^t is
// 1.75 for the exponent's parts and 7.25 for the polynomial and the power (exp2.csl), one of whose 16-bit operations
// has both sources in one bank, a quarter more: 14.25.
TEST(LogSoftmaxRows, TakeFourteenCyclesPerElement) {
  const auto interval = [](int n) {
    graph::Graph g;
    g.name = "rows";
    const ValueId in = g.add_input("x", {DataType::f32, {1, kRows, n}}, 0);
    g.set_output(test::add_op(g, "op", "log_softmax", {in}, {1, kRows, n}, Origin::handwritten));
    mapping::MapOptions options;
    options.force_width = options.force_height = 1;
    const std::vector<float> x = test::numbers(size_t(kSamples * kRows * n), 2);
    const test::RunResult r =
        test::run_graph(g, test::machine("wse2"), options, {{"x", x}}, kSamples, test::kAsWritten);
    EXPECT_TRUE(r.ok) << r.message;
    return double(r.sample_ends[kSamples - 1] - r.sample_ends[kSamples - 2]);
  };
  EXPECT_EQ(interval(200) - interval(100), kRows * 1425);
}

// What is large cancels first: no digits are lost beside a thousand.
TEST(LogSoftmaxRows, LoseNothingBesideLargeElements) {
  graph::Graph g;
  g.name = "rows";
  const ValueId in = g.add_input("x", {DataType::f32, {1, 4}}, 0);
  g.set_output(test::add_op(g, "op", "log_softmax", {in}, {1, 4}, Origin::handwritten));
  const std::vector<float> x = {10000, 10000.5F, 9999, 10000.25F};
  const test::RunResult r = test::run_graph(g, test::machine("wse2"), {}, {{"x", x}}, 1);
  ASSERT_TRUE(r.ok) << r.message;
  const double sum = std::exp(-0.5) + 1 + std::exp(-1.5) + std::exp(-0.25);
  for (size_t i = 0; i < x.size(); ++i)
    EXPECT_NEAR(r.outputs.at("op_out")[i], x[i] - 10000.5 - std::log(sum), 5e-7);
}

class SoftmaxRows : public Rows {};

// What is masked by minus infinity has no part; a row of nothing else has no softmax, nor has one with an
// infinite maximum.
TEST_P(SoftmaxRows, InfinitiesMeanWhatTheyMeanInTheDefinition) {
  const float inf = std::numeric_limits<float>::infinity();
  std::vector<float> x(size_t(kSamples * kRows * n()), 0.5F);
  for (int i = 1; i < n(); ++i) x[size_t(i)] = -inf;
  for (int i = 0; i < n(); ++i) x[size_t(n() + i)] = -inf;
  x[size_t(2 * n() + 1)] = inf;
  const test::RunResult r = run(x);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& y = r.outputs.at("op_out");
  const bool log = op() == "log_softmax";
  EXPECT_NEAR(y[0], log ? 0 : 1, 1e-6);
  for (int i = 1; i < n(); ++i) EXPECT_EQ(y[size_t(i)] == -inf, log) << y[size_t(i)];
  for (int i = 1; i < n() && !log; ++i) EXPECT_NEAR(y[size_t(i)], 0, 1e-30);
  for (int i = 0; i < 2 * n(); ++i) EXPECT_TRUE(std::isnan(y[size_t(n() + i)])) << i;
  for (size_t i = size_t(3 * n()); i < y.size(); ++i) EXPECT_NEAR(y[i], log ? -std::log(n()) : 1.0 / n(), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Operators, SoftmaxRows,
                         testing::Combine(testing::Values("softmax", "log_softmax"), testing::Values(8),
                                          testing::Values(1, 5), testing::Values("wse2", "wse3")));

}  // namespace
}  // namespace cs
