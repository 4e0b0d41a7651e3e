// The estimated interval of regions against the simulated one, where cuts are uneven, streams are long and
// links are shared.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/kernels/region_places.h"
#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

constexpr int kSamples = 6;
// Where two streams meet, samples end at an even pace when what parts them at the start has settled.
constexpr int kSettled = 32;

struct Cut {
  const char* name;
  std::vector<int64_t> shape;  // of the picture or line, channels first
  int w = 1, h = 1;
};

// A convolution of a picture or line, channels first, with so many channels out, padded so that it keeps its
// size.
graph::Graph convolution(const std::vector<int64_t>& shape, int64_t out, int64_t window) {
  graph::Graph g;
  g.name = "picture";
  const size_t dimensions = shape.size() - 1;
  ops::Shape in = {1}, kernel = {out, shape[0]};
  in.insert(in.end(), shape.begin(), shape.end());
  kernel.insert(kernel.end(), dimensions, window);
  const ops::TensorType type{DataType::f32, kernel};
  graph::Node node;
  node.name = "op";
  node.op = "conv";
  node.attrs = {{"kernel_shape", std::vector<int64_t>(dimensions, window)},
                {"pads", std::vector<int64_t>(2 * dimensions, window / 2)}};
  node.assignment = {Origin::autogen, graph::KernelId("dtg-region"), "test", "", {}};
  node.inputs = {g.add_input("x", {DataType::f32, in}),
                 g.add_constant("w", ops::Tensor::from_floats(kernel, numbers(size_t(type.elements()), 3)))};
  const graph::NodeId id = g.add_node(node);
  g.set_output(g.add_result(id, "y"));
  Diag diag;
  EXPECT_TRUE(graph::infer_node(g, id, diag));
  return g;
}

// The only kernel of a network on so many PEs of WSE-2: cycles from one sample to the next.
struct Measured {
  double estimated = 0, interval = 0;
};
using Inputs = std::map<std::string, std::vector<float>>;
Measured measure(const graph::Graph& g, int w, int h, const Inputs& inputs, int samples = kSamples) {
  const Machine machine = test::machine("wse2");
  mapping::MapOptions options;
  options.force_width = w;
  options.force_height = h;
  Diag diag;
  const std::optional<mapping::Mapped> mapped = mapping::map_graph(g, machine, options, diag);
  EXPECT_TRUE(mapped) << diag.to_string();
  if (!mapped) return {};
  const RunResult r = run(*mapped, machine, inputs, samples);
  EXPECT_TRUE(r.ok) << r.message;
  if (!r.ok) return {};
  const size_t half = size_t(samples) / 2;
  return {mapped->placement[0].interval_cycles,
          double(r.sample_ends[2 * half - 1] - r.sample_ends[half - 1]) / double(half)};
}

class RegionInterval : public testing::TestWithParam<Cut> {};

TEST_P(RegionInterval, IsTheEstimatedOne) {
  const Cut& c = GetParam();
  const graph::Graph g = convolution(c.shape, c.shape[0], 3);
  int64_t words = 1;
  for (int64_t extent : c.shape) words *= extent;
  const auto [estimated, interval] = measure(g, c.w, c.h, {{"x", numbers(size_t(words * kSamples), 4)}});
  EXPECT_NEAR(estimated, interval, 0.2 * interval);
}

INSTANTIATE_TEST_SUITE_P(
    Cuts, RegionInterval,
    testing::Values(
        // Of 6 channels of 32 elements 14 each: seven PEs begin in one channel and end in the next, and
        // compute both. The first, the middle and the last one do not.
        Cut{"Uneven", {6, 32}, 14, 1}, Cut{"Even", {6, 32}, 6, 1},
        // 4096 words in and out: all PEs of the row wait for the whole stream, over links that results share.
        Cut{"LongStream", {16, 16, 16}, 64, 1},
        // The same in 8 rows, whose results leave by other links.
        Cut{"Rows", {16, 16, 16}, 16, 8},
        // Two rows of PEs have halves of lines of 4: 48 turns of two words for each collector.
        Cut{"ManyTurns", {12, 4, 4}, 12, 2}),
    [](const auto& info) { return std::string(info.param.name); });

// Sixteen rows of PEs, each with a channel of a quarter of the picture: the weights of a channel are there
// for one row.
TEST(RegionWeights, OfRowsThatHoldTheSameAreThereOnce) {
  const graph::Graph g = convolution({4, 64, 16}, 4, 3);
  mapping::MapOptions options;
  options.force_width = 4;
  options.force_height = 16;
  Diag diag;
  const std::optional<mapping::Mapped> mapped = mapping::map_graph(g, test::machine("wse2"), options, diag);
  ASSERT_TRUE(mapped) << diag.to_string();
  std::set<uint64_t> places;
  int64_t rows = 0;
  for (const Constant& c : mapped->host.constants) {
    if (c.symbol != "c0") continue;  // the weights
    ++rows;
    EXPECT_EQ(c.bytes_per_pe, 4 * 4 * 3 * 3u);
    places.insert(c.offset);
  }
  EXPECT_EQ(rows, 16);
  EXPECT_EQ(places.size(), 4u);
}

// One PE, 24 channels to 48 of one element: 24 multiply-adds of 48 elements, each with a load of its scalar,
// 24 * 49 = 1176 cycles; 24 words in and 48 out; 56 for two copies of the result, 60 to 100 for starts, tasks
// and filling.
TEST(RegionCompute, IsTheSumOfItsInstructions) {
  const graph::Graph g = convolution({24, 1, 1}, 48, 1);
  const auto [estimated, interval] = measure(g, 1, 1, {{"x", numbers(size_t(24 * kSamples), 4)}});
  EXPECT_NEAR(interval, 1176 + 24 + 48 + 56 + 80, 100);
  EXPECT_NEAR(estimated, interval, 0.03 * interval);
}

// One PE, eight operands of 4 words: it asks for every one of them by two loads and an instruction, 6 cycles each; that
// they have come is joined by six tasks of three instructions, 6 cycles each with their start; it copies them, 5
// cycles to start and 2 elements a cycle. 32 words leave while it asks: sending is two loads and an instruction, and
// the task takes 20 cycles to start and to end.
TEST(RegionOperands, TakeLongerThanTheirWords) {
  graph::Graph g;
  std::vector<graph::ValueId> operands;
  std::map<std::string, std::vector<float>> inputs;
  for (int k = 0; k < 8; ++k) {
    const std::string name = "x" + std::to_string(k);
    operands.push_back(g.add_input(name, {DataType::f32, {1, 4}}, 0));
    inputs[name] = numbers(size_t(4 * kSamples), uint32_t(k + 1));
  }
  g.set_output(add_op(g, "joined", "concat", operands, {1, 32}, Origin::autogen));
  graph::Node& joined = g.node(*g.find_node("joined"));
  joined.attrs = {{"axis", int64_t(1)}};
  joined.assignment.kernel = graph::KernelId("dtg-region");
  const auto [estimated, interval] = measure(g, 1, 1, inputs);
  EXPECT_NEAR(interval, 8 * (6 + 5 + 2) + 6 * 6 + 6 + 20, 15);
  EXPECT_NEAR(estimated, interval, 0.05 * interval);
}

// Two operands of 2048 words each in four rows of PEs: each has a column of feeders, so that both come in
// 2048 cycles; over the same links they would take 4096. 2048 words leave meanwhile.
TEST(RegionOperands, OfRowsComeBesideEachOther) {
  graph::Graph g;
  const graph::ValueId a = g.add_input("a", {DataType::f32, {1, 2048}}, 0),
                       b = g.add_input("b", {DataType::f32, {1, 2048}}, 0);
  g.set_output(add_op(g, "sum", "add", {a, b}, {1, 2048}, Origin::autogen));
  g.node(*g.find_node("sum")).assignment.kernel = graph::KernelId("dtg-region");
  const std::vector<float> x = numbers(size_t(2048 * kSettled), 1), y = numbers(size_t(2048 * kSettled), 2);
  const auto [estimated, interval] = measure(g, 4, 4, {{"a", x}, {"b", y}}, kSettled);
  EXPECT_LT(interval, 1.3 * 2048);
  EXPECT_NEAR(estimated, interval, 0.15 * interval);
}

// Four results by one column of collectors, on a machine that gives microthreads numbers of its own choice:
// those of two streams in one PE must not be the same.
TEST(RegionResults, OfFourStreamsMeetNowhere) {
  for (const char* name : {"wse2", "wse3"}) {
    graph::Graph g;
    graph::Node node;
    node.name = "parts";
    node.op = "split";
    node.attrs = {{"axis", int64_t(1)}, {"split", std::vector<int64_t>{1, 1, 4, 2}}};
    node.assignment = {Origin::autogen, graph::KernelId("dtg-region"), "test", "", {}};
    node.inputs = {g.add_input("x", {DataType::f32, {5, 8, 46}}, 0)};
    const graph::NodeId id = g.add_node(node);
    for (int k = 0; k < 4; ++k) g.set_output(g.add_result(id, "y" + std::to_string(k)));
    Diag diag;
    ASSERT_TRUE(graph::infer_node(g, id, diag)) << diag.to_string();
    const Machine machine = test::machine(name);
    mapping::MapOptions options;
    options.force_width = 1;
    options.force_height = 5;
    const std::vector<float> x = numbers(size_t(5 * 8 * 46 * 2), 1);
    const RunResult r = run_graph(g, machine, options, {{"x", x}}, 2);
    ASSERT_TRUE(r.ok) << name << ": " << r.message;
    // Of every sample and every one of five planes, line 1 of 8.
    for (int plane = 0; plane < 10; ++plane)
      for (int i = 0; i < 46; ++i)
        ASSERT_EQ(r.outputs.at("y1")[size_t(46 * plane + i)], x[size_t((8 * plane + 1) * 46 + i)]) << name;
  }
}

// 16 channels of 5 lines over 40 PEs, two lines each: PEs 2 and 7, 12, 17 ... have the end of one channel and
// the beginning of the next. Of a concat the last one of them computes something else than the first one.
TEST(RegionPlaces, AreTheFirstAndTheLastOfTheMostCutOnes) {
  graph::Graph g;
  const graph::ValueId a = g.add_input("a", {DataType::f32, {1, 8, 5, 5}}, 0),
                       b = g.add_input("b", {DataType::f32, {1, 8, 5, 5}}, 0);
  g.set_output(add_op(g, "joined", "concat", {a, b}, {1, 16, 5, 5}, Origin::autogen));
  const graph::NodeId id = *g.find_node("joined");
  g.node(id).attrs = {{"axis", int64_t(1)}};
  autogen::Region region;
  std::string why;
  ASSERT_TRUE(autogen::build_region(g, std::span(&id, 1), region, why)) << why;
  autogen::RegionCut cut;
  for (const autogen::ShardAxis& axis : autogen::shard_axes({1, 16, 5, 5}))
    if (axis.extent == 80) cut = autogen::in_row(axis, 40);
  ASSERT_EQ(cut.w(), 40);
  const kernels::Places places = kernels::places_of(region, cut, kernels::Look::few);
  for (int x : {2, 37}) EXPECT_EQ(std::count(places.begin(), places.end(), std::pair(x, 0)), 1) << x;
}

}  // namespace
}  // namespace cs::test
