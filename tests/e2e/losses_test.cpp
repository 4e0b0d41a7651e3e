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
    // Where several PEs are sooner done with functions and sums of 20 elements, one more adds up theirs.
    EXPECT_LE(op.at("kernels").size(), 2u) << op;
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

// Two tensors of 64 KB have no room on one PE: many make sums of parts, one more the sum of these.
TEST_F(Losses, SumsOverEverythingAreSharedByManyPes) {
  const auto model = [&](const std::string& name, int use_autogen) {
    return write(name,
                 "inputs:\n  - {name: x, type: \"f32[128, 128]\"}\n  - {name: t, type: \"f32[128, 128]\"}\n"
                 "nodes:\n  - {name: loss, op: l1_loss, inputs: [x, t], attrs: {use_autogen: " +
                     std::to_string(use_autogen) + "}}\noutputs: [loss]\n");
  };
  for (const auto& rect : std::vector<std::vector<std::string>>{{}, {"--rect", "8x8"}}) {
    std::vector<std::string> fused = {model("one.yaml", 1), "--no-baselines", "-o", path("one.csp")};
    fused.insert(fused.end(), rect.begin(), rect.end());
    const ChildResult made = run("cs-compile", fused);
    ASSERT_EQ(made.exit_code, 0) << made.err;
    EXPECT_EQ(made.err, "");
    const nlohmann::json op = ops("one.csp").at(0);
    EXPECT_EQ(op.at("origin"), "autogen") << op;
    EXPECT_EQ(op.at("kernels").size(), 2u) << op;
    ASSERT_EQ(run("cs-sim", {path("one.csp"), "--outputs", path("out.npz")}).exit_code, 0);
    ASSERT_EQ(
        run("cs-compile", {model("parts.yaml", 0), "--no-baselines", "-o", path("parts.csp")}).exit_code, 0);
    const ChildResult same = run("cs-sim", {path("parts.csp"), "--expect", path("out.npz")});
    EXPECT_EQ(same.exit_code, 0) << same.out << same.err;
  }
}

// A PE has whole rows, and three of 32 KB have no room on it.
TEST_F(Losses, WhatCannotBeOneKernelSaysWhyAndIsPrimitives) {
  const std::string model =
      write("large.yaml",
            "inputs:\n  - {name: a, type: \"f32[2, 8192]\"}\n  - {name: p, type: \"f32[2, 8192]\"}\n"
            "  - {name: n, type: \"f32[2, 8192]\"}\nnodes:\n"
            "  - {name: loss, op: triplet_margin_loss, inputs: [a, p, n], attrs: {use_autogen: 1}}\noutputs: "
            "[loss]\n");
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
