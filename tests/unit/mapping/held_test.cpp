// Regions of several streams that go part after part: when the streams may wait for each other, and what they
// compute then.
#include <gtest/gtest.h>

#include "compiler/autogen/autogen.h"
#include "compiler/autogen/held.h"
#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr int64_t kHeads = 3, kRows = 48, kDepth = 8, kWidth = kHeads * kDepth;
constexpr int kSamples = 3;

ValueId region(Graph& g, const char* name, const char* op, const std::vector<ValueId>& inputs,
               ops::Shape shape, Attrs attrs = {}) {
  const ValueId v = add_op(g, name, op, inputs, std::move(shape), Origin::autogen);
  graph::Node& node = g.node(*g.find_node(name));
  node.attrs = std::move(attrs);
  node.assignment.kernel = graph::KernelId("dtg-region");
  return v;
}

// x [rows, heads, depth] -> scores of every row with every row, by head. Words of the product: 3 times 48 x
// 48 and two operands of 1152, 9216 together; of a part 3072.
Graph scores(bool twice) {
  Graph g;
  g.name = "scores";
  const ValueId x = g.add_input("x", {DataType::f32, {kRows, kHeads, kDepth}}, 0);
  const ValueId q =
      region(g, "q", "transpose", {x}, {kHeads, kRows, kDepth}, {{"perm", std::vector<int64_t>{1, 0, 2}}});
  const ValueId k =
      region(g, "k", "transpose", {x}, {kHeads, kDepth, kRows}, {{"perm", std::vector<int64_t>{1, 2, 0}}});
  g.set_output(region(g, "product", "matmul", {q, k}, {kHeads, kRows, kRows}));
  if (twice) g.set_output(region(g, "more", "neg", {q}, {kHeads, kRows, kDepth}));
  return g;
}

bool may_wait(const Graph& g, const char* node) {
  const NodeId id = *g.find_node(node);
  autogen::Region r;
  std::string why;
  EXPECT_TRUE(autogen::make_region(g, std::span(&id, 1), r, why)) << why;
  return autogen::HeldStreams(g, [](NodeId n) { return std::vector<NodeId>{n}; }).may_wait(r);
}

TEST(HeldStreams, WaitWhereTheirMakersHaveTakenTheWholeSample) {
  EXPECT_TRUE(may_wait(scores(false), "product"));
  // Whoever else takes q would wait with it.
  EXPECT_FALSE(may_wait(scores(true), "product"));
}

TEST(HeldStreams, DoNotWaitWhereOneComesStraightFromWhatMakesTheOther) {
  Graph g;
  g.name = "residual";
  const ValueId x = g.add_input("x", {DataType::f32, {100, 100}}, 0);
  const ValueId y = region(g, "f", "reduce_sum", {x}, {100, 1}, {{"axes", std::vector<int64_t>{1}}});
  g.set_output(region(g, "sum", "add", {x, y}, {100, 100}));
  EXPECT_FALSE(may_wait(g, "sum"));
}

// Every head is a part, which the product's PEs take one after the other.
TEST(HeldStreams, PartsOfTwoStreamsGiveTheWholeProduct) {
  const Graph g = scores(false);
  const std::vector<float> x = numbers(size_t(kSamples * kRows * kWidth), 6);
  for (const char* name : {"wse2", "wse3"}) {
    Machine small = machine(name);
    small.core.memory_bytes = 8000;
    const RunResult result = run_graph(g, small, {}, {{"x", x}}, kSamples);
    ASSERT_TRUE(result.ok) << result.message;
    const std::vector<float>& got = result.outputs.at("product_out");
    ASSERT_EQ(got.size(), size_t(kSamples * kHeads * kRows * kRows));
    for (size_t at = 0; at < got.size(); ++at) {
      const int64_t j = int64_t(at) % kRows, i = int64_t(at) / kRows % kRows,
                    head = int64_t(at) / (kRows * kRows) % kHeads,
                    sample = int64_t(at) / (kHeads * kRows * kRows);
      double want = 0;
      for (int64_t d = 0; d < kDepth; ++d) {
        const auto element = [&](int64_t row) {
          return double(x[size_t((sample * kRows + row) * kWidth + head * kDepth + d)]);
        };
        want += element(i) * element(j);
      }
      ASSERT_NEAR(got[at], want, 2e-6 * std::max(1.0, std::abs(want))) << at;
    }
  }
}

}  // namespace
}  // namespace cs::test
