// Primitives that stand beside the kernel of an operator give what the operator gives.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/frontend/frontend.h"
#include "compiler/graph/expand.h"
#include "tests/unit/graph/interpret.h"

namespace cs::graph {
namespace {

struct Case {
  const char* name;
  std::vector<const char*> inputs;  // types; all are streams
  const char* operands;             // of the node, x0 to xn among them
  const char* attrs;
  const char* results;
  const char* primitive;  // one that must be there
  const char* gone;       // one that must not be there, if any
};

ops::Tensor waves(const ops::TensorType& type, int phase) {
  std::vector<float> list;
  for (int64_t i = 0; i < type.elements(); ++i) list.push_back(float(std::sin(0.7 * double(i) + phase)));
  return ops::Tensor::from_floats(type.shape, list);
}

class Primitives : public testing::TestWithParam<Case> {};

TEST_P(Primitives, GiveWhatTheOperatorGives) {
  const Case& c = GetParam();
  std::string text = "inputs:\n";
  for (size_t k = 0; k < c.inputs.size(); ++k)
    text += "  - {name: x" + std::to_string(k) + ", type: \"" + c.inputs[k] + "\"}\n";
  const std::string op = std::string(c.name).substr(0, std::string(c.name).find('_'));
  text += "outputs: " + std::string(c.results) + "\nnodes:\n  - {name: n, op: " + op +
          ", inputs: " + c.operands + ", outputs: " + c.results + ", attrs: " + c.attrs + "}\n";
  Diag diag;
  std::optional<Graph> g = frontend::import_yaml(text, "g.yaml", ".", diag);
  ASSERT_TRUE(g) << diag.to_string();
  std::map<std::string, ops::Tensor> values;
  for (ValueId v : g->inputs) values.emplace(g->value(v).name, waves(g->value(v).type, int(values.size())));
  const auto want = interpret(*g, values);
  ASSERT_TRUE(expand_all(*g, *g->find_node("n"), diag)) << diag.to_string();
  bool there = false;
  for (NodeId id : g->nodes()) {
    there = there || g->node(id).op == c.primitive;
    EXPECT_NE(g->node(id).op, c.gone);
  }
  EXPECT_TRUE(there);
  const auto got = interpret(*g, values);
  ASSERT_EQ(want.size(), got.size());
  for (auto a = want.begin(), b = got.begin(); a != want.end(); ++a, ++b) {  // outputs may have other names
    const std::vector<float> x = a->second.to_floats(), y = b->second.to_floats();
    ASSERT_EQ(x.size(), y.size());
    for (size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], 1e-5) << a->first << " " << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Operators, Primitives,
    testing::Values(
        // hidden 4, operand 3; with and without bias and state
        Case{"lstm_whole",
             {"f32[1, 2, 3]", "f32[1, 16, 3]", "f32[1, 16, 4]", "f32[1, 32]", "f32[1, 2, 4]", "f32[1, 2, 4]"},
             "[x0, x1, x2, x3, ~, x4, x5]",
             "{hidden_size: 4}",
             "[y]",
             "gemm",
             "lstm"},
        Case{"lstm_states",
             {"f32[1, 2, 3]", "f32[1, 16, 3]", "f32[1, 16, 4]", "f32[1, 32]", "f32[1, 2, 4]", "f32[1, 2, 4]"},
             "[x0, x1, x2, x3, ~, x4, x5]",
             "{hidden_size: 4}",
             "[y, h, c]",
             "gemm",
             "lstm"},
        Case{"lstm_plain",
             {"f32[1, 2, 3]", "f32[1, 16, 3]", "f32[1, 16, 4]"},
             "[x0, x1, x2]",
             "{}",
             "[y]",
             "gemm",
             "lstm"},
        Case{"conv_pointwise",
             {"f32[1, 2, 7, 6]", "f32[3, 2, 1, 1]", "f32[3]"},
             "[x0, x1, x2]",
             "{strides: [2, 3]}",
             "[y]",
             "slice",
             ""},
        Case{"conv_windows",
             {"f32[1, 2, 7, 6]", "f32[3, 2, 3, 2]"},
             "[x0, x1]",
             "{strides: [2, 3], pads: [1, 0, 1, 1]}",
             "[y]",
             "slice",
             ""},
        Case{"conv_padded",
             {"f32[1, 2, 7]", "f32[3, 2, 1]"},
             "[x0, x1]",
             "{strides: [2], pads: [1, 0]}",
             "[y]",
             "slice",
             ""}),
    [](const auto& info) { return std::string(info.param.name); });

// More than one step, both directions and so on have none.
TEST(Primitives, AreOfOneStepInOneDirection) {
  Diag diag;
  std::optional<Graph> g = frontend::import_yaml(
      "inputs:\n  - {name: x, type: \"f32[2, 1, 3]\"}\n  - {name: w, type: \"f32[1, 16, 3]\"}\n"
      "  - {name: r, type: \"f32[1, 16, 4]\"}\noutputs: [y]\n"
      "nodes:\n  - {name: n, op: lstm, inputs: [x, w, r], outputs: [y]}\n",
      "g.yaml", ".", diag);
  ASSERT_TRUE(g) << diag.to_string();
  EXPECT_FALSE(expand(*g, *g->find_node("n"), diag));
}

}  // namespace
}  // namespace cs::graph
