// What the compiler says of its decisions: reasons are true, and candidates stand with their estimates.
#include <algorithm>
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

class Choices : public Scratch {};

// Two of its fusions save no latency, and there are kernels of the library without an estimate.
TEST_F(Choices, NoReasonHasANegativeOrInfiniteBenefit) {
  for (const std::string policy : {"disabled", "medium", "aggressive"}) {
    const ChildResult r = run("cs-compile", {kSource + "/models/mnist_8/model.onnx", "--explain", "origins",
                                             "--stop-after", "regions", "--autogen-policy", policy, "--emit", "plan",
                                             "-o", path(policy + ".yaml")});
    ASSERT_EQ(r.exit_code, 0) << r.err;
    const std::string plan = slurp(path(policy + ".yaml"));
    EXPECT_THAT(plan, HasSubstr("reason"));
    EXPECT_FALSE(std::regex_search(plan, std::regex("reason: \"[^\"]*(\\binf\\b|\\bnan\\b| by -)"))) << policy;
  }
}

// The lines of one decision: its first one names the operators.
std::vector<std::string> decision(const std::string& text, const std::string& pass, const std::string& operators) {
  std::istringstream in(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    const bool first = line.size() > 2 && line[2] != ' ';
    if (!lines.empty() && first) break;
    if (!lines.empty() || line.find("  " + pass + " ") == 0) {
      if (lines.empty() && line.find(" " + operators + "  ") == std::string::npos) continue;
      lines.push_back(line);
    }
  }
  return lines;
}

// e = erf(x W): the library has a product, and no erf.
TEST_F(Choices, EveryCandidateStandsWithItsEstimate) {
  std::string values = "1";
  for (int i = 1; i < 64 * 64; ++i) values += ", 1";
  const std::string model = write(
      "m.yaml", "inputs:\n  - {name: x, type: \"f32[1, 64]\"}\nconstants:\n" +
                    ("  - {name: w, type: \"f32[64, 64]\", value: [" + values + "]}\n") +
                    "nodes:\n  - {name: h, op: gemm, inputs: [x, w]}\n" +
                    "  - {name: e, op: erf, inputs: [h]}\noutputs: [e]\n");
  const ChildResult r = run("cs-compile", {model, "--explain", "choices"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const std::vector<std::string> product = decision(r.out, "policy", "h"), function = decision(r.out, "policy", "e"),
                                 both = decision(r.out, "fuse", "h, e");
  ASSERT_EQ(product.size(), 4u) << r.out;
  EXPECT_THAT(product[0], HasSubstr("library (gemv)"));
  EXPECT_THAT(product[1], HasSubstr("generated (dtg-contraction)"));
  EXPECT_THAT(product[2], HasSubstr("generated (dtg-region)"));
  EXPECT_THAT(product[3], HasSubstr("only where nothing else can"));
  EXPECT_EQ(std::ranges::count_if(product, [](const auto& l) { return l.find("taken") != std::string::npos; }), 1);
  ASSERT_EQ(function.size(), 3u) << r.out;
  EXPECT_THAT(function[0], HasSubstr("no library kernel computes erf"));
  EXPECT_THAT(function[1], HasSubstr("taken"));
  ASSERT_EQ(both.size(), 2u) << r.out;
  EXPECT_THAT(both[0], HasSubstr("apart"));
  EXPECT_THAT(both[1], HasSubstr("one kernel"));
  const ChildResult j = run("cs-compile", {model, "--explain", "choices", "--json"});
  const auto choices = nlohmann::json::parse(j.out).at("choices");
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_EQ(choices.at(0).at("candidates").size(), 4u);
  // 4,096 products, one a cycle and PE.
  const auto& by_hand = choices.at(0).at("candidates").at(0);
  EXPECT_GE(by_hand.at("interval_cycles").get<double>() * by_hand.at("pes").get<double>(), 4096);
  EXPECT_TRUE(choices.at(0).at("candidates").at(3).at("interval_cycles").is_null());
  // Who asks gets the program that everybody gets.
  ASSERT_EQ(run("cs-compile", {model, "--explain", "choices", "-o", path("a.csp")}).exit_code, 0);
  ASSERT_EQ(run("cs-compile", {model, "-o", path("b.csp")}).exit_code, 0);
  EXPECT_EQ(slurp(path("a.csp/program.fb")), slurp(path("b.csp/program.fb")));
}

TEST_F(Choices, OfAPolicyWithoutGenerator) {
  const std::string model = write("m.yaml",
                                  "inputs:\n  - {name: x, type: \"f32[1, 64]\"}\nnodes:\n"
                                  "  - {name: y, op: relu, inputs: [x]}\noutputs: [y]\n");
  const ChildResult r = run("cs-compile", {model, "--explain", "choices", "--autogen-policy", "disabled"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("policy disabled generates none"));
}

}  // namespace
}  // namespace cs::e2e
