// Baselines are optional: one that cannot be made leaves the program as it is.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

class Baselines : public Scratch {
 protected:
  nlohmann::json compile(const std::string& graph, const std::string& policy) {
    const ChildResult r = run("cs-compile", {write("m.yaml", graph), "--autogen-policy", policy, "-o", path("p.csp")});
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return nlohmann::json::parse(slurp(path("p.csp/compile_report.json")), nullptr, false);
  }
};

// Rows of two: the maxima of the composition, a number per row, cannot be cut over as many PEs.
TEST_F(Baselines, ThatDoNotFitTheKernelsRectangleAreMissing) {
  const auto report = compile(
      "graph: m\n"
      "inputs: [{name: x, type: \"f32[2, 2, 2]\"}]\n"
      "nodes: [{name: y, op: softmax, inputs: [x]}]\n"
      "outputs: [y]\n",
      "aggressive");
  ASSERT_TRUE(report.is_object());
  ASSERT_EQ(report.at("baselines").size(), 1u);
  EXPECT_FALSE(report.at("baselines")[0].at("missing").get<std::string>().empty());
  EXPECT_TRUE(std::filesystem::exists(path("p.csp/program.fb")));
}

// The kernel of whole rows reads its operand through a view.
TEST_F(Baselines, OfAKernelThatReadsAView) {
  const auto report = compile(
      "graph: m\n"
      "inputs: [{name: x, type: \"f32[8]\"}]\n"
      "nodes:\n"
      "  - {name: t, op: reshape, inputs: [x], attrs: {shape: [1, 1, 8]}}\n"
      "  - {name: y, op: softmax, inputs: [t]}\n"
      "outputs: [y]\n",
      "aggressive");
  ASSERT_TRUE(report.is_object());
  ASSERT_EQ(report.at("baselines").size(), 1u);
  const std::string made = path("p.csp/baselines/y_reduce_max/this.csp/program.fb");
  EXPECT_TRUE(std::filesystem::exists(made)) << report.at("baselines").dump();
}

}  // namespace
}  // namespace cs::e2e
