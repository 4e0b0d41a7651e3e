// Contractions through the CSL compiler and the engine: values against double precision, for every shape of
// rectangle, both kernels and both architectures. Several samples, so that both buffers and all switches are
// used again.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/graph/fold.h"
#include "compiler/kernels/byte_weights.h"
#include "compiler/mapping/place_network.h"
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
    {1, 12, 9, 1, 3, ""},        {2, 64, 16, 4, 1, "sigmoid"},
};

// 16 elements for each of four PEs in a row, of which the last one has the epilogue of all 16 outputs: where that takes
// long it has fewer of them, never none.
TEST(LastColumn, HasFewerElementsWhereItsEpilogueTakesLong) {
  const auto cut_with = [](const char* activation) {
    GemmCase c{1, 64, 16, activation, Origin::handwritten, {}, {}};
    const graph::Graph g = test::gemm_graph(c);
    mapping::MapOptions options;
    options.force_width = 4;
    options.force_height = 1;
    Diag diag;
    const auto mapped = mapping::map_graph(g, test::machine("wse2"), options, diag);
    EXPECT_TRUE(mapped) << diag.to_string();
    return mapped ? mapped->placed->parts.instances.front().plan.cut : kernels::Cut{};
  };
  EXPECT_EQ(cut_with("").n_slice, 16);
  const kernels::Cut cut = cut_with("sigmoid");
  EXPECT_GT(cut.n_slice, 16);
  EXPECT_GE(cut.n_last, 1);
  EXPECT_EQ(3 * cut.n_slice + cut.n_last, 64);
}

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

// Of the PE with the most weights that are no f32: bytes.
uint32_t most_weights(const graph::Graph& g, const Machine& machine, const mapping::MapOptions& options) {
  Diag diag;
  const std::optional<mapping::Mapped> mapped = mapping::map_graph(g, machine, options, diag);
  EXPECT_TRUE(mapped) << diag.to_string();
  uint32_t most = 0;
  for (const Constant& k : mapped ? mapped->host.constants : std::vector<Constant>())
    if (k.symbol == "w_i32") most = std::max(most, k.bytes_per_pe);
  return most;
}

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
  // Two bytes for each weight, columns of whole times four rows, behind a word.
  const int rows = (shape.m + shape.h - 1) / shape.h, columns = (shape.n + shape.w - 1) / shape.w;
  EXPECT_EQ(most_weights(g, test::machine(arch), options), uint32_t(2 * ((rows + 3) / 4 * 4) * columns + 4));
}

INSTANTIATE_TEST_SUITE_P(Streams, HalfContraction,
                         testing::Combine(testing::Values(kShapes[1], kShapes[5], kShapes[7], kShapes[9]),
                                          testing::Values(Origin::handwritten, Origin::autogen),
                                          testing::Values(DataType::f16, DataType::bf16),
                                          testing::Values("wse2", "wse3")));

// Weights of 8 bits with a scale per output, dequantised by the graph: x -> gemm with dequantize_linear(q).
struct ByteCase {
  int n, m;
  std::vector<int> q;  // [m][n], from -128 to 127
  std::vector<float> scales, b;
};

graph::Graph byte_graph(ByteCase& c, Origin origin) {
  const auto weights = size_t(c.n) * size_t(c.m);
  for (float f : test::numbers(weights, 5)) c.q.push_back(int(std::floor(f * 128)));
  c.q[0] = -128;
  for (float f : test::numbers(size_t(c.m), 6)) c.scales.push_back(0.02F + 0.01F * f);
  c.b = test::numbers(size_t(c.m), 7);
  graph::Graph g;
  g.name = "bytes";
  ops::Tensor q(ops::TensorType{DataType::i8, {c.m, c.n}});
  for (size_t i = 0; i < weights; ++i) q.set_int(int64_t(i), c.q[i]);
  const graph::ValueId x = g.add_input("x", {DataType::f32, {1, c.n}});
  const graph::ValueId w = g.add_constant("q", std::move(q));
  const graph::ValueId s = g.add_constant("scale", ops::Tensor::from_floats({c.m}, c.scales));
  const graph::ValueId b = g.add_constant("b", ops::Tensor::from_floats({c.m}, c.b));
  const graph::ValueId d = test::add_op(g, "d", "dequantize_linear", {w, s}, {c.m, c.n}, origin);
  g.node(g.value(d).producer).attrs = {{"axis", int64_t(0)}};
  const graph::ValueId y = test::add_op(g, "gemm", "gemm", {x, d, b}, {1, c.m}, origin);
  g.node(g.value(y).producer).attrs = {{"trans_b", int64_t(1)}};
  g.set_output(y);
  Diag diag;
  EXPECT_TRUE(graph::fold_node(g, g.value(d).producer, diag)) << diag.to_string();
  return g;
}

class ByteContraction : public testing::TestWithParam<std::tuple<Shape, Origin, const char*>> {};

TEST_P(ByteContraction, KeepsOneBytePerWeight) {
  const auto& [shape, origin, arch] = GetParam();
  ByteCase c{shape.n, shape.m, {}, {}, {}};
  graph::Graph g = byte_graph(c, origin);
  constexpr int kSamples = 3;
  std::vector<float> x = test::numbers(size_t(kSamples * c.n), 3);
  mapping::MapOptions options;
  options.force_width = shape.w;
  options.force_height = shape.h;
  const Machine machine = test::machine(arch);
  test::RunResult r = test::run_graph(g, machine, options, {{"x", x}}, kSamples);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& y = r.outputs.begin()->second;
  ASSERT_EQ(y.size(), size_t(kSamples * c.m));
  for (size_t e = 0; e < y.size(); ++e) {
    const size_t i = e % size_t(c.m), sample = e / size_t(c.m);
    double sum = 0;
    for (size_t j = 0; j < size_t(c.n); ++j)
      sum += double(c.q[i * size_t(c.n) + j]) * double(c.scales[i]) * double(x[sample * size_t(c.n) + j]);
    EXPECT_NEAR(y[e], sum + double(c.b[i]), 2e-6 * c.n) << "element " << e;
  }
  // Of every PE: a byte for each of its weights, an even number of rows, whole words.
  const int rows = (c.m + shape.h - 1) / shape.h, columns = (c.n + shape.w - 1) / shape.w;
  EXPECT_EQ(most_weights(g, machine, options), uint32_t(((rows + rows % 2) * columns + 3) / 4 * 4));
}

// More columns than a block (32 of 8 rows, 8 of 28), a rest of them, and rows of zeros that pad.
INSTANTIATE_TEST_SUITE_P(Weights, ByteContraction,
                         testing::Combine(testing::Values(Shape{1, 3, 5, 1, 1, ""}, Shape{1, 75, 7, 1, 1, ""},
                                                          Shape{1, 21, 27, 1, 1, ""}, Shape{1, 33, 22, 3, 2, ""},
                                                          Shape{1, 9, 600, 2, 2, ""}),
                                          testing::Values(Origin::handwritten, Origin::autogen),
                                          testing::Values("wse2", "wse3")));

// No number of 8 bits is left where a row of weights has more than 256 different ones.
TEST(ByteWeights, NeedAScalePerRow) {
  EXPECT_EQ(kernels::byte_scales(std::vector<float>{0.5F, -1, 63.5F, 0, 0, 0}, 2, 3), (std::vector<float>{0.5F, 0}));
  EXPECT_FALSE(kernels::byte_scales(std::vector<float>{1, 128, 0}, 1, 3));
  EXPECT_TRUE(kernels::byte_scales(std::vector<float>{1, -128, 0}, 1, 3));
  EXPECT_FALSE(kernels::byte_scales(std::vector<float>{1, 1.001F, 100}, 1, 3));
}

}  // namespace
}  // namespace cs
