// Evaluation of trained weights: PyTorch's of tests/training on the pictures that were held back, against the
// same network calculated here in double precision.
#include <gmock/gmock.h>

#include <cmath>

#include <nlohmann/json.hpp>

#include "runtime/host/npz.h"
#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

constexpr size_t kBatch = 16, kBatches = 8, kPixels = 64, kHidden = 32, kClasses = 10;

std::vector<NamedArray> arrays_of(const std::string& file) {
  Diag diag;
  auto arrays = read_npz(file, diag);
  EXPECT_TRUE(arrays) << diag.to_string();
  return arrays.value_or(std::vector<NamedArray>{});
}

std::vector<double> numbers(const std::vector<NamedArray>& arrays, const std::string& name) {
  const NamedArray* a = find_array(arrays, name);
  EXPECT_NE(a, nullptr) << name;
  return a != nullptr ? to_doubles(*a) : std::vector<double>{};
}

struct Figures {
  double loss = 0, accuracy = 0;
};

// Cross entropy and share of right answers over the first pictures that were held back: means of batches are
// means of all, as batches are equally large.
Figures by_hand(const std::vector<NamedArray>& weights, const std::vector<NamedArray>& held) {
  const auto w0 = numbers(weights, "layer0_w"), b0 = numbers(weights, "layer0_b"),
             w1 = numbers(weights, "classifier_w"), b1 = numbers(weights, "classifier_b");
  const auto images = numbers(held, "held_back"), labels = numbers(held, "held_back_labels");
  Figures f;
  for (size_t i = 0; i < kBatch * kBatches; ++i) {
    std::vector<double> h(b0), y(b1);
    for (size_t j = 0; j < kHidden; ++j) {
      for (size_t k = 0; k < kPixels; ++k) h[j] += images[kPixels * i + k] * w0[k * kHidden + j];
      for (size_t k = 0; k < kClasses; ++k) y[k] += std::max(0.0, h[j]) * w1[j * kClasses + k];
    }
    double sum = 0;
    for (const double v : y) sum += std::exp(v);
    const auto label = size_t(labels[i]);
    f.loss += std::log(sum) - y[label];
    f.accuracy += size_t(std::max_element(y.begin(), y.end()) - y.begin()) == label;
  }
  return {f.loss / double(kBatch * kBatches), f.accuracy / double(kBatch * kBatches)};
}

class Evaluation : public Scratch {
 protected:
  static std::string file(const std::string& name) { return kSource + "/tests/training/" + name; }

  void SetUp() override {
    Scratch::SetUp();
    held_ = arrays_of(file("mlp.expected.npz"));
    const auto images = numbers(held_, "held_back"), labels = numbers(held_, "held_back_labels");
    ops::Tensor x({DataType::f32, {kBatch * kBatches, kPixels}}),
        target({DataType::i32, {kBatch * kBatches}});
    for (int64_t i = 0; i < x.elements(); ++i) x.set(i, images[size_t(i)]);
    for (int64_t i = 0; i < target.elements(); ++i) target.set_int(i, int64_t(labels[size_t(i)]));
    save("held.npz", {{"x", std::move(x)}, {"target", std::move(target)}});
  }
  void save(const std::string& name, const std::vector<NamedArray>& arrays) const {
    Diag diag;
    ASSERT_TRUE(write_npz(path(name), arrays, diag)) << diag.to_string();
  }
  // The weights that PyTorch has after so many steps.
  std::vector<NamedArray> trained(const std::string& steps) const {
    std::vector<NamedArray> out;
    const std::string prefix = "weights." + steps + ".";
    for (const NamedArray& a : held_)
      if (a.name.starts_with(prefix)) out.push_back({a.name.substr(prefix.size()), a.tensor});
    return out;
  }
  ChildResult compile(const std::string& mode, const std::string& out,
                      std::vector<std::string> more = {}) const {
    more.insert(more.begin(), {file("mlp.yaml"), "--no-baselines", "--no-advice", "--set",
                               "runconfig.mode=" + mode, "-o", path(out)});
    return run("cs-compile", more);
  }
  nlohmann::json simulate(std::vector<std::string> args) const {
    args.insert(args.end(), {"--json", "-q"});
    const ChildResult r = run("cs-sim", args);
    EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
    return r.exit_code == 0 ? nlohmann::json::parse(r.out) : nlohmann::json{};
  }
  static void expect_near(const nlohmann::json& round, const Figures& want) {
    EXPECT_NEAR(round.at("loss").get<double>(), want.loss, 1e-4 * want.loss);
    EXPECT_NEAR(round.at("accuracy").get<double>(), want.accuracy, 1e-6);
    EXPECT_EQ(round.at("batches"), kBatches);
  }
  std::vector<NamedArray> held_;
};

TEST_F(Evaluation, OfACheckpointIsThatOfItsWeights) {
  save("w.npz", trained("200"));
  const ChildResult r = compile("eval", "eval.csp", {"--set", "runconfig.checkpoint_path=" + path("w.npz")});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto stats = simulate({path("eval.csp"), "--data", path("held.npz"), "--outputs", path("out.npz")});
  ASSERT_EQ(stats.at("evaluations").size(), 1u);
  const Figures want = by_hand(trained("200"), held_);
  expect_near(stats.at("evaluations")[0], want);
  EXPECT_GT(want.accuracy, 0.9);
  EXPECT_EQ(numbers(arrays_of(path("out.npz")), "loss").size(), kBatches);
  // No kernel of an optimizer or of a gradient.
  for (const auto& k : stats.at("kernels")) {
    EXPECT_EQ(k.at("name").get<std::string>().find("optimizer"), std::string::npos) << k.at("name");
    EXPECT_EQ(k.at("name").get<std::string>().find("gradient"), std::string::npos) << k.at("name");
  }
}

// One program: two steps, all batches, two steps, all batches. The states are those of training alone, and
// what is evaluated is what the weights of these steps give.
TEST_F(Evaluation, BetweenStepsOfTrainingChangesNothing) {
  const std::string data = file("mlp.data.npz"), start = file("mlp.start.npz");
  ASSERT_EQ(compile("train", "train.csp").exit_code, 0);
  ASSERT_EQ(compile("train_and_eval", "both.csp").exit_code, 0);
  for (const char* steps : {"2", "4"})
    simulate({path("train.csp"), "--data", data, "--iterations", steps, "--state-in", start, "--state-out",
              path(steps), "--outputs", path("alone.npz")});
  const auto stats = simulate({path("both.csp"), "--data", data, "--iterations", "4", "--state-in", start,
                               "--state-out", path("both"), "--eval-data", path("held.npz"), "--eval-every",
                               "2", "--outputs", path("both.npz")});
  // Another program adds up in another order.
  for (const NamedArray& state : arrays_of(path("4"))) {
    const auto found = numbers(arrays_of(path("both")), state.name), want = to_doubles(state);
    ASSERT_EQ(found.size(), want.size()) << state.name;
    for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(found[i], want[i], 1e-6) << state.name << " " << i;
  }
  const auto both = numbers(arrays_of(path("both.npz")), "loss"),
             alone = numbers(arrays_of(path("alone.npz")), "loss");
  ASSERT_EQ(both.size(), alone.size());
  for (size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(both[i], alone[i], 1e-5 * alone[i]) << i;
  EXPECT_EQ(numbers(arrays_of(path("both.npz")), "eval.accuracy").size(), 2 * kBatches);
  const auto& rounds = stats.at("evaluations");
  ASSERT_EQ(rounds.size(), 2u);
  EXPECT_EQ(rounds[0].at("after_steps"), 2);
  EXPECT_EQ(rounds[1].at("after_steps"), 4);
  expect_near(rounds[0], by_hand(arrays_of(path("2")), held_));
  expect_near(rounds[1], by_hand(arrays_of(path("4")), held_));
  // Nothing but evaluation, of the checkpoint of that program.
  const auto later = simulate({path("both.csp"), "--eval-data", path("held.npz"), "--state-in", path("both")});
  EXPECT_EQ(later.at("evaluations")[0].at("loss"), rounds[1].at("loss"));
}

TEST_F(Evaluation, SaysWhatIsWrong) {
  const auto refused = [&](std::vector<std::string> more, const std::string& why) {
    const ChildResult r = compile("eval", "a.csp", std::move(more));
    EXPECT_EQ(r.exit_code, 1) << why;
    EXPECT_THAT(r.err, HasSubstr(why));
  };
  std::vector<NamedArray> w = trained("5");
  w.front().name += "x";
  save("unknown.npz", w);
  refused({"--set", "runconfig.checkpoint_path=" + path("unknown.npz")}, "the network has no weight");
  w.erase(w.begin());
  save("few.npz", w);
  refused({"--set", "runconfig.checkpoint_path=" + path("few.npz")}, "has no array");
  refused({"--set", "runconfig.checkpoint_path=weights.mdl"}, "'weights.mdl' is no .npz");
  ASSERT_THAT(compile("eval", "eval.csp").err, HasSubstr("weights are the seeded ones"));
  const ChildResult r =
      run("cs-sim", {path("eval.csp"), "--data", path("held.npz"), "--state-in", path("few.npz")});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("this one evaluates with the weights that it was compiled with"));
  ASSERT_EQ(compile("train", "train.csp").exit_code, 0);
  const ChildResult eval = run("cs-sim", {path("train.csp"), "--eval-data", path("held.npz")});
  EXPECT_EQ(eval.exit_code, 1);
  EXPECT_THAT(eval.err, HasSubstr("compile with runconfig.mode train_and_eval"));
}

}  // namespace
}  // namespace cs::e2e
