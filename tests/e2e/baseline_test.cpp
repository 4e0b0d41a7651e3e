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

// Rows of two on two PEs: the maxima of the composition, a number per row, are cut for what they can use of them.
TEST_F(Baselines, StandInsideTheKernelsRectangleWhereTheyCannotFillIt) {
  const auto report = compile(
      "graph: m\n"
      "inputs: [{name: x, type: \"f32[2, 2, 2]\"}]\n"
      "nodes: [{name: y, op: softmax, inputs: [x]}]\n"
      "outputs: [y]\n",
      "aggressive");
  ASSERT_TRUE(report.is_object());
  ASSERT_EQ(report.at("baselines").size(), 1u);
  EXPECT_FALSE(report.at("baselines")[0].contains("missing")) << report.dump(1);
}

// Kernels that differ in nothing but their names, and those of the nodes that they were fused with, have one.
TEST_F(Baselines, OfEqualKernelsAreOne) {
  std::string graph = "graph: m\ninputs: [{name: x0, type: \"f32[1, 64]\"}]\nnodes:\n";
  const std::vector<std::string> ops = {"exp", "neg", "abs", "tanh"};
  for (int i = 0; i < 40; ++i)
    graph += "  - {name: n" + std::to_string(i) + ", op: " + ops[size_t(i % 4)] + ", inputs: [x" +
             std::to_string(i) + "], outputs: [x" + std::to_string(i + 1) + "]}\n";
  const auto report = compile(graph + "outputs: [x40]\n", "medium");
  ASSERT_TRUE(report.is_object());
  size_t fused = 0;
  for (const auto& kernel : report.at("kernels")) fused += kernel.at("nodes").size() > 1;
  EXPECT_GT(fused, 5u);
  EXPECT_LE(report.at("baselines").size(), 4u);
}

// A region of two operators against both of them, which take turns on its rectangle: their cycles are added.
TEST_F(Baselines, OfARegionAreItsOperatorsOneAfterTheOther) {
  const auto report = compile(
      "graph: m\n"
      "plan: {policy: medium, after: regions}\n"
      "inputs: [{name: x, type: \"f32[1, 16, 8]\"}, {name: z, type: \"f32[1, 16, 12]\"}]\n"
      "nodes:\n"
      "  - {name: t, op: transpose, inputs: [x], attrs: {perm: [0, 2, 1]}, type: \"f32[1, 8, 16]\",\n"
      "     origin: autogen, kernel: dtg-region, group: t}\n"
      "  - {name: y, op: matmul, inputs: [t, z], type: \"f32[1, 8, 12]\",\n"
      "     origin: autogen, kernel: dtg-region, group: t}\n"
      "outputs: [y]\n",
      "medium");
  ASSERT_TRUE(report.is_object());
  ASSERT_EQ(report.at("baselines").size(), 1u);
  EXPECT_EQ(report.at("baselines")[0].at("counterpart"), "transpose, then matmul");
  const auto latency = [&](const std::string& program) {
    const ChildResult r = run("cs-sim", {program, "--iterations", "8", "--json"});
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return nlohmann::json::parse(r.out, nullptr, false).at("latency_cycles").get<double>();
  };
  const std::string below = path("p.csp/baselines/t/");
  const double both = latency(below + "base.csp") + latency(below + "base2.csp"), own = latency(below + "this.csp");
  const ChildResult r = run("cs-sim", {path("p.csp"), "--report", path("report"), "--json"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto counterpart = nlohmann::json::parse(r.out, nullptr, false).at("kernels")[0].at("counterpart");
  ASSERT_TRUE(counterpart.is_object());
  EXPECT_EQ(counterpart.at("cycles"), both);
  EXPECT_EQ(counterpart.at("this_cycles"), own);
  EXPECT_EQ(counterpart.at("name"), "transpose, then matmul");
  EXPECT_EQ(counterpart.at("origin"), "primitive");
}

// The library multiplies by constants only: against the products of all pairs of elements and their sums.
TEST_F(Baselines, OfAProductOfTwoStreamsAreProductsAndSums) {
  const auto report = compile(
      "graph: m\ninputs: [{name: x, type: \"f32[1, 2, 16, 8]\"}, {name: z, type: \"f32[1, 1, 8, 12]\"}]\n"
      "nodes: [{name: y, op: matmul, inputs: [x, z]}]\noutputs: [y]\n",
      "medium");
  ASSERT_TRUE(report.is_object());
  ASSERT_EQ(report.at("baselines").size(), 1u);
  EXPECT_EQ(report.at("baselines")[0].at("counterpart"), "mul, then reduce_sum");
  const ChildResult r = run("cs-sim", {path("p.csp"), "--report", path("report"), "--json"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const auto counterpart = nlohmann::json::parse(r.out, nullptr, false).at("kernels")[0].at("counterpart");
  ASSERT_TRUE(counterpart.is_object());
  // All 2 * 16 * 8 * 12 products leave the first of the two kernels and reach the second.
  EXPECT_GE(counterpart.at("cycles").get<double>(), 2 * 16 * 8 * 12);
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
