// Losses through the tools: one kernel per direction or primitives, the same values, and what is said of
// each.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class Losses : public Scratch {
 protected:
  // A focal loss of one's own and its backward pass.
  std::string focal(const std::string& name, bool use_autogen) {
    const std::string attrs =
        std::string("{inputs: \"x t\", args: \"alpha gamma\", values: [0.25, 2], use_autogen: ") +
        (use_autogen ? "1" : "0") + ", expr: \"p = sigmoid(x)\\nalpha * t * (1 - p)^gamma * softplus(-x)\"";
    return write(
        name,
        "inputs:\n  - {name: x, type: \"f32[4, 5]\"}\n  - {name: t, type: \"f32[4, 5]\"}\n"
        "  - {name: up, type: \"f32[]\"}\nnodes:\n"
        "  - {name: loss, op: custom_loss, inputs: [x, t], attrs: " +
            attrs + "}}\n" +
            "  - {name: back, op: custom_loss_gradient, inputs: [x, t, ~, ~, ~, ~, ~, ~, up], attrs: " +
            attrs + ", wanted: [0]}}\noutputs: [loss, back]\n");
  }
  nlohmann::json ops(const std::string& program) {
    return nlohmann::json::parse(slurp(path(program + "/compile_report.json"))).at("ops");
  }
};

TEST_F(Losses, OneKernelPerDirectionOrPrimitivesWithTheSameValues) {
  const ChildResult fused =
                        run("cs-compile", {focal("one.yaml", true), "--no-baselines", "-o", path("one.csp")}),
                    apart = run("cs-compile",
                                {focal("parts.yaml", false), "--no-baselines", "-o", path("parts.csp")});
  ASSERT_EQ(fused.exit_code, 0) << fused.err;
  ASSERT_EQ(apart.exit_code, 0) << apart.err;
  EXPECT_THAT(fused.out, Not(HasSubstr("unfused loss")));
  EXPECT_THAT(apart.out, AllOf(HasSubstr("unfused loss loss: "), HasSubstr("unfused loss back: "),
                               HasSubstr(" kernels, estimated cost vs fused x")));
  for (const nlohmann::json& op : ops("one.csp")) {
    EXPECT_EQ(op.at("origin"), "autogen") << op;
    EXPECT_EQ(op.at("kernels").size(), 1u) << op;
  }
  for (const nlohmann::json& op : ops("parts.csp")) {
    EXPECT_EQ(op.at("origin"), "primitive") << op;
    EXPECT_GT(op.at("kernels").size(), 3u) << op;
    EXPECT_GT(op.at("cost_vs_fused").get<double>(), 0) << op;
  }
  ASSERT_EQ(run("cs-sim", {path("one.csp"), "--outputs", path("out.npz")}).exit_code, 0);
  const ChildResult same = run("cs-sim", {path("parts.csp"), "--expect", path("out.npz")});
  EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
}

// One PE makes a sum, and two tensors of 64 KB have no room on it.
TEST_F(Losses, WhatCannotBeOneKernelSaysWhyAndIsPrimitives) {
  const std::string model = write(
      "large.yaml",
      "inputs:\n  - {name: x, type: \"f32[128, 128]\"}\n  - {name: t, type: \"f32[128, 128]\"}\nnodes:\n"
      "  - {name: loss, op: l1_loss, inputs: [x, t], attrs: {use_autogen: 1}}\noutputs: [loss]\n");
  const std::vector<std::string> common = {model, "--no-baselines", "-o", path("a.csp")};
  const ChildResult made = run("cs-compile", common);
  EXPECT_EQ(made.exit_code, 0) << made.err;
  EXPECT_THAT(made.err, AllOf(HasSubstr("warning"), HasSubstr("made of primitives"), HasSubstr("B")));
  std::vector<std::string> strict = common;
  strict.insert(strict.end(), {"--autogen-on-failure", "error"});
  const ChildResult refused = run("cs-compile", strict);
  EXPECT_EQ(refused.exit_code, 1) << refused.out;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("error"), HasSubstr("use_autogen asks for one kernel")));
}

}  // namespace
}  // namespace cs::e2e
