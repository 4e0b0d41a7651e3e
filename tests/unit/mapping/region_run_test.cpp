// Regions on the engine, on rows and rectangles of one to many PEs, against the host's evaluation of the same
// operator (whose own tests hold it against ONNX). Every case runs several samples, so that buffers are used
// again.
#include <gtest/gtest.h>

#include "compiler/autogen/region.h"
#include "compiler/autogen/statement_costs.h"
#include "compiler/kernels/region_parts.h"
#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr int kSamples = 3;

struct Operand {
  ops::Shape shape;
  bool constant = false;
};

struct Case {
  const char* name;
  const char* op;
  std::vector<Operand> operands;
  Attrs attrs;
  Origin origin = Origin::autogen;
};

const Case kCases[] = {
    {"OuterBroadcast", "add", {{{4, 6}}, {{6}}}, {}},
    {"BothBroadcast", "mul", {{{5, 1, 3}}, {{1, 4, 3}}}, {}},
    {"Transpose", "transpose", {{{3, 4, 5}}}, {{"perm", std::vector<int64_t>{2, 0, 1}}}},
    {"Concat", "concat", {{{2, 3, 4}}, {{2, 5, 4}}}, {{"axis", int64_t(1)}}},
    {"ConcatOuter", "concat", {{{3, 4}}, {{7, 4}}, {{1, 4}}}, {{"axis", int64_t(0)}}},
    {"SumOuter", "reduce_sum", {{{6, 8}}}, {{"axes", std::vector<int64_t>{0}}}},
    {"SumMiddle", "reduce_sum", {{{3, 5, 4}}}, {{"axes", std::vector<int64_t>{1}}}},
    {"MaxInner", "reduce_max", {{{7, 9}}}, {{"axes", std::vector<int64_t>{1}}}},
    {"MinAll", "reduce_min", {{{7, 3}}}, {}},
    {"ProductTwoAxes", "reduce_prod", {{{2, 4, 3}}}, {{"axes", std::vector<int64_t>{0, 2}}}},
    {"Mean", "reduce_mean", {{{4, 10}}}, {{"axes", std::vector<int64_t>{1}}}},
    {"TwoStreams", "matmul", {{{6, 5}}, {{5, 7}}}, {}},
    {"Batched", "matmul", {{{3, 4, 5}}, {{3, 5, 2}}}, {}},
    {"BatchedConstant", "matmul", {{{3, 4, 5}}, {{5, 6}, true}}, {}},
    {"ConstantFirst", "matmul", {{{8, 5}, true}, {{5, 3}}}, {}},
    {"GemmAllStreams",
     "gemm",
     {{{5, 4}}, {{6, 5}}, {{6}}},
     {{"trans_a", int64_t(1)}, {"trans_b", int64_t(1)}, {"alpha", 0.5}}},
    {"PaddedConvolution",
     "conv",
     {{{1, 2, 6, 5}}, {{4, 2, 3, 3}, true}},
     {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}}},
    // Cut into rows of three, a step of two columns leads from the end of a slice to itself.
    {"NarrowConvolution",
     "conv",
     {{{1, 1, 5, 5}}, {{1, 1, 3, 3}, true}},
     {{"kernel_shape", std::vector<int64_t>{3, 3}}}},
    // More taps in a walk than are unrolled, and the banks of picture and result turn with channels and rows.
    {"DeepConvolution",
     "conv",
     {{{1, 67, 7, 5}}, {{3, 67, 2, 1}, true}},
     {{"kernel_shape", std::vector<int64_t>{2, 1}}}},
    {"DilatedConvolution",
     "conv",
     {{{1, 4, 9, 8}}, {{2, 4, 3, 3}, true}},
     {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"dilations", std::vector<int64_t>{2, 2}}}},
    // conv.csl: rounds of channels and what is left of them, even and odd strides, a kernel that is not
    // square.
    {"LibraryConvolution",
     "conv",
     {{{1, 8, 8, 8}}, {{4, 8, 3, 3}, true}, {{4}, true}},
     {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}},
     Origin::handwritten},
    {"LibraryConvolutionOfOddRows",
     "conv",
     {{{1, 35, 9, 7}}, {{3, 35, 1, 2}, true}},
     {{"kernel_shape", std::vector<int64_t>{1, 2}}},
     Origin::handwritten},
    {"LibraryConvolutionByRows",
     "conv",
     {{{1, 9, 10, 6}}, {{5, 9, 4, 1}, true}},
     {{"kernel_shape", std::vector<int64_t>{4, 1}}},
     Origin::handwritten},
    {"LongReduction", "matmul", {{{2, 3, 40}}, {{2, 40, 12}}}, {}},
    {"PaddedMaximum",
     "max_pool",
     {{{1, 3, 6, 8}}},
     {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}}},
    {"Exponential", "pow", {{{3, 4}}, {{4}, true}}, {}},
};

class Regions : public testing::TestWithParam<std::tuple<size_t, std::pair<int, int>, const char*>> {};

// Can one axis be cut over so many PEs, with nothing left over, and none of them idle?
bool can_cut(const autogen::ShardAxis& axis, int pes) {
  int64_t chunk = (axis.extent + pes - 1) / pes;
  return axis.extent >= pes && chunk * (pes - 1) < axis.extent;
}

TEST_P(Regions, ComputeWhatTheHostDoes) {
  const auto& [index, size, machine_name] = GetParam();
  const Case& c = kCases[index];
  Graph g;
  g.name = c.name;
  graph::Node node;
  node.name = "op";
  node.op = c.op;
  node.attrs = c.attrs;
  node.assignment = {c.origin, graph::KernelId("dtg-region"), "test", "", {}};
  std::map<std::string, std::vector<float>> inputs;
  std::vector<ops::Tensor> tensors;
  for (size_t k = 0; k < c.operands.size(); ++k) {
    const Operand& o = c.operands[k];
    std::string name = "x" + std::to_string(k);
    size_t n = size_t(ops::TensorType{DataType::f32, o.shape}.elements());
    std::vector<float> values = numbers(o.constant ? n : n * kSamples, uint32_t(17 + k));
    if (std::string(c.op) == "pow")
      for (float& v : values) v += 2;
    tensors.push_back(ops::Tensor::from_floats(o.shape, {values.begin(), values.begin() + long(n)}));
    node.inputs.push_back(o.constant ? g.add_constant(name, tensors.back())
                                     : g.add_input(name, {DataType::f32, o.shape}));
    if (!o.constant) inputs[name] = values;
  }
  NodeId id = g.add_node(node);
  g.set_output(g.add_result(id, "y"));
  Diag diag;
  ASSERT_TRUE(graph::infer_node(g, id, diag));
  autogen::Region region;
  std::string why;
  ASSERT_TRUE(autogen::build_region(g, std::span(&id, 1), region, why)) << why;
  mapping::MapOptions options;
  auto [w, h] = size;
  bool row = false, rectangle = false;
  std::vector<autogen::ShardAxis> axes =
      autogen::shard_axes(region.program.buffers[size_t(region.result_buffer[0])].type.shape);
  for (const autogen::ShardAxis& a : axes) {
    row = row || can_cut(a, w);
    rectangle = rectangle || can_cut(a, w * h);
    for (const autogen::ShardAxis& b : axes) {
      rectangle = rectangle || (a.stride % b.period() == 0 && can_cut(a, h) && can_cut(b, w));
    }
  }
  options.force_width = options.force_height = 1;
  if (h > 1 ? rectangle : row) options.force_width = w, options.force_height = h;
  RunResult result = run_graph(g, machine(machine_name), options, inputs, kSamples);
  ASSERT_TRUE(result.ok) << result.message;
  const std::vector<float>& got = result.outputs.at("y");
  for (int sample = 0; sample < kSamples; ++sample) {
    for (size_t k = 0; k < tensors.size(); ++k) {
      if (c.operands[k].constant) continue;
      const std::vector<float>& all = inputs.at("x" + std::to_string(k));
      auto first = all.begin() + long(tensors[k].elements()) * sample;
      tensors[k] =
          ops::Tensor::from_floats(c.operands[k].shape, {first, first + long(tensors[k].elements())});
    }
    std::vector<ops::Tensor> expected;
    ASSERT_TRUE(ops::evaluate(g.op(id), c.attrs, tensors, expected, diag));
    size_t n = size_t(expected[0].elements());
    ASSERT_EQ(got.size(), n * kSamples);
    for (size_t i = 0; i < n; ++i) {
      double want = expected[0].get(int64_t(i));
      EXPECT_NEAR(got[size_t(sample) * n + i], want, 2e-6 * std::max(1.0, std::abs(want)))
          << i << " of sample " << sample;
    }
  }
}

TEST(Kernels, LibraryConvolvesPicturesWithoutStrides) {
  graph::Graph g;
  g.name = "match";
  auto convolution = [&](const std::string& name, int64_t channels, Attrs attrs) {
    graph::Node node;
    node.name = name;
    node.op = "conv";
    node.attrs = std::move(attrs);
    const size_t weights = size_t(4 * channels * 9);
    node.inputs = {g.add_input(name + "_x", {DataType::f32, {1, channels, 12, 12}}),
                   g.add_constant(name + "_w",
                                  ops::Tensor::from_floats({4, channels, 3, 3}, test::numbers(weights, 1)))};
    const graph::NodeId id = g.add_node(std::move(node));
    g.set_output(g.add_result(id, name + "_y"));
    Diag diag;
    EXPECT_TRUE(graph::infer_node(g, id, diag)) << diag.to_string();
    return id;
  };
  const graph::NodeId plain = convolution("plain", 8, {}), few = convolution("few", 3, {});
  const graph::NodeId strided = convolution("strided", 8, {{"strides", std::vector<int64_t>{2, 1}}});
  std::string why;
  const kernels::Row* row = kernels::match_handwritten(g, plain, why);
  ASSERT_NE(row, nullptr) << why;
  EXPECT_EQ(row->name, "conv");
  EXPECT_NE(kernels::match_handwritten(g, few, why), nullptr) << why;
  EXPECT_EQ(kernels::match_handwritten(g, strided, why), nullptr);
  EXPECT_EQ(why, "the library's conv has one group, and strides and dilations of 1");
}

// Too large for a row of small PEs: planning cuts channels, rows and columns of the picture.
TEST(RegionPlan, CutsThreeAxesWhereMemoryIsShort) {
  constexpr int64_t kChannels = 16, kSide = 16, kPixels = kSide * kSide;
  Graph g;
  g.name = "picture";
  std::vector<float> weights = numbers(size_t(kChannels * kChannels * 9), 3);
  std::vector<float> picture = numbers(size_t(kChannels * kPixels * kSamples), 4);
  graph::Node node;
  node.name = "op";
  node.op = "conv";
  node.attrs = {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  node.assignment = {Origin::autogen, graph::KernelId("dtg-region"), "test", "", {}};
  node.inputs = {g.add_input("x", {DataType::f32, {1, kChannels, kSide, kSide}}),
                 g.add_constant("w", ops::Tensor::from_floats({kChannels, kChannels, 3, 3}, weights))};
  NodeId id = g.add_node(node);
  g.set_output(g.add_result(id, "y"));
  Diag diag;
  ASSERT_TRUE(graph::infer_node(g, id, diag));
  Machine small = machine("wse3");
  small.core.memory_bytes = 7000;
  autogen::Region region;
  std::string why;
  ASSERT_TRUE(autogen::build_region(g, std::span(&id, 1), region, why)) << why;
  bool three = false;
  autogen::StatementCosts statements(small);
  for (const kernels::Plan& p : kernels::region_plans(region, 1, {100, 100}, {}, {small, statements})) {
    bool fits = p.memory.total <= uint32_t(small.core.memory_bytes);
    three = three || (fits && p.cut.h > 1 && p.cut.loops->axes.size() >= 3);
  }
  EXPECT_TRUE(three);
  RunResult result = run_graph(g, small, {}, {{"x", picture}}, kSamples);
  ASSERT_TRUE(result.ok) << result.message;
  const std::vector<float>& got = result.outputs.at("y");
  ASSERT_EQ(got.size(), picture.size());
  for (int64_t at = 0; at < int64_t(got.size()); ++at) {
    int64_t sample = at / (kChannels * kPixels), o = at / kPixels % kChannels, h = at / kSide % kSide,
            w = at % kSide;
    double want = 0;
    for (int64_t tap = 0; tap < kChannels * 9; ++tap) {
      int64_t c = tap / 9, y = h + tap / 3 % 3 - 1, x = w + tap % 3 - 1;
      if (y < 0 || y >= kSide || x < 0 || x >= kSide) continue;
      want += double(picture[size_t(((sample * kChannels + c) * kSide + y) * kSide + x)]) *
              double(weights[size_t(o * kChannels * 9 + tap)]);
    }
    ASSERT_NEAR(got[size_t(at)], want, 2e-5) << at;
  }
}

// Seven streams are more than the queues of a feeder can pass on, so that no plan has several rows of PEs.
TEST(RegionPlan, RectanglesNeedAFeederThatCanPassAllOperandsOn) {
  for (const auto& [streams, rectangles] : {std::pair{2, true}, {7, false}}) {
    Graph g;
    std::vector<ValueId> operands;
    for (int k = 0; k < streams; ++k)
      operands.push_back(g.add_input("x" + std::to_string(k), {DataType::f32, {300, 100}}));
    g.set_output(add_op(g, "op", "concat", operands, {300 * streams, 100}, Origin::autogen));
    const NodeId id = *g.find_node("op");
    g.node(id).attrs = {{"axis", int64_t(0)}};
    autogen::Region region;
    std::string why;
    ASSERT_TRUE(autogen::build_region(g, std::span(&id, 1), region, why)) << why;
    Machine small = machine("wse2");
    small.core.memory_bytes = 4000;
    bool any = false;
    autogen::StatementCosts statements(small);
    for (const kernels::Plan& p : kernels::region_plans(region, 1, {300, 300}, {}, {small, statements}))
      any = any || p.cut.h > 1;
    EXPECT_EQ(any, rectangles) << streams;
  }
}

INSTANTIATE_TEST_SUITE_P(Operators, Regions,
                         testing::Combine(testing::Range(size_t(0), std::size(kCases)),
                                          testing::Values(std::pair(1, 1), std::pair(2, 1), std::pair(3, 1),
                                                          std::pair(7, 1), std::pair(1, 3), std::pair(2, 2),
                                                          std::pair(3, 2), std::pair(2, 4)),
                                          testing::Values("wse2", "wse3")),
                         [](const auto& info) {
                           return std::string(kCases[std::get<0>(info.param)].name) + "_on_" +
                                  std::to_string(std::get<1>(info.param).first) + "x" +
                                  std::to_string(std::get<1>(info.param).second) + "_" +
                                  std::get<2>(info.param);
                         });

}  // namespace
}  // namespace cs::test
