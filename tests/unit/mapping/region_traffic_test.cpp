// The estimated interval of regions against the simulated one, where cuts are uneven, streams are long and
// links are shared.
#include <gtest/gtest.h>

#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

constexpr int kSamples = 6;

struct Cut {
  const char* name;
  std::vector<int64_t> shape;  // of the picture or line, channels first
  int w = 1, h = 1;
};

// A padded convolution of 3 (x 3) with as many channels out as in.
graph::Graph convolution(const std::vector<int64_t>& shape) {
  graph::Graph g;
  g.name = "picture";
  const size_t dimensions = shape.size() - 1;
  ops::Shape in = {1}, kernel = {shape[0], shape[0]};
  in.insert(in.end(), shape.begin(), shape.end());
  kernel.insert(kernel.end(), dimensions, 3);
  const ops::TensorType type{DataType::f32, kernel};
  graph::Node node;
  node.name = "op";
  node.op = "conv";
  node.attrs = {{"kernel_shape", std::vector<int64_t>(dimensions, 3)},
                {"pads", std::vector<int64_t>(2 * dimensions, 1)}};
  node.assignment = {Origin::autogen, "dtg-region", "test", "", {}};
  node.inputs = {g.add_input("x", {DataType::f32, in}),
                 g.add_constant("w", ops::Tensor::from_floats(kernel, numbers(size_t(type.elements()), 3)))};
  const graph::NodeId id = g.add_node(node);
  g.set_output(g.add_result(id, "y"));
  Diag diag;
  EXPECT_TRUE(graph::infer_node(g, id, diag));
  return g;
}

class RegionInterval : public testing::TestWithParam<Cut> {};

TEST_P(RegionInterval, IsTheEstimatedOne) {
  const Cut& c = GetParam();
  const graph::Graph g = convolution(c.shape);
  const Machine machine = test::machine("wse2");
  mapping::MapOptions options;
  options.force_width = c.w;
  options.force_height = c.h;
  Diag diag;
  const std::optional<mapping::Mapped> mapped = mapping::map_graph(g, machine, options, diag);
  ASSERT_TRUE(mapped) << diag.to_string();
  int64_t words = 1;
  for (int64_t extent : c.shape) words *= extent;
  const RunResult r = run(*mapped, machine, {{"x", numbers(size_t(words * kSamples), 4)}}, kSamples);
  ASSERT_TRUE(r.ok) << r.message;
  const double interval = double(r.sample_ends[5] - r.sample_ends[2]) / 3;
  EXPECT_NEAR(mapped->placement[0].interval_cycles, interval, 0.2 * interval);
}

INSTANTIATE_TEST_SUITE_P(
    Cuts, RegionInterval,
    testing::Values(
        // Of 6 channels of 32 elements 14 each: seven PEs begin in one channel and end in the next, and compute
        // both. The first, the middle and the last one do not.
        Cut{"Uneven", {6, 32}, 14, 1}, Cut{"Even", {6, 32}, 6, 1},
        // 4096 words in and out: all PEs of the row wait for the whole stream, over links that results share.
        Cut{"LongStream", {16, 16, 16}, 64, 1},
        // The same in 8 rows, whose results leave by other links.
        Cut{"Rows", {16, 16, 16}, 16, 8}),
    [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace cs::test
