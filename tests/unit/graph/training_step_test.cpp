// Steps of training as graphs: what becomes of a recipe in the text, by hand; states and batches in the text
// form.
#include <gmock/gmock.h>

#include "compiler/frontend/frontend.h"
#include "compiler/graph/batch.h"
#include "compiler/graph/sample.h"
#include "tests/unit/graph/interpret.h"

namespace cs::graph {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr const char* kForward =
    "graph: line\n"
    "inputs:\n  - {name: x, type: \"f32[1, 2]\", sample_dim: 0}\n"
    "constants:\n"
    "  - {name: w, type: \"f32[2, 2]\", value: [1, 2, 3, 4]}\n"
    "  - {name: scale, type: \"f32[]\", value: [0.5]}\n"
    "nodes:\n"
    "  - {name: y, op: gemm, inputs: [x, w]}\n"
    "  - {name: z, op: mul, inputs: [y, scale]}\n";

std::optional<Graph> read(const std::string& text, Diag& diag) {
  return frontend::import_yaml(text, "g.yaml", ".", diag);
}
std::string complaint(const std::string& rest) {
  Diag diag;
  EXPECT_FALSE(read(kForward + rest, diag)) << rest;
  return diag.to_string();
}

constexpr const char* kLoss =
    "  - {name: loss, op: reduce_mean, inputs: [z], attrs: {keepdims: 0}}\noutputs: [loss]\n";

TEST(TrainingStep, StatesGoFromInputsToOutputs) {
  Diag diag;
  const std::string text = std::string("graph: line\ninputs: [{name: x, type: \"f32[3, 2]\"}]\n") +
                           "constants: [{name: w, type: \"f32[2, 2]\", value: [1, 2, 3, 4]}]\n"
                           "nodes:\n  - {name: z, op: gemm, inputs: [x, w]}\n" +
                           kLoss +
                           "training: {loss: loss}\n"
                           "optimizer: {optimizer_type: AdamW, learning_rate: {scheduler: Linear, "
                           "initial_learning_rate: 1, end_learning_rate: 0, steps: 10}}\n";
  const auto g = read(text, diag);
  ASSERT_TRUE(g) << diag.to_string();
  std::vector<std::string> names, purposes;
  for (const State& s : g->states) names.push_back(s.name), purposes.push_back(s.purpose);
  EXPECT_THAT(names, ElementsAre("w", "w.exp_avg", "w.exp_avg_sq"));
  EXPECT_THAT(purposes, ElementsAre("weights", "optimizer", "optimizer"));
  EXPECT_EQ(g->states[0].initial->get(3), 4);
  EXPECT_EQ(g->states[1].initial->get(3), 0);
  ASSERT_EQ(g->scalars.size(), 2u);
  EXPECT_EQ(g->scalars[0].rate->value(5), 0.5);
  EXPECT_FALSE(g->scalars[1].rate);
  // The text of it reads back.
  const GraphText out = graph_text(*g, "g.bin");
  const auto doc = YamlDoc::parse_text(out.yaml, "back.yaml", diag);
  const auto back = graph_from_yaml(*doc, out.weights, diag);
  ASSERT_TRUE(back) << diag.to_string();
  EXPECT_EQ(graph_text(*back, "g.bin").yaml, out.yaml);
  EXPECT_EQ(back->states.size(), 3u);
  EXPECT_EQ(*back->scalars[0].rate, *g->scalars[0].rate);
}

TEST(TrainingStep, ABatchIsInTheShapes) {
  Diag diag;
  auto g = read(std::string(kForward) + "outputs: [z]\n", diag);
  ASSERT_TRUE(g) << diag.to_string();
  ASSERT_TRUE(make_batch(*g, 7, diag)) << diag.to_string();
  EXPECT_THAT(g->value(*g->find_value("x")).type.shape, ElementsAre(7, 2));
  EXPECT_THAT(g->value(*g->find_value("z")).type.shape, ElementsAre(7, 2));
  EXPECT_EQ(g->value(*g->find_value("z")).sample_dim, -1);
}

TEST(TrainingStep, SaysWhatItNeeds) {
  const std::string sum =
      "  - {name: loss, op: reduce_sum, inputs: [w], attrs: {keepdims: 0}}\noutputs: [z, loss]\n";
  EXPECT_THAT(complaint("outputs: [z]\noptimizer: {optimizer_type: SGD, learning_rate: 1}\n"),
              HasSubstr("no section 'training'"));
  EXPECT_THAT(
      complaint("outputs: [z]\ntraining: {loss: y}\noptimizer: {optimizer_type: SGD, learning_rate: 1}\n"),
      HasSubstr("input 'x' is for one sample"));
  EXPECT_THAT(complaint("outputs: [z]\ntraining: {loss: z, batch: 4}\n"
                        "optimizer: {optimizer_type: SGD, learning_rate: 1}\n"),
              HasSubstr("a loss is one number in floating point, 'z' is f32[4, 2]"));
  EXPECT_THAT(complaint("outputs: [z]\ntraining: {loss: z, parameters: [v]}\n"), HasSubstr("did you mean"));
  EXPECT_THAT(complaint("outputs: [z]\ntraining: {lss: z}\n"), HasSubstr("lss"));
  EXPECT_THAT(complaint(sum + "training: {loss: loss, batch: 2}\noptimizer: {optimizer_type: SGD}\n"),
              HasSubstr("training needs it: a number or a list of schedules"));
}

}  // namespace
}  // namespace cs::graph
