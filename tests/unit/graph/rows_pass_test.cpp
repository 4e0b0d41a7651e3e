// The pass rows: which operators become one kernel of whole rows, and which do not.
#include <gmock/gmock.h>

#include "compiler/frontend/frontend.h"
#include "compiler/graph/graph_yaml.h"
#include "compiler/passes/passes.h"

namespace cs::passes {
namespace {

using graph::Graph;
using ::testing::ElementsAre;

// The nodes of kernels dtg-rows, after the passes up to it.
std::vector<std::string> rows_of(const std::string& text, Policy policy) {
  Diag diag;
  const std::optional<Machine> machine = load_machine("wse2", diag);
  std::optional<Graph> g = frontend::import_yaml(text, "g.yaml", ".", diag);
  EXPECT_TRUE(machine && g) << diag.to_string();
  PassContext context{*machine, policy, {}, diag, {}};
  EXPECT_TRUE(decompose_compounds(*g, context) && choose_origins(*g, context) && fuse_rows(*g, context) &&
              graph::verify(*g, diag))
      << diag.to_string();
  std::vector<std::string> list;
  for (graph::NodeId id : g->topological()) {
    if (g->node(id).assignment.kernel.name() == "dtg-rows") list.push_back(g->node(id).name);
  }
  return list;
}

std::string graph_text(const std::string& nodes, const std::string& outputs = "[y]") {
  return "inputs:\n  - {name: x, type: \"f32[4, 8]\"}\n  - {name: z, type: \"f32[4, 8]\"}\n"
         "constants:\n  - {name: mask, type: \"f32[4, 1]\", value: [1, 2, 3, 4]}\n"
         "  - {name: half, type: \"f32[1]\", value: [0.5]}\nnodes:\n" +
         nodes + "outputs: " + outputs + "\n";
}

TEST(RowKernels, ADecomposedCompoundIsOneKernelWhereTheLibraryHasNoneOrGeneratesAnyway) {
  const std::string text = "  - {name: y, op: softmax, inputs: [x]}\n";
  EXPECT_THAT(rows_of(graph_text(text), Policy::aggressive),
              ElementsAre("y_reduce_max", "y_sub", "y_exp", "y_reduce_sum", "y_div"));
  EXPECT_TRUE(rows_of(graph_text(text), Policy::medium).empty());
  const std::string norm = graph_text("  - {name: y, op: mean_variance_norm, inputs: [x], attrs: {axes: [1]}}\n");
  EXPECT_EQ(rows_of(norm, Policy::medium).size(), 7U);
  EXPECT_TRUE(rows_of(norm, Policy::disabled).empty());
}

const char* const kMean = "  - {name: m, op: reduce_mean, inputs: [a], attrs: {axes: [1], keepdims: 1}}\n";

// What comes before joins if nobody else needs it, what comes after if it needs no other stream.
TEST(RowKernels, OperatorsBeforeAndBehindJoin) {
  EXPECT_THAT(rows_of(graph_text(std::string("  - {name: a, op: mul, inputs: [x, half]}\n") + kMean +
                                 "  - {name: d, op: sub, inputs: [a, m]}\n"
                                 "  - {name: y, op: tanh, inputs: [d]}\n"),
                      Policy::medium),
              ElementsAre("a", "m", "d", "y"));
  EXPECT_THAT(rows_of(graph_text(std::string("  - {name: a, op: mul, inputs: [x, half]}\n") + kMean +
                                     "  - {name: d, op: sub, inputs: [a, m]}\n"
                                     "  - {name: y, op: add, inputs: [d, z]}\n",
                                 "[y, a]"),
                      Policy::medium),
              ElementsAre("m", "d"));
}

// Constants that differ from row to row, and functions that need a loop of scalars, stay outside.
TEST(RowKernels, WhatAPeCannotDoForEveryRowStaysOutside) {
  EXPECT_THAT(rows_of(graph_text(std::string("  - {name: a, op: mul, inputs: [x, mask]}\n") + kMean +
                                 "  - {name: d, op: sub, inputs: [a, m]}\n"
                                 "  - {name: y, op: sin, inputs: [d]}\n"),
                      Policy::medium),
              ElementsAre("m", "d"));
}

// A sum whose result leaves is no row.
TEST(RowKernels, AReductionAloneIsNone) {
  EXPECT_TRUE(rows_of(graph_text("  - {name: a, op: abs, inputs: [x]}\n"
                                 "  - {name: y, op: reduce_sum, inputs: [a], attrs: {axes: [1]}}\n"),
                      Policy::medium)
                  .empty());
}

}  // namespace
}  // namespace cs::passes
