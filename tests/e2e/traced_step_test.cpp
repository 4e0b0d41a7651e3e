// A step of training that is traced in C++: against PyTorch, against the tools with its text, against
// Python's trace.
#include <gmock/gmock.h>

#include <cmath>

#include "compiler/frontend/frontend.h"
#include "runtime/host/npz.h"
#include "tests/e2e/run_tool.h"
#include "tools/api/trace/trace.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kBatch = 16, kPixels = 64;

std::vector<NamedArray> arrays_of(const std::string& file) {
  Diag diag;
  auto arrays = read_npz(file, diag);
  EXPECT_TRUE(arrays) << diag.to_string();
  return arrays.value_or(std::vector<NamedArray>{});
}

const ops::Tensor& tensor_of(const std::vector<NamedArray>& arrays, const std::string& name) {
  const NamedArray* found = find_array(arrays, name);
  if (found == nullptr) throw std::runtime_error("there is no array " + name);
  return found->tensor;
}

// Slice `step` of an array [steps, ...] as a tensor of this type.
ops::Tensor slice(const ops::Tensor& all, int64_t step, const ops::TensorType& type) {
  ops::Tensor t(type);
  for (int64_t i = 0; i < t.elements(); ++i) t.set(i, all.get(step * t.elements() + i));
  return t;
}

class TracedStep : public Scratch {
 protected:
  static std::vector<NamedArray> arrays(const std::string& name) {
    return arrays_of(kSource + "/tests/training/mlp." + name + ".npz");
  }
  TracedStep() : data_(arrays("data")) {
    const auto start = arrays("start");
    for (const char* name : {"layer0_w", "layer0_b", "classifier_w", "classifier_b"})
      weights_.emplace_back(tensor_of(start, name), name);
  }

  // The perceptron of tests/training/mlp.yaml.
  auto training(const Backend& on) {
    const Optimizer adamw("AdamW", weights_, "{learning_rate: 0.003, weight_decay_rate: 0.01}");
    return trace(
        [this, adamw](const Tensor& x, const Tensor& target) {
          const Attrs none = {};
          const Tensor hidden = relu(op("gemm", {x, weights_[0], weights_[1]}, none));
          const Tensor logits = op("gemm", {hidden, weights_[2], weights_[3]}, none);
          Tensor loss = cs::loss("CrossEntropyLoss", {logits, target});
          loss.backward();
          adamw.step();
          adamw.zero_grad();
          return loss;
        },
        {.name = "mlp", .inputs = {"x", "target"}, .backend = on});
  }
  ops::Tensor images(int64_t step) const {
    return slice(tensor_of(data_, "x"), step, {DataType::f32, {kBatch, kPixels}});
  }
  ops::Tensor labels(int64_t step) const {
    return slice(tensor_of(data_, "target"), step, {DataType::i64, {kBatch}});
  }

  std::vector<NamedArray> data_;
  std::vector<Weight> weights_;
};

TEST_F(TracedStep, FiveStepsAreThoseOfPyTorch) {
  const Backend wafer = backend("wse2");
  auto step = training(wafer);
  const auto expected = arrays("expected");
  for (int64_t k = 0; k < 5; ++k) {
    const double want = tensor_of(expected, "loss").get(k);
    EXPECT_NEAR(step(images(k), labels(k)).item(), want, 1e-3 * std::abs(want)) << k;
  }
  for (const Weight& w : weights_) {
    const ops::Tensor& want = tensor_of(expected, "weights.5." + w.name());
    double difference = 0, norm = 0;
    for (int64_t i = 0; i < want.elements(); ++i) {
      difference += std::pow(w.value().get(i) - want.get(i), 2);
      norm += std::pow(want.get(i), 2);
    }
    EXPECT_LE(std::sqrt(difference), 1e-4 * std::sqrt(norm)) << w.name();
  }
  EXPECT_EQ(step.traces(), 1);
  EXPECT_EQ(wafer.statistics().programs, 1);
}

// The tools with the text of the step give the same bits as its calls.
TEST_F(TracedStep, TheToolsGiveTheSameBitsWithItsText) {
  auto step = training(backend("wse3"));
  std::vector<double> losses;
  for (int64_t k = 0; k < 3; ++k) losses.push_back(step(images(k), labels(k)).item());
  std::vector<ops::Tensor> trained;
  for (Weight& w : weights_) {
    trained.push_back(w.value());
    w.store(tensor_of(arrays("start"), w.name()));
  }
  const graph::GraphText text = step.text();  // with the first weights again
  write("step.yaml", text.yaml);
  write("weights.bin", std::string(text.weights.begin(), text.weights.end()));

  ChildResult r = run("cs-compile", {path("step.yaml"), "-m", "wse3", "--no-baselines", "--no-advice",
                                     "--host-ops", "forbid", "-o", path("step.csp")});
  ASSERT_EQ(r.exit_code, 0) << r.out << r.err;
  r = run("cs-sim", {path("step.csp"), "--data", kSource + "/tests/training/mlp.data.npz", "--iterations",
                     "3", "--outputs", path("out.npz"), "--state-out", path("state.npz"), "-q"});
  ASSERT_EQ(r.exit_code, 0) << r.out << r.err;
  const auto outputs = arrays_of(path("out.npz")), states = arrays_of(path("state.npz"));
  ASSERT_EQ(tensor_of(outputs, "cross_entropy_loss").elements(), 3);
  for (int64_t k = 0; k < 3; ++k)
    EXPECT_EQ(tensor_of(outputs, "cross_entropy_loss").get(k), losses[size_t(k)]) << k;
  for (size_t i = 0; i < weights_.size(); ++i)
    EXPECT_EQ(tensor_of(states, weights_[i].name()).bytes, trained[i].bytes) << weights_[i].name();
}

// What `if` and `repeat` in a graph's text become is what a traced function with the same branch and loop is.
TEST_F(TracedStep, BranchesAndLoopsOfATextAreThoseOfATrace) {
  write("loop.yaml", R"(graph: step
values: {deep: true, layers: 2}
inputs:
  - {name: x, type: "f32[1, 8]"}
nodes:
  - if: deep
    then: [{name: begin, op: tanh, inputs: [x]}]
    else: [{name: begin, op: sigmoid, inputs: [x]}]
  - repeat: layers
    next: {begin: layer}
    nodes: [{name: layer, op: relu, inputs: [begin]}]
outputs: [layer]
)");
  const ChildResult r = run("cs-compile", {path("loop.yaml"), "-m", "small", "--dim", "layers=3", "--explain",
                                           "trace", "--no-baselines", "--no-advice", "-o", path("loop.csp")});
  ASSERT_EQ(r.exit_code, 0) << r.out << r.err;
  EXPECT_THAT(r.out,
              HasSubstr("line 6: if deep is true: 1 node\n  line 9: repeat layers: 3 copies: 3 nodes\n"));
  const ChildResult emitted =
      run("cs-compile", {path("loop.yaml"), "--dim", "layers=3", "--emit", "graph", "-q"});
  const Backend wafer = backend("small");
  auto step = trace(
      [](const Tensor& x) {
        Tensor y = tanh(x);
        for (int k = 0; k < 3; ++k) y = relu(y);
        return y;
      },
      {.inputs = {"x"}, .backend = wafer});
  const Tensor ones({1, 8}, std::vector<float>(8, 1));
  step(ones);
  const auto ops = [](const std::string& text) {
    std::string found;
    for (size_t at = 0; (at = text.find("op: ", at)) != std::string::npos; at += 4)
      found += text.substr(at + 4, text.find(',', at) - at - 4) + " ";
    return found;
  };
  EXPECT_EQ(ops(emitted.out), "tanh relu relu relu ");
  EXPECT_EQ(ops(step.text().yaml), ops(emitted.out));
  // Without SystemC it takes as many cycles as with it.
  write("traced.yaml", step.text().yaml);
  const ChildResult made = run("cs-compile", {path("traced.yaml"), "-m", "small", "--no-baselines",
                                              "--no-advice", "-q", "-o", path("traced.csp")});
  ASSERT_EQ(made.exit_code, 0) << made.out << made.err;
  Diag diag;
  ASSERT_TRUE(write_npz(path("x.npz"), {{"x", ones.value()}}, diag));
  const ChildResult simulated = run("cs-sim", {path("traced.csp"), "--inputs", path("x.npz"), "--json"});
  EXPECT_THAT(simulated.out, HasSubstr("\n \"cycles\": " + std::to_string(wafer.statistics().cycles) + ","));
}

TEST_F(TracedStep, WeightsThatTheHostStoresGoToTheWafer) {
  auto step = training(backend("small"));
  const double first = step(images(0), labels(0)).item();
  EXPECT_NE(step(images(0), labels(0)).item(), first);
  for (Weight& w : weights_) w.store(tensor_of(arrays("start"), w.name()));
  EXPECT_EQ(step(images(0), labels(0)).item(), first);
}

TEST_F(TracedStep, GradientsAloneAreLeftInTheWeights) {
  auto step = trace(
      [this](const Tensor& x, const Tensor& target) {
        Tensor loss = cs::loss("mse_loss", {linear(x, weights_[0]), target});
        loss.backward();
        return loss;
      },
      {.backend = backend("small")});
  weights_[0] = Weight(Tensor({2, 2}, {1, 2, 3, 4}).value(), "w");
  const Tensor x({1, 2}, {1, 1}), y({1, 2}, {0, 0});
  EXPECT_EQ(step(x, y).item(), (3 * 3 + 7 * 7) / 2.0);
  ASSERT_TRUE(weights_[0].gradient().has_value());
  EXPECT_EQ(weights_[0].gradient()->to_floats(), (std::vector<float>{3, 3, 7, 7}));
}

// Graph of a text without the lines of the program that made it.
std::string graph_of(const std::string& file) {
  Diag diag;
  auto g = frontend::load_model(file, {}, diag);
  EXPECT_TRUE(g.has_value()) << diag.to_string();
  if (!g) return "";
  for (const graph::NodeId id : g->nodes()) g->node(id).where.clear();
  return graph::graph_text(*g, "weights.bin").yaml;
}

constexpr const char* kInPython = R"(import sys
import numpy as np
import wafersmith as ws
from wafersmith.graph_text import GraphText

model = ws.nn.Sequential(ws.nn.Linear(4, 8), ws.nn.ReLU(), ws.nn.Linear(8, 3))
compiled = ws.compile(model, ws.backend("small"))
loss_fn, optimizer = ws.losses.CrossEntropyLoss(), ws.optim.AdamW(model.parameters(), lr=1e-3)

@ws.trace
def training_step(x, y):
  logits = compiled(x)
  for _ in range(2):
    logits = ws.tanh(logits * 2.0)
  loss = loss_fn(logits, y)
  loss.backward()
  optimizer.step()
  optimizer.zero_grad()
  return loss

training_step(np.ones((2, 4), np.float32), np.zeros(2, np.int64))
for p in model.parameters():
  p.store(np.zeros(p.shape, np.float32))
text = GraphText(training_step.step.tracer.graph)
open(sys.argv[1] + "/step.yaml", "w").write(text.yaml)
open(sys.argv[1] + "/weights.bin", "wb").write(text.weights)
)";

TEST_F(TracedStep, PythonAndCppTraceTheSameGraph) {
  if (!std::filesystem::exists(kBin + "cs_python")) GTEST_SKIP() << "built without Python";
  std::filesystem::create_directories(path("python"));
  const ChildResult r = run("cs_python", {write("step.py", kInPython), path("python")});
  ASSERT_EQ(r.exit_code, 0) << r.out << r.err;

  const CompiledModel model = compile(Sequential(Linear(4, 8), ReLU(), Linear(8, 3)), backend("small"));
  const Optimizer adamw("AdamW", model.weights(),
                        "{learning_rate: 0.001, betas: [0.9, 0.999], eps: 1.0e-8, weight_decay: 0.01}");
  auto step = trace(
      [&](const Tensor& x, const Tensor& y) {
        Tensor logits = model(x);
        for (int k = 0; k < 2; ++k) logits = tanh(logits * 2.0);
        Tensor loss = cs::loss("CrossEntropyLoss", {logits, y},
                               {.attrs = {{"ignore_index", int64_t(-100)}, {"label_smoothing", 0.0}}});
        loss.backward();
        adamw.step();
        adamw.zero_grad();
        return loss;
      },
      {.name = "training_step", .inputs = {"x", "y"}});
  step(Tensor({2, 4}, std::vector<float>(8, 1)), ops::Tensor({DataType::i64, {2}}));
  for (Weight w : model.weights()) w.store(ops::Tensor(w.type()));
  const graph::GraphText text = step.text();
  write("cpp.yaml", text.yaml);
  write("weights.bin", std::string(text.weights.begin(), text.weights.end()));
  EXPECT_EQ(graph_of(path("cpp.yaml")), graph_of(path("python/step.yaml")));
  EXPECT_THAT(graph_of(path("cpp.yaml")), HasSubstr("tanh_1"));
}

}  // namespace
}  // namespace cs::e2e
