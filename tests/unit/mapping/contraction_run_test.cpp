// Contractions through the CSL compiler and the engine: values against double precision, for every shape of
// rectangle, both kernels and both architectures. Several samples, so that both buffers and all switches are
// used again.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

using test::GemmCase;

struct Shape {
  int rows, n, m, w, h;
  const char* activation;
};

void PrintTo(const Shape& s, std::ostream* out) {
  *out << s.rows << "x" << s.n << "x" << s.m << " on " << s.w << "x" << s.h << " " << s.activation;
}

class Contraction : public testing::TestWithParam<std::tuple<Shape, Origin, const char*>> {};

TEST_P(Contraction, ComputesTheProduct) {
  const auto& [shape, origin, arch] = GetParam();
  GemmCase c{shape.rows, shape.n, shape.m, shape.activation, origin, {}, {}};
  graph::Graph g = test::gemm_graph(c);
  constexpr int kSamples = 3;
  std::vector<float> x = test::numbers(size_t(kSamples * c.rows * c.n), 3);
  mapping::MapOptions options;
  options.force_width = shape.w;
  options.force_height = shape.h;
  test::RunResult r = test::run_graph(g, test::machine(arch), options, {{"x", x}}, kSamples);
  ASSERT_TRUE(r.ok) << r.message;
  std::vector<double> expected = test::gemm_reference(c, x);
  ASSERT_EQ(r.outputs.size(), 1U);
  const std::vector<float>& y = r.outputs.begin()->second;
  ASSERT_EQ(y.size(), expected.size());
  // n products of numbers below 1: the rounding error of the sum stays below n * n * 2^-24.
  double bound = 1e-6 + double(c.n) * c.n / double(1 << 24);
  for (size_t i = 0; i < y.size(); ++i) EXPECT_NEAR(y[i], expected[i], bound) << "element " << i;
}

const Shape kShapes[] = {
    {1, 3, 4, 1, 1, ""},         {1, 20, 10, 1, 1, "relu"}, {1, 7, 5, 2, 1, ""},
    {1, 7, 5, 3, 1, "relu"},     {1, 9, 6, 3, 3, ""},       {1, 10, 7, 4, 2, "leaky_relu"},
    {1, 33, 7, 5, 4, "sigmoid"}, {4, 12, 6, 3, 2, "relu"},  {2, 70, 3, 1, 1, "leaky_relu"},
    {1, 12, 9, 1, 3, ""},
};

std::string case_name(const testing::TestParamInfo<Contraction::ParamType>& info) {
  const auto& [s, origin, arch] = info.param;
  return std::string(arch) + (origin == Origin::autogen ? "_generated_" : "_handwritten_") +
         std::to_string(s.rows) + "x" + std::to_string(s.n) + "x" + std::to_string(s.m) + "_on_" +
         std::to_string(s.w) + "x" + std::to_string(s.h);
}

INSTANTIATE_TEST_SUITE_P(Shapes, Contraction,
                         testing::Combine(testing::ValuesIn(kShapes),
                                          testing::Values(Origin::handwritten, Origin::autogen),
                                          testing::Values("wse2", "wse3")),
                         case_name);

// Streams of 16 bits: what arrives is exact in f32, what leaves is the f32 result rounded to nearest.
class HalfContraction : public testing::TestWithParam<std::tuple<Shape, Origin, DataType, const char*>> {};

TEST_P(HalfContraction, RoundsNothingButTheResult) {
  const auto& [shape, origin, type, arch] = GetParam();
  GemmCase c{shape.rows, shape.n, shape.m, shape.activation, origin, {}, {}, type};
  graph::Graph g = test::gemm_graph(c);
  constexpr int kSamples = 3;
  std::vector<float> x = test::numbers(size_t(kSamples * c.rows * c.n), 3);
  for (float& f : x) f = test::number_of(test::word_of(f, type), type);
  mapping::MapOptions options;
  options.force_width = shape.w;
  options.force_height = shape.h;
  test::RunResult r = test::run_graph(g, test::machine(arch), options, {{"x", x}}, kSamples);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<double> expected = test::gemm_reference(c, x);
  const std::vector<float>& y = r.outputs.begin()->second;
  ASSERT_EQ(y.size(), expected.size());
  // A number has 11 or 8 bits: half a unit is at most 2^-11 or 2^-8 of it. And what f32 may lose before.
  const double half_unit = type == DataType::f16 ? std::pow(2, -11) : std::pow(2, -8);
  for (size_t i = 0; i < y.size(); ++i) {
    EXPECT_NEAR(y[i], expected[i], half_unit * std::abs(expected[i]) + 3e-6) << "element " << i;
    EXPECT_EQ(y[i], test::number_of(test::word_of(y[i], type), type)) << "not a number of the stream's type";
  }
}

INSTANTIATE_TEST_SUITE_P(Streams, HalfContraction,
                         testing::Combine(testing::Values(kShapes[1], kShapes[5], kShapes[7], kShapes[9]),
                                          testing::Values(Origin::handwritten, Origin::autogen),
                                          testing::Values(DataType::f16, DataType::bf16),
                                          testing::Values("wse2", "wse3")));

}  // namespace
}  // namespace cs
