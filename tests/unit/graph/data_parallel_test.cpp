// Which gradients of replicas are reduced together, and what their reduction computes.
#include <gtest/gtest.h>

#include <map>

#include "compiler/frontend/data_parallel.h"
#include "compiler/graph/evaluate.h"

namespace cs::frontend {
namespace {

using Buckets = std::vector<std::vector<size_t>>;

// Gradients of four elements in two replicas, of these groups and types.
std::vector<ReplicatedGradient> gradients(graph::Graph& g, const std::vector<std::pair<std::string, DataType>>& of) {
  std::vector<ReplicatedGradient> list;
  for (size_t k = 0; k < of.size(); ++k) {
    ReplicatedGradient r{"w" + std::to_string(k), of[k].first, {}};
    for (int replica = 0; replica < 2; ++replica)
      r.of_replica.push_back(g.add_input(r.name + "_" + std::to_string(replica), {of[k].second, {4}}));
    list.push_back(std::move(r));
  }
  return list;
}

TEST(GradientBuckets, TypesNeverMix) {
  graph::Graph g;
  const auto of = gradients(g, {{"", DataType::f32}, {"", DataType::f16}, {"", DataType::f32}, {"", DataType::f16}});
  EXPECT_EQ(gradient_buckets(g, of, 1000), (Buckets{{3, 1}, {2, 0}}));
}

TEST(GradientBuckets, GroupsNeverMix) {
  graph::Graph g;
  const auto of = gradients(g, {{"a", DataType::f32}, {"b", DataType::f32}, {"a", DataType::f32}});
  EXPECT_EQ(gradient_buckets(g, of, 1000), (Buckets{{2, 0}, {1}}));
}

TEST(GradientBuckets, HoldSoManyBytesTheLastGradientFirst) {
  graph::Graph g;
  const auto of = gradients(g, {{"", DataType::f32}, {"", DataType::f32}, {"", DataType::f32}});  // 16 bytes each
  EXPECT_EQ(gradient_buckets(g, of, 48), (Buckets{{2, 1, 0}}));
  EXPECT_EQ(gradient_buckets(g, of, 47), (Buckets{{2, 1}, {0}}));
  EXPECT_EQ(gradient_buckets(g, of, 1), (Buckets{{2}, {1}, {0}}));
}

// Means by hand, of both types at once, whatever the way.
TEST(GradientReduction, EveryWayGivesTheMeans) {
  for (const GradientFusion fusion : {GradientFusion::off, GradientFusion::concat, GradientFusion::coalesced}) {
    graph::Graph g;
    const auto of = gradients(g, {{"", DataType::f32}, {"", DataType::f16}, {"b", DataType::f32}, {"", DataType::f32}});
    std::vector<graph::ValueId> reduced;
    Diag diag;
    const DataParallel how{.replicas = 2, .fusion = fusion, .bucket_bytes = 1000, .average = true};
    ASSERT_TRUE(reduce_gradients(g, how, of, reduced, diag)) << diag.to_string();
    std::map<std::string, ops::Tensor> inputs;  // input number n holds n, n + 0.5, …
    for (size_t n = 0; n < g.inputs.size(); ++n) {
      ops::Tensor t(g.value(g.inputs[n]).type);
      for (int64_t i = 0; i < 4; ++i) t.set(i, double(n) + double(i) * 0.5);
      inputs.emplace(g.value(g.inputs[n]).name, std::move(t));
    }
    size_t all_reduces = 0;
    for (const graph::NodeId id : g.nodes()) all_reduces += g.node(id).op == "all_reduce" ? 1 : 0;
    EXPECT_EQ(all_reduces, fusion == GradientFusion::coalesced ? 3u : 0u);
    for (const graph::ValueId v : reduced) {
      EXPECT_EQ(g.value(v).type.dtype, DataType::f32);
      g.set_output(v);
    }
    const auto outputs = graph::evaluate_graph(g, inputs, diag);
    ASSERT_TRUE(outputs) << diag.to_string();
    for (size_t k = 0; k < reduced.size(); ++k)
      for (int64_t i = 0; i < 4; ++i)
        EXPECT_EQ(outputs->at(g.value(reduced[k]).name).get(i), double(2 * k) + 0.5 + double(i) * 0.5) << k;
  }
}

}  // namespace
}  // namespace cs::frontend
