// The form of a network under medium: the fastest by estimate, as it simulates, in plans, and only where it
// is left to the compiler.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class NetworkForms : public Scratch {
 protected:
  static std::string folder(const std::string& network) {
    return kSource + "/tests/networks/" + network + "/";
  }
  // Cycles per sample under a policy. Cores of the host take samples in turn: 4 each, of up to 4 cores, are a
  // period.
  double interval(const std::string& network, const std::string& policy) {
    const ChildResult made = run("cs-compile", {folder(network) + "model.onnx", "--no-baselines",
                                                "--autogen-policy", policy, "-q", "-o", path("p.csp")});
    EXPECT_EQ(made.exit_code, 0) << made.err;
    const ChildResult r = run(
        "cs-sim", {path("p.csp"), "--json", "--inputs", folder(network) + "inputs_0.npz", "--expect",
                   folder(network) + "expected_0.npz", "--iterations", policy == "disabled" ? "32" : "8"});
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return nlohmann::json::parse(r.out).at("interval_cycles").get<double>();
  }
};

// Recurrences step by step, operators apart, operators generated: each was once slower than another policy.
TEST_F(NetworkForms, MediumIsNotSlowerThanTheOtherPolicies) {
  for (const std::string network : {"rnn", "einsum_topk", "mobilenet_v3_block"}) {
    const double medium = interval(network, "medium");
    EXPECT_LE(medium, 1.02 * interval(network, "disabled")) << network;
    EXPECT_LE(medium, 1.02 * interval(network, "aggressive")) << network;
  }
}

// The form that is taken has the interval that cs-sim finds, whatever the inputs are.
TEST_F(NetworkForms, ATrialSaysWhatCsSimSays) {
  const ChildResult made =
      run("cs-compile", {folder("squeezenet") + "model.onnx", "--no-baselines", "-o", path("p.csp")});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const auto report = nlohmann::json::parse(slurp(path("p.csp/compile_report.json")));
  const auto& forms = report.at("forms");
  const auto taken =
      std::find_if(forms.begin(), forms.end(), [](const auto& f) { return f.at("taken") == true; });
  ASSERT_NE(taken, forms.end());
  EXPECT_DOUBLE_EQ(taken->at("simulated_cycles").template get<double>(), interval("squeezenet", "medium"));
  // Each of them has what it is judged by, or the reason why it was left.
  const auto paced = std::count_if(forms.begin(), forms.end(), [](const auto& f) {
    return f.at("form").template get<std::string>().find(" at pace ") != std::string::npos;
  });
  EXPECT_GE(paced, 1);
  ASSERT_EQ(forms.size(), 5u + size_t(paced));
  for (const auto& f : forms) EXPECT_NE(f.at("simulated_cycles").is_null(), f.at("left") == "") << f.dump();
}

// Three rows of eight PEs, each with 256 words of both operands, which share the links of the row: a PE waits for
// 512, sends 32 and computes for some 300 cycles. The streams meet in the same rows at first and have parted after
// five samples: 768 words of each take longer than 768 cycles, less than 2 * 768.
TEST_F(NetworkForms, StreamsThatMeetInARowAreEstimatedSo) {
  std::string ones = "1";
  for (int i = 1; i < 48; ++i) ones += ", 1";
  write("m.yaml", R"(inputs:
  - {name: a, type: "f32[1, 12, 8, 8]"}
  - {name: b, type: "f32[1, 12, 8, 8]"}
constants:
  - {name: w, type: "f32[12, 4, 1, 1]", value: [)" +
                            ones + R"(]}
nodes:
  - {name: c, op: conv, inputs: [a, w], attrs: {group: 3, kernel_shape: [1, 1]}}
  - {name: d, op: add, inputs: [c, b]}
  - {name: y, op: relu, inputs: [d]}
outputs: [y]
)");
  ASSERT_EQ(run("cs-compile", {path("m.yaml"), "--no-baselines", "-q", "-o", path("m.csp")}).exit_code, 0);
  const auto report = nlohmann::json::parse(slurp(path("m.csp/compile_report.json")));
  const auto estimated = report.at("estimate").at("interval_cycles").get<double>();
  EXPECT_GT(estimated, 300 + 512 + 32);
  EXPECT_LT(estimated, 2 * 768);
  const ChildResult r = run("cs-sim", {path("m.csp"), "--json", "--iterations", "16"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto interval = nlohmann::json::parse(r.out).at("interval_cycles").get<double>();
  EXPECT_NEAR(estimated, interval, 0.15 * interval);
}

TEST_F(NetworkForms, ThePlanSaysWhich) {
  const std::string model = folder("einsum_topk") + "model.onnx";
  const ChildResult made = run("cs-compile", {model, "--no-baselines", "-o", path("p.csp")});
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.out, HasSubstr("form apart at pace 0.5: an interval of "));
  ASSERT_EQ(run("cs-compile", {model, "--emit", "plan", "-q", "-o", path("plan.yaml")}).exit_code, 0);
  EXPECT_THAT(slurp(path("plan.yaml")), HasSubstr("form: apart, pace: 0.5}"));
  const ChildResult again =
      run("cs-compile", {"--start-from", path("plan.yaml"), "--no-baselines", "-q", "-o", path("again.csp")});
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(slurp(path("again.csp/program.fb")), slurp(path("p.csp/program.fb")));
}

TEST_F(NetworkForms, WhoAsksForLessFusionOrAPaceHasChosen) {
  const std::string model = folder("einsum_topk") + "model.onnx";
  for (const auto& [flag, value] : {std::pair{"--pace", "0.5"}, {"--without", "fuse"}}) {
    ASSERT_EQ(
        run("cs-compile", {model, flag, value, "--emit", "plan", "-q", "-o", path("plan.yaml")}).exit_code,
        0);
    EXPECT_THAT(slurp(path("plan.yaml")), Not(HasSubstr("form:"))) << flag;
  }
}

TEST_F(NetworkForms, APlanOfNoFormIsRefused) {
  std::string plan = slurp(kSource + "/tests/golden/forms/inputs/join.yaml");
  plan.replace(plan.find("graph: join\n"), 12,
               "graph: join\nplan: {policy: medium, after: fold, form: odd}\n");
  write("plan.yaml", plan);
  const ChildResult r = run("cs-compile", {"--start-from", path("plan.yaml"), "-o", path("p.csp")});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("the plan's form 'odd' is none"));
}

}  // namespace
}  // namespace cs::e2e
