// Training on the wafer against PyTorch: tests/training/make_references.py made data, first weights and what
// comes of them.
#include <gmock/gmock.h>

#include <cmath>
#include <map>

#include <nlohmann/json.hpp>

#include "runtime/host/npz.h"
#include "tests/e2e/run_tool.h"
#include "tests/e2e/some_are_enough.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

std::vector<double> numbers(const std::vector<NamedArray>& arrays, const std::string& name) {
  const NamedArray* a = find_array(arrays, name);
  EXPECT_NE(a, nullptr) << name;
  return a != nullptr ? to_doubles(*a) : std::vector<double>{};
}

std::vector<NamedArray> arrays_of(const std::string& file) {
  Diag diag;
  const auto arrays = read_npz(file, diag);
  EXPECT_TRUE(arrays) << diag.to_string();
  return arrays.value_or(std::vector<NamedArray>{});
}

// |a - b| / |b| in the Euclidean norm.
double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0, norm = 0;
  EXPECT_EQ(a.size(), b.size());
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference) / std::max(std::sqrt(norm), 1e-30);
}

class Training : public Scratch {
 protected:
  static std::string file(const std::string& name) { return kSource + "/tests/training/" + name; }

  void compile(const std::string& model, std::vector<std::string> options = {}) const {
    options.insert(options.begin(),
                   {file(model + ".yaml"), "--no-baselines", "--no-advice", "-o", path("step.csp")});
    const ChildResult r = run("cs-compile", options);
    ASSERT_EQ(r.exit_code, 0) << r.out << r.err;
  }
  // So many steps from a file of states; what it prints.
  std::string train(const std::string& model, int steps, const std::string& from,
                    const std::string& to) const {
    const ChildResult r = run("cs-sim", {path("step.csp"), "--data", file(model + ".data.npz"),
                                         "--iterations", std::to_string(steps), "--state-in", from,
                                         "--state-out", to, "--outputs", path("out.npz"), "-q"});
    EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
    return r.out;
  }

  // Loss of every step within 1e-3 of float64; weights as near to float64 as asked, or four times as far as
  // PyTorch's own float32 is.
  void expect_as_pytorch(const std::string& model, int steps, double weights_within) const {
    const auto expected = arrays_of(file(model + ".expected.npz"));
    const std::vector<double> losses = numbers(arrays_of(path("out.npz")), "loss"),
                              want = numbers(expected, "loss");
    ASSERT_EQ(losses.size(), size_t(steps));
    for (size_t i = 0; i < losses.size(); ++i) EXPECT_NEAR(losses[i], want[i], 1e-3 * std::abs(want[i])) << i;
    expect_weights(model, steps, weights_within);
  }
  void expect_weights(const std::string& model, int steps, double weights_within) const {
    const auto expected = arrays_of(file(model + ".expected.npz")), states = arrays_of(path("state.npz"));
    const std::string prefix = "weights." + std::to_string(steps) + ".";
    int compared = 0;
    for (const NamedArray& w : expected) {
      if (!w.name.starts_with(prefix)) continue;
      const std::string name = w.name.substr(prefix.size());
      const double of_f32 = numbers(expected, "distance." + std::to_string(steps) + "." + name).at(0);
      EXPECT_LE(distance(numbers(states, name), to_doubles(w)), std::max(weights_within, 4 * of_f32)) << name;
      ++compared;
    }
    EXPECT_GT(compared, 0);
  }

  // Of the held-back images of digits, with weights of these names: the perceptron by hand.
  static double share_right(const std::vector<NamedArray>& weights, const std::string& prefix) {
    const auto w0 = numbers(weights, prefix + "layer0_w"), b0 = numbers(weights, prefix + "layer0_b"),
               w1 = numbers(weights, prefix + "classifier_w"), b1 = numbers(weights, prefix + "classifier_b");
    const auto expected = arrays_of(file("mlp.expected.npz"));
    const auto images = numbers(expected, "held_back"), labels = numbers(expected, "held_back_labels");
    size_t right = 0;
    for (size_t i = 0; i < labels.size(); ++i) {
      std::vector<double> h(b0), y(b1);
      for (size_t j = 0; j < h.size(); ++j) {
        for (size_t k = 0; k < 64; ++k) h[j] += images[64 * i + k] * w0[k * h.size() + j];
        for (size_t k = 0; k < y.size(); ++k) y[k] += std::max(0.0, h[j]) * w1[j * y.size() + k];
      }
      right += double(std::max_element(y.begin(), y.end()) - y.begin()) == labels[i];
    }
    return double(right) / double(labels.size());
  }
};

// A network each, so that each has the time that a test may take.
class TrainingOf : public Training, public ::testing::WithParamInterface<const char*> {};

TEST_P(TrainingOf, FiveStepsAreThoseOfPyTorch) {
  const std::string model = GetParam();
  compile(model);
  train(model, 5, file(model + ".start.npz"), path("state.npz"));
  expect_as_pytorch(model, 5, 1e-5);
}

INSTANTIATE_TEST_SUITE_P(Networks, TrainingOf, ::testing::Values("mlp", "lenet", "gpt"),
                         [](const auto& test) { return std::string(test.param); });

TEST_F(Training, APerceptronLearnsDigitsInTwoHundredSteps) {
  const int steps = kSomeAreEnough ? 5 : 200;
  compile("mlp");
  train("mlp", steps, file("mlp.start.npz"), path("state.npz"));
  expect_as_pytorch("mlp", steps, 1e-3);
  if (kSomeAreEnough) GTEST_SKIP() << "so few steps learn nothing yet";
  EXPECT_GT(share_right(arrays_of(path("state.npz")), ""), 0.9);
}

// Four batches of 4 samples make one update of 16, whose gradient is the mean of theirs.
TEST_F(Training, MicroBatchesAddUpToOneUpdate) {
  compile("mlp", {"--set", "train_input.micro_batch_size=4"});
  train("mlp", 20, file("mlp.start.npz"), path("state.npz"));
  const auto expected = arrays_of(file("mlp.expected.npz"));
  const std::vector<double> losses = numbers(arrays_of(path("out.npz")), "loss"),
                            want = numbers(expected, "loss");
  ASSERT_EQ(losses.size(), 20u);
  for (size_t i = 0; i < 5; ++i) {
    const double mean = (losses[4 * i] + losses[4 * i + 1] + losses[4 * i + 2] + losses[4 * i + 3]) / 4;
    EXPECT_NEAR(mean, want[i], 1e-3 * want[i]) << i;
  }
  expect_weights("mlp", 5, 1e-5);
  EXPECT_THAT(numbers(arrays_of(path("state.npz")), "layer0_b.gradient_sum"), ::testing::Each(0.0));
  const ChildResult r =
      run("cs-compile", {file("mlp.yaml"), "--set", "train_input.micro_batch_size=5", "-o", path("a.csp")});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("16 samples cannot be taken 5 at a time"));
}

// 16-bit floats, f32 master weights, a loss scale that adapts itself: as many images right as in float64.
TEST_F(Training, MixedPrecisionLearnsAsWell) {
  compile("mlp", {"--set", "model.mixed_precision=true", "--set", "optimizer.loss_scaling_factor=dynamic"});
  const int steps = kSomeAreEnough ? 5 : 200;
  train("mlp", steps, file("mlp.start.npz"), path("state.npz"));
  const auto states = arrays_of(path("state.npz"));
  EXPECT_EQ(numbers(states, "good_steps"), std::vector<double>{double(steps)});
  if (kSomeAreEnough) GTEST_SKIP() << "so few steps learn nothing yet";
  const auto expected = arrays_of(file("mlp.expected.npz"));
  EXPECT_NEAR(share_right(states, ""), share_right(expected, "weights.200."), 0.01);
}

// A gradient that no f16 can hold changes nothing but the scale.
TEST_F(Training, AnOverflowHalvesTheScaleAndNothingElse) {
  compile("mlp", {"--set", "model.mixed_precision=true", "--set", "optimizer.loss_scaling_factor=dynamic"});
  std::vector<NamedArray> start = arrays_of(file("mlp.start.npz"));
  for (NamedArray& w : start)
    if (w.name == "classifier_w")
      for (int64_t i = 0; i < w.tensor.elements(); ++i) w.tensor.set(i, 1e4 * w.tensor.get(i));
  Diag diag;
  ASSERT_TRUE(write_npz(path("huge.npz"), start, diag)) << diag.to_string();
  train("mlp", 1, path("huge.npz"), path("state.npz"));
  const auto states = arrays_of(path("state.npz"));
  EXPECT_EQ(numbers(states, "loss_scale"), std::vector<double>{16384});
  EXPECT_EQ(numbers(states, "good_steps"), std::vector<double>{0});
  for (const NamedArray& w : start) EXPECT_EQ(numbers(states, w.name), to_doubles(w)) << w.name;
}

TEST_F(Training, GoesOnFromACheckpointToTheBit) {
  compile("mlp", {"-m", "wse3"});
  train("mlp", 5, file("mlp.start.npz"), path("five.npz"));
  const std::string losses = slurp(path("out.npz"));
  train("mlp", 3, file("mlp.start.npz"), path("three.npz"));
  train("mlp", 2, path("three.npz"), path("resumed.npz"));
  EXPECT_EQ(slurp(path("five.npz")), slurp(path("resumed.npz")));
  EXPECT_EQ(numbers(arrays_of(path("resumed.npz")), "iteration"), std::vector<double>{5});
  const auto all = numbers(arrays_of(path("five.npz")), "layer0_w.exp_avg");
  EXPECT_EQ(all.size(), 64u * 32);
}

// The kernel that updates a parameter keeps it, and what the optimizer knows of it; only data, target, the
// learning rate and the step's number go in, only the loss comes out.
TEST_F(Training, OnlyDataScalarsAndTheLossCrossTheEdge) {
  compile("mlp");
  const ChildResult r = run("cs-objdump", {path("step.csp"), "--text"});
  ASSERT_EQ(r.exit_code, 0);
  size_t sends = 0, receives = 0;
  for (size_t at = 0; (at = r.out.find("{kind: send,", at)) != std::string::npos; ++at) ++sends;
  for (size_t at = 0; (at = r.out.find("{kind: receive,", at)) != std::string::npos; ++at) ++receives;
  for (const char* tensor :
       {"tensor: x", "tensor: target", "tensor: learning_rate", "tensor: step", "tensor: loss"})
    EXPECT_THAT(r.out, HasSubstr(tensor));
  EXPECT_EQ(receives, 1u);
  EXPECT_THAT(r.out, HasSubstr("name: layer0_w, purpose: weights, type: f32, shape: [64, 32], parts: [{"));
  EXPECT_EQ(r.out.find("layer0_w.next"), std::string::npos);
}

// Of a step of 16 pictures with 64 pixels: 4 bytes each, 16 labels and three numbers cross the edge. 64 x 32 + 32 +
// 32 x 10 + 10 = 2,410 weights have two numbers more each for the optimizer.
TEST_F(Training, AReportSaysWhatAStepConsistsOf) {
  compile("mlp");
  const ChildResult r = run("cs-sim", {path("step.csp"), "--data", file("mlp.data.npz"), "--iterations", "4",
                                       "--report", path("report"), "-q"});
  ASSERT_EQ(r.exit_code, 0) << r.out << r.err;
  const auto stats = nlohmann::json::parse(slurp(path("report") + "/stats.json"));
  const auto& training = stats.at("training");
  std::map<std::string, double> bytes;
  for (const auto& row : training.at("edge"))
    bytes[row.at("what").get<std::string>() + " " + row.at("tensor").get<std::string>()] = row.at("bytes_per_step");
  EXPECT_EQ(bytes, (std::map<std::string, double>{{"data x", 4096},
                                                  {"data target", 64},
                                                  {"scalar learning_rate", 4},
                                                  {"scalar step", 4},
                                                  {"output loss", 4}}));
  EXPECT_EQ(training.at("edge_bytes_per_step"), 4172);
  EXPECT_EQ(training.at("memory_by_purpose").at("weights"), 4 * 2410);
  EXPECT_EQ(training.at("memory_by_purpose").at("optimizer"), 8 * 2410);
  double cycles = 0;
  for (const auto& phase : training.at("phases")) {
    EXPECT_GT(phase.at("kernels"), 0) << phase;
    EXPECT_GT(phase.at("cycles"), 0) << phase;
    cycles += phase.at("cycles").get<double>();
  }
  EXPECT_EQ(training.at("phases").size(), 3u);
  EXPECT_LE(cycles, 1.01 * double(stats.at("interval_cycles")));
}

// A parabola by hand: loss = sum((w x - t)^2), dw = 2 x (w x - t), w' = w - 0.1 dw.
TEST_F(Training, AGraphSaysWhatTrainsIt) {
  const std::string graph =
      write("g.yaml",
            "graph: parabola\n"
            "inputs: [{name: x, type: 'f32[2]'}, {name: t, type: 'f32[2]'}]\n"
            "constants: [{name: w, type: 'f32[2]', value: [1, 2]}]\n"
            "nodes:\n"
            "  - {name: p, op: mul, inputs: [w, x]}\n"
            "  - {name: d, op: sub, inputs: [p, t]}\n"
            "  - {name: loss, op: reduce_sum_square, inputs: [d], attrs: {keepdims: 0}}\n"
            "outputs: [loss]\n"
            "training: {loss: loss, gradients: [x]}\n"
            "optimizer: {optimizer_type: SGD, learning_rate: 0.1}\n");
  ASSERT_EQ(run("cs-compile", {graph, "-o", path("a.csp"), "--no-advice"}).exit_code, 0);
  std::vector<NamedArray> data;
  for (const auto& [name, values] : {std::pair{"x", std::vector{1.0, 2.0}}, {"t", std::vector{0.0, 1.0}}}) {
    ops::Tensor t({DataType::f32, {1, 2}});
    for (size_t i = 0; i < 2; ++i) t.set(int64_t(i), values[i]);
    data.push_back({name, std::move(t)});
  }
  Diag diag;
  ASSERT_TRUE(write_npz(path("data.npz"), data, diag));
  const ChildResult r = run("cs-sim", {path("a.csp"), "--data", path("data.npz"), "--iterations", "2",
                                       "--state-out", path("w.npz"), "--outputs", path("out.npz")});
  ASSERT_EQ(r.exit_code, 0) << r.out << r.err;
  // Step 1: d = (1, 3), dw = (2, 12), dx = 2 w d = (2, 12). w = (0.8, 0.8).
  // Step 2: d = (0.8, 0.6), dw = (1.6, 2.4), dx = (1.28, 0.96). w = (0.64, 0.56).
  const auto near = [](std::vector<double> v) {
    return ::testing::Pointwise(::testing::FloatNear(1e-5F), v);
  };
  const auto out = arrays_of(path("out.npz"));
  EXPECT_THAT(numbers(out, "loss"), near({10, 1}));
  EXPECT_THAT(numbers(out, "gradient.x"), near({2, 12, 1.28, 0.96}));
  EXPECT_THAT(numbers(arrays_of(path("w.npz")), "w"), near({0.64, 0.56}));
}

// Statistics of the batch, by hand. Step 1: x = (1, 3), mean 2, variance 1, normalized (-1, 1), y = (-1.5, 2.5);
// the loss is y . (1, 3) = 6, the gradients of scale and bias 2 and 4. The running ones become 0.9 * 4 + 0.1 * 2 =
// 3.8 and, with the variance of a sample, 0.9 * 3 + 0.1 * 2 = 2.9. Step 2: x = (2, 8), mean 5, variance 9, y =
// 1.8 * (-1, 1) + 0.1, loss 4; 0.9 * 3.8 + 0.1 * 5 = 3.92 and 0.9 * 2.9 + 0.1 * 18 = 4.41.
TEST_F(Training, BatchNormTakesTheStatisticsOfTheBatch) {
  const std::string graph =
      write("g.yaml",
            "graph: norm\n"
            "inputs: [{name: x, type: 'f32[2, 1]'}]\n"
            "constants:\n"
            "  - {name: scale, type: 'f32[1]', value: [2]}\n"
            "  - {name: bias, type: 'f32[1]', value: [0.5]}\n"
            "  - {name: mean, type: 'f32[1]', value: [4]}\n"
            "  - {name: variance, type: 'f32[1]', value: [3]}\n"
            "  - {name: c, type: 'f32[2, 1]', value: [1, 3]}\n"
            "nodes:\n"
            "  - {name: y, op: batch_norm, inputs: [x, scale, bias, mean, variance],\n"
            "     attrs: {training_mode: 1, unbiased: 1, epsilon: 0.0}}\n"
            "  - {name: p, op: mul, inputs: [y, c]}\n"
            "  - {name: loss, op: reduce_sum, inputs: [p], attrs: {keepdims: 0}}\n"
            "outputs: [loss]\n"
            "training: {loss: loss, parameters: [scale, bias], outputs: [loss, y]}\n"
            "optimizer: {optimizer_type: SGD, learning_rate: 0.1}\n");
  const ChildResult compiled = run("cs-compile", {graph, "-o", path("a.csp"), "--no-advice"});
  ASSERT_EQ(compiled.exit_code, 0) << compiled.err;
  ops::Tensor x({DataType::f32, {2, 2, 1}});
  for (const auto& [i, v] : {std::pair{0, 1.0}, {1, 3.0}, {2, 2.0}, {3, 8.0}}) x.set(i, v);
  Diag diag;
  ASSERT_TRUE(write_npz(path("data.npz"), {{"x", std::move(x)}}, diag));
  const ChildResult r = run("cs-sim", {path("a.csp"), "--data", path("data.npz"), "--state-out",
                                       path("w.npz"), "--outputs", path("out.npz")});
  ASSERT_EQ(r.exit_code, 0) << r.out << r.err;
  const auto near = [](std::vector<double> v) {
    return ::testing::Pointwise(::testing::FloatNear(1e-5F), v);
  };
  const auto out = arrays_of(path("out.npz")), states = arrays_of(path("w.npz"));
  EXPECT_THAT(numbers(out, "loss"), near({6, 4}));
  EXPECT_THAT(numbers(out, "y"), near({-1.5, 2.5, -1.7, 1.9}));
  EXPECT_THAT(numbers(states, "scale"), near({1.6}));
  EXPECT_THAT(numbers(states, "bias"), near({-0.3}));
  EXPECT_THAT(numbers(states, "mean"), near({3.92}));
  EXPECT_THAT(numbers(states, "variance"), near({4.41}));
  // They stay on the wafer: one stream goes in, two come back.
  const ChildResult text = run("cs-objdump", {path("a.csp"), "--text"});
  EXPECT_EQ(text.out.find("tensor: mean"), std::string::npos);
  EXPECT_EQ(text.out.find("tensor: variance"), std::string::npos);
}

// The same elements go on the wafer and on the host, step by step, and in a run that is resumed.
TEST_F(Training, DropoutDropsWhatTheHostDrops) {
  const std::vector<std::string> rate{"--set", "model.dropout=0.25"};
  std::vector<std::string> on_host = rate;
  on_host.insert(on_host.end(), {"--autogen-policy", "disabled"});
  compile("mlp", on_host);
  train("mlp", 3, file("mlp.start.npz"), path("host.npz"));
  const auto host = numbers(arrays_of(path("out.npz")), "loss");
  std::vector<std::string> on_wafer = rate;
  on_wafer.insert(on_wafer.end(), {"--host-ops", "forbid"});
  compile("mlp", on_wafer);
  train("mlp", 3, file("mlp.start.npz"), path("three.npz"));
  const auto wafer = numbers(arrays_of(path("out.npz")), "loss");
  ASSERT_EQ(wafer.size(), 3u);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(wafer[i], host[i], 1e-5 * host[i]) << i;
  for (const char* w : {"layer0_w", "classifier_w"})
    EXPECT_LT(distance(numbers(arrays_of(path("three.npz")), w), numbers(arrays_of(path("host.npz")), w)), 1e-6) << w;
  // Without dropout the losses are others.
  const auto expected = numbers(arrays_of(file("mlp.expected.npz")), "loss");
  EXPECT_GT(std::abs(wafer[0] - expected[0]), 1e-3);
  train("mlp", 1, file("mlp.start.npz"), path("one.npz"));
  train("mlp", 2, path("one.npz"), path("resumed.npz"));
  EXPECT_EQ(slurp(path("resumed.npz")), slurp(path("three.npz")));
}

// Copies of the network for shares of a batch compute what one network does.
TEST_F(Training, CopiesForSharesOfABatchAreOneStep) {
  compile("mlp", {"--set", "runconfig.batch_copies=4"});
  train("mlp", 5, file("mlp.start.npz"), path("state.npz"));
  expect_as_pytorch("mlp", 5, 1e-5);
  const ChildResult r = run("cs-objdump", {path("step.csp"), "--text"});
  EXPECT_THAT(r.out, HasSubstr("layer0_copy3"));
  const ChildResult uneven =
      run("cs-compile", {file("mlp.yaml"), "--set", "runconfig.batch_copies=3", "-o", path("a.csp")});
  EXPECT_EQ(uneven.exit_code, 1);
  EXPECT_THAT(uneven.err, HasSubstr("16 samples have no 3 equal shares"));
}

TEST_F(Training, SaysWhatIsMissing) {
  const std::string model = file("mlp.yaml");
  const auto refused = [&](std::vector<std::string> set, const std::string& why) {
    std::vector<std::string> args{model, "-o", path("a.csp")};
    for (const std::string& s : set) args.insert(args.end(), {"--set", s});
    const ChildResult r = run("cs-compile", args);
    EXPECT_EQ(r.exit_code, 1) << why;
    EXPECT_THAT(r.err, HasSubstr(why));
  };
  refused({"runconfig.mode=tain"}, "unknown mode 'tain'");
  refused({"optimizer.learning_rate="}, "training needs it");
  compile("mlp");
  const auto fails = [&](std::vector<std::string> args, const std::string& why) {
    args.insert(args.begin(), path("step.csp"));
    const ChildResult r = run("cs-sim", args);
    EXPECT_EQ(r.exit_code, 1) << why;
    EXPECT_THAT(r.err, HasSubstr(why));
  };
  const std::string data = file("mlp.data.npz");
  fails({"--data", file("lenet.data.npz")}, "no array 'x'");
  fails({"--data", file("mlp.start.npz")}, "no array 'x'");
  fails({"--data", data, "--state-in", file("lenet.start.npz")}, "the program has no state 'conv0_w'");
}

}  // namespace
}  // namespace cs::e2e
