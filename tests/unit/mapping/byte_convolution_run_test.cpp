// Convolutions whose weights were quantised to 8 bits: values against a sum in double precision, and a byte
// per weight in every PE.
#include <gmock/gmock.h>

#include <cmath>
#include <optional>

#include "compiler/graph/fold.h"
#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

// A picture [channels, size, size], groups of output channels, a kernel of side k.
struct Picture {
  int channels = 1, out = 1, size = 1, k = 1, stride = 1, pad = 0, groups = 1;
  int width = 1, height = 1;  // of the rectangle
  int side() const { return (size + 2 * pad - k) / stride + 1; }
  int row() const { return channels / groups * k * k; }
};

void PrintTo(const Picture& p, std::ostream* out) {
  *out << p.channels << "x" << p.size << "x" << p.size << " to " << p.out << ", " << p.k << "x" << p.k
       << " stride " << p.stride << " pad " << p.pad << " groups " << p.groups << " on " << p.width << "x"
       << p.height;
}

struct Weights {
  std::vector<int> q;  // [out][row], from -128 to 127
  std::vector<float> scales, bias;
};

Weights weights_of(const Picture& p) {
  Weights w;
  for (float f : test::numbers(size_t(p.out) * size_t(p.row()), 5)) w.q.push_back(int(std::floor(f * 128)));
  w.q[0] = -128;
  w.q.back() = 127;
  for (float f : test::numbers(size_t(p.out), 6)) w.scales.push_back(0.02F + 0.01F * f);
  w.bias = test::numbers(size_t(p.out), 7);
  return w;
}

graph::Graph graph_of(const Picture& p, const Weights& w, Origin origin) {
  graph::Graph g;
  g.name = "bytes";
  const ops::Shape shape = {p.out, p.channels / p.groups, p.k, p.k};
  ops::Tensor q(ops::TensorType{DataType::i8, shape});
  for (size_t i = 0; i < w.q.size(); ++i) q.set_int(int64_t(i), w.q[i]);
  const graph::ValueId x = g.add_input("x", {DataType::f32, {1, p.channels, p.size, p.size}});
  const graph::ValueId whole = g.add_constant("q", std::move(q));
  const graph::ValueId scale = g.add_constant("scale", ops::Tensor::from_floats({p.out}, w.scales));
  const graph::ValueId bias = g.add_constant("bias", ops::Tensor::from_floats({p.out}, w.bias));
  const graph::ValueId real = test::add_op(g, "d", "dequantize_linear", {whole, scale}, shape, origin);
  g.node(g.value(real).producer).attrs = {{"axis", int64_t(0)}};
  const graph::ValueId y =
      test::add_op(g, "conv", "conv", {x, real, bias}, {1, p.out, p.side(), p.side()}, origin);
  const auto list = [](int64_t n, size_t times) { return std::vector<int64_t>(times, n); };
  g.node(g.value(y).producer).attrs = {{"kernel_shape", list(p.k, 2)},
                                       {"strides", list(p.stride, 2)},
                                       {"pads", list(p.pad, 4)},
                                       {"group", int64_t(p.groups)}};
  g.set_output(y);
  g.node(g.value(y).producer).assignment.kernel = graph::KernelId("dtg-region");
  Diag diag;
  EXPECT_TRUE(graph::fold_node(g, g.value(real).producer, diag)) << diag.to_string();
  return g;
}

double expected(const Picture& p, const Weights& w, const float* x, int m, int i, int j) {
  const int each = p.channels / p.groups, first = m / (p.out / p.groups) * each;
  double sum = 0;
  for (int c = 0; c < each; ++c)
    for (int k = 0; k < p.k; ++k)
      for (int l = 0; l < p.k; ++l) {
        const int y = i * p.stride + k - p.pad, z = j * p.stride + l - p.pad;
        if (y < 0 || z < 0 || y >= p.size || z >= p.size) continue;
        sum += double(w.q[size_t(m * p.row() + (c * p.k + k) * p.k + l)]) * double(w.scales[size_t(m)]) *
               double(x[((first + c) * p.size + y) * p.size + z]);
      }
  return sum + double(w.bias[size_t(m)]);
}

class ByteConvolution : public testing::TestWithParam<std::tuple<Picture, Origin, const char*>> {};

TEST_P(ByteConvolution, KeepsOneBytePerWeight) {
  const auto& [p, origin, arch] = GetParam();
  const Weights w = weights_of(p);
  const graph::Graph g = graph_of(p, w, origin);
  constexpr int kSamples = 2;
  const size_t words = size_t(p.channels) * size_t(p.size) * size_t(p.size);
  const std::vector<float> x = test::numbers(kSamples * words, 3);
  mapping::MapOptions options;
  options.force_width = p.width;
  options.force_height = p.height;
  const Machine machine = test::machine(arch);
  const test::RunResult r = test::run_graph(g, machine, options, {{"x", x}}, kSamples);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& y = r.outputs.begin()->second;
  const int n = p.side();
  ASSERT_EQ(y.size(), size_t(kSamples) * size_t(p.out) * size_t(n) * size_t(n));
  size_t at = 0;
  for (size_t s = 0; s < kSamples; ++s)
    for (int m = 0; m < p.out; ++m)
      for (int i = 0; i < n; ++i)
        for (int j = 0; j < n; ++j, ++at)
          ASSERT_NEAR(y[at], expected(p, w, x.data() + s * words, m, i, j), 3e-6 * p.row())
              << "sample " << s << ", channel " << m << ", row " << i << ", column " << j;
  // A scale for each row and a byte for each of its elements, of an even number, in whole words.
  Diag diag;
  const std::optional<mapping::Mapped> mapped = mapping::map_graph(g, machine, options, diag);
  ASSERT_TRUE(mapped);
  uint32_t most = 0, floats = 0;
  for (const Constant& k : mapped->host.constants) {
    if (k.symbol != "c0_i32") continue;
    const auto rows = uint32_t(p.out) / uint32_t(p.height);
    floats = 4 * rows * uint32_t(p.row());
    most = std::max(most, k.bytes_per_pe);
    EXPECT_EQ(k.bytes_per_pe, 4 * (rows + (rows * uint32_t(p.row() + p.row() % 2) + 3) / 4));
  }
  EXPECT_GT(most, 0U);
  if (p.row() > 8) {
    EXPECT_LT(most, floats);
  }
}

// Rows of 9 to 600 weights: of an odd number, and of more than 256, which are unpacked in parts. Depthwise
// ones, and two groups, whose channels are unpacked together; strides, which only the generated form has.
INSTANTIATE_TEST_SUITE_P(
    Pictures, ByteConvolution,
    testing::Combine(testing::Values(Picture{3, 4, 6, 3, 1, 1, 1, 1, 1}, Picture{2, 6, 5, 3, 1, 0, 1, 1, 2},
                                     Picture{24, 8, 4, 5, 1, 2, 1, 1, 1}, Picture{6, 4, 5, 1, 1, 0, 1, 1, 1}),
                     testing::Values(Origin::handwritten, Origin::autogen), testing::Values("wse2", "wse3")));
INSTANTIATE_TEST_SUITE_P(Groups, ByteConvolution,
                         testing::Combine(testing::Values(Picture{4, 4, 6, 3, 1, 1, 4, 1, 1},
                                                          Picture{4, 6, 5, 3, 1, 1, 2, 1, 1},
                                                          Picture{3, 5, 7, 3, 2, 1, 1, 1, 1}),
                                          testing::Values(Origin::autogen), testing::Values("wse2", "wse3")));

}  // namespace
}  // namespace cs
