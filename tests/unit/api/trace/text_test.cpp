// What is traced and what is written are one graph.
#include <gmock/gmock.h>

#include <filesystem>

#include "compiler/frontend/frontend.h"
#include "runtime/support/files.h"
#include "tests/unit/api/trace/fixture.h"

namespace cs {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// The graph of a text, without the lines that it came from.
std::string graph_of(const std::string& yaml, const std::vector<uint8_t>& weights) {
  Diag diag;
  const std::string folder = ::testing::TempDir() + "cs_trace_text";
  std::filesystem::create_directories(folder);
  EXPECT_TRUE(write_file_atomic(folder + "/weights.bin", std::string(weights.begin(), weights.end()), diag));
  auto g = frontend::import_yaml(yaml, "graph.yaml", folder, diag);
  EXPECT_TRUE(g.has_value()) << diag.to_string();
  if (!g) return "";
  for (const graph::NodeId id : g->nodes()) g->node(id).where.clear();
  return graph::graph_text(*g, "weights.bin").yaml;
}

constexpr const char* kWritten = R"(graph: step
weights: weights.bin
inputs:
  - {name: x, type: "f32[2, 4]"}
  - {name: targets, type: "i64[2]"}
constants:
  - {name: 0.weight, type: "f32[8, 4]", offset: 0}
  - {name: 0.bias, type: "f32[8]", value: [0, 1, 2, 3, 4, 5, 6, 7]}
  - {name: 2.weight, type: "f32[3, 8]", offset: 128}
nodes:
  - {name: gemm, op: gemm, inputs: [x, 0.weight, 0.bias], attrs: {trans_b: 1}}
  - {name: relu, op: relu, inputs: [gemm]}
  - {name: gemm_1, op: gemm, inputs: [relu, 2.weight], attrs: {trans_b: 1}}
  - {name: cross_entropy_loss, op: cross_entropy_loss, inputs: [gemm_1, targets], attrs: {reduction: sum}}
outputs: [cross_entropy_loss]
training: {loss: cross_entropy_loss, parameters: [0.weight, 0.bias, 2.weight]}
optimizer: {optimizer_type: AdamW, learning_rate: 0.003, weight_decay_rate: 0.01}
)";

class TextTest : public TraceTest {
 protected:
  TextTest() : TraceTest({}) {}

  static ops::Tensor counting(ops::Shape shape) {
    ops::Tensor t(ops::TensorType{DataType::f32, std::move(shape)});
    for (int64_t i = 0; i < t.elements(); ++i) t.set(i, double(i));
    return t;
  }
};

TEST_F(TextTest, BothFormsOfATrainingStepAreOneGraph) {
  Linear first(4, 8), second(8, 3, false);
  const auto begin = [&] {
    for (Weight w : {first.weight, first.bias[0], second.weight}) w.store(counting(w.shape()));
  };
  const CompiledModel model = compile(Sequential(first, ReLU(), second), wafer);
  const Optimizer adamw("adamw", model.weights(), "{learning_rate: 0.003, weight_decay_rate: 0.01}");
  auto step = trace(
      [&](const Tensor& x, const Tensor& targets) {
        Tensor loss = cs::loss("CrossEntropyLoss", {model(x), targets}, {.reduction = "sum"});
        loss.backward();
        adamw.step();
        adamw.zero_grad();
        return loss;
      },
      {.inputs = {"x", "targets"}});
  step(Tensor({2, 4}, std::vector<float>(8)), ops::Tensor({DataType::i64, {2}}));
  begin();  // the text has the newest weights
  const graph::GraphText traced = step.text();
  const std::string written = graph_of(
      std::string(kWritten).replace(std::string(kWritten).find("AdamW"), 5, "adamw"), traced.weights);
  EXPECT_EQ(graph_of(traced.yaml, traced.weights), written);
  EXPECT_THAT(written, HasSubstr("states:"));
}

TEST_F(TextTest, LossesByEitherNameAndOnesOwn) {
  const auto named = [](const char* name) {
    return trace([name](const Tensor& x) { return cs::loss(name, {x, relu(x)}, {.use_autogen = true}); });
  };
  for (const char* name : {"MSELoss", "mse_loss"}) {
    auto step = named(name);
    step(row(-3));
    EXPECT_THAT(nodes(step), ::testing::ElementsAre("relu", "mse_loss"));
    EXPECT_THAT(step.text().yaml, HasSubstr("use_autogen: 1"));
  }
  EXPECT_THAT([&] { named("MSELos")(row()); },
              ThrowsMessage<TraceError>(
                  ::testing::AllOf(HasSubstr("there is no loss 'MSELos'"), HasSubstr("mse_loss"))));
  const Backend other = backend("small");
  const Loss twice =
      autogen_loss({.name = "Twice", .inputs = {"a", "b"}, .args = {{"k", 2}}, .expr = "k * (a - b)"});
  auto own = trace([&](const Tensor& x) { return cs::loss(twice, {x, relu(x)}, {.use_autogen = true}); });
  EXPECT_FLOAT_EQ(float(own(row(-3)).item()), -6);
  EXPECT_THAT(nodes(own), ::testing::ElementsAre("relu", "custom_loss"));
}

TEST_F(TextTest, OptimizersAreCheckedWhereTheyAreMade) {
  const std::vector<Weight> w = Linear(2, 2).weights();
  EXPECT_THAT(Optimizer("adam_step", w, "{learning_rate: 0.1}").recipe(), HasSubstr("optimizer_type: Adam"));
  EXPECT_THAT([&] { Optimizer("Adm", w, "{learning_rate: 0.1}"); },
              ThrowsMessage<TraceError>(HasSubstr("'Adm'")));
  EXPECT_THAT([&] { Optimizer("SGD", w, "{}"); }, ThrowsMessage<TraceError>(HasSubstr("learning_rate")));
  EXPECT_THAT([&] { Optimizer("SGD", w, "{learning_rate: 0.1, betas: [0.9, 0.9]}"); },
              ThrowsMessage<TraceError>(HasSubstr("betas")));
  EXPECT_THAT([&] { Optimizer("SGD", {}, "{learning_rate: 0.1}"); },
              ThrowsMessage<TraceError>(HasSubstr("weights")));
}

}  // namespace
}  // namespace cs
