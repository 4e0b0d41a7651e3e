// A batch in copies of a network gives what one network gives for all of it, also through the gradients.
#include <gmock/gmock.h>

#include "compiler/frontend/frontend.h"
#include "compiler/graph/batch.h"
#include "compiler/graph/batch_copies.h"
#include "compiler/graph/sample.h"
#include "tests/unit/graph/interpret.h"

namespace cs::graph {
namespace {

constexpr const char* kNetwork =
    "graph: two\n"
    "inputs:\n"
    "  - {name: x, type: \"f32[1, 3]\", sample_dim: 0}\n"
    "  - {name: s, type: \"f32[2, 1]\", sample_dim: 1}\n"
    "constants:\n"
    "  - {name: w, type: \"f32[3, 2]\", value: [1, 2, 3, 4, 5, 6]}\n"
    "  - {name: v, type: \"f32[2]\", value: [0.5, 2]}\n"
    "nodes:\n"
    "  - {name: doubled, op: add, inputs: [v, v]}\n"  // of no sample: there once
    "  - {name: h, op: gemm, inputs: [x, w, doubled]}\n"
    "  - {name: r, op: relu, inputs: [h]}\n"
    "  - {name: t, op: transpose, inputs: [s], attrs: {perm: [1, 0]}}\n"
    "  - {name: y, op: mul, inputs: [r, t]}\n"
    "outputs: [y, r]\n";

Graph network(int64_t samples, int64_t copies) {
  Diag diag;
  auto g = frontend::import_yaml(kNetwork, "g.yaml", ".", diag);
  EXPECT_TRUE(g) << diag.to_string();
  EXPECT_TRUE(make_batch_in_copies(*g, samples, copies, diag)) << diag.to_string();
  EXPECT_TRUE(verify(*g, diag)) << diag.to_string();
  return std::move(*g);
}

ops::Tensor counting(ops::Shape shape, double from) {
  ops::Tensor t({DataType::f32, std::move(shape)});
  for (int64_t i = 0; i < t.elements(); ++i) t.set(i, from + 0.25 * double(i));
  return t;
}

TEST(BatchCopies, GiveWhatOneNetworkGives) {
  const std::map<std::string, ops::Tensor> inputs{{"x", counting({6, 3}, -2)}, {"s", counting({2, 6}, -1)}};
  const Graph one = network(6, 1);
  const auto expected = interpret(one, inputs);
  for (const int64_t copies : {2, 3, 6}) {
    const Graph g = network(6, copies);
    const auto found = interpret(g, inputs);
    for (const char* name : {"y", "r"}) {
      ASSERT_TRUE(found.contains(name));
      EXPECT_EQ(found.at(name).type.shape, expected.at(name).type.shape);
      EXPECT_EQ(found.at(name).bytes, expected.at(name).bytes) << name << " of " << copies << " copies";
    }
    const std::vector<NodeId> nodes = g.nodes();
    const auto count = [&](const char* op) {
      return std::count_if(nodes.begin(), nodes.end(), [&](NodeId id) { return g.node(id).op == op; });
    };
    EXPECT_EQ(count("gemm"), copies);
    EXPECT_EQ(count("add"), 1);
    EXPECT_EQ(count("slice"), 2 * copies);
    EXPECT_EQ(count("concat"), 2);
  }
}

TEST(BatchCopies, AsManyAsMakeACopysValuesNoLongerThanTheWeights) {
  // Weights of 6 elements, values of 3 for each sample.
  const auto copies = [](int64_t samples) {
    Diag diag;
    const auto g = frontend::import_yaml(kNetwork, "g.yaml", ".", diag);
    return batch_copies_for(*g, samples);
  };
  EXPECT_EQ(copies(2), 1);
  EXPECT_EQ(copies(4), 2);
  EXPECT_EQ(copies(5), 1);  // in no equal shares
  EXPECT_EQ(copies(8), 4);
  EXPECT_EQ(copies(64), kMostBatchCopies);
}

}  // namespace
}  // namespace cs::graph
