// The demo network from ONNX to checked outputs: values, the three policies, determinism, the way through CSL
// text.
#include <gmock/gmock.h>

#include <map>
#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class Network : public Scratch {
 protected:
  const std::string model_ = kSource + "/models/mnist_mlp/";

  std::string compile(const std::string& machine, const std::string& policy,
                      std::vector<std::string> more = {}) {
    const std::string out = path(machine + "-" + policy + ".csp");
    std::vector<std::string> args{
        model_ + "model.onnx", "-m", machine, "--autogen-policy", policy, "-o", out};
    args.insert(args.end(), more.begin(), more.end());
    const ChildResult r = run("cs-compile", args);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    return out;
  }
  json simulate(const std::string& program, std::vector<std::string> more = {}) {
    std::vector<std::string> args{
        program, "--json", "--inputs", model_ + "inputs_4.npz", "--expect", model_ + "expected_4.npz"};
    args.insert(args.end(), more.begin(), more.end());
    const ChildResult r = run("cs-sim", args);
    EXPECT_EQ(r.exit_code, 0) << r.err;
    json stats = json::parse(r.out, nullptr, false);
    EXPECT_FALSE(stats.is_discarded()) << "stdout is not one JSON object:\n" << r.out;
    return stats;
  }
  // operator name -> origin
  static std::map<std::string, std::string> origins(const json& stats, const std::string& op) {
    std::map<std::string, std::string> out;
    for (const json& row : stats.at("ops"))
      if (row.at("op") == op) out[row.at("name")] = row.at("origin");
    return out;
  }
};

TEST_F(Network, EveryPolicyGivesTheExpectedOutputsWithItsOwnOrigins) {
  std::map<std::string, json> stats;
  for (const std::string policy : {"disabled", "medium", "aggressive"}) {
    stats[policy] = simulate(compile("wse2", policy, {"--no-baselines"}));
    EXPECT_TRUE(stats[policy].at("check").at("ok").get<bool>()) << policy;
    const auto relu = origins(stats[policy], "leaky_relu");
    EXPECT_EQ(relu.size(), 6u);
    for (const auto& [name, origin] : relu)
      EXPECT_EQ(origin, policy == "disabled" ? "host" : "autogen") << name;
    const auto gemm = origins(stats[policy], "gemm");
    EXPECT_EQ(gemm.size(), 7u);
    // Estimates say that these small products are faster generated.
    for (const auto& [name, origin] : gemm)
      EXPECT_EQ(origin, policy == "disabled" ? "handwritten" : "autogen") << name;
  }
  EXPECT_NE(stats["disabled"].at("cycles"), stats["medium"].at("cycles"));
}

TEST_F(Network, BlocksAndThreadsChangeNothing) {
  const std::string program = compile("wse3", "medium", {"--no-baselines"});
  json reference;
  std::string bytes;
  for (const std::string block : {"1x1", "8x8", "32x32"})
    for (const std::string threads : {"1", "2"}) {
      json stats = simulate(program, {"--block", block, "--threads", threads, "--outputs", path("out.npz")});
      stats.erase("simulator");
      const std::string now = slurp(path("out.npz"));
      if (reference.is_null()) {
        reference = stats;
        bytes = now;
      }
      EXPECT_EQ(stats, reference) << block << " " << threads;
      EXPECT_EQ(now, bytes) << block << " " << threads;
    }
}

TEST_F(Network, TheArtefactIsTheSameForAnyNumberOfThreads) {
  const std::string one = compile("wse2", "aggressive", {"-j", "1", "--no-baselines"});
  std::filesystem::rename(one, path("one.csp"));
  const std::string two = compile("wse2", "aggressive", {"-j", "2", "--no-baselines"});
  for (const char* file : {"program.fb", "weights.bin", "manifest.json"})
    EXPECT_EQ(slurp(path("one.csp/") + file), slurp(two + "/" + file)) << file;
}

TEST_F(Network, CslTextAndBackGivesTheSameBytes) {
  for (const std::string policy : {"medium", "aggressive"}) {
    const std::string direct = compile("wse2", policy, {"--no-baselines"});
    const std::string text = path("text-" + policy);
    ASSERT_EQ(run("cs-compile", {model_ + "model.onnx", "-m", "wse2", "--autogen-policy", policy, "--emit",
                                 "csl", "-o", text})
                  .exit_code,
              0);
    const std::string again = path("again-" + policy + ".csp");
    const ChildResult r =
        run("cs-compile", {text + "/layout.csl", "--host", text + "/host.yaml", "-m", "wse2", "-o", again});
    ASSERT_EQ(r.exit_code, 0) << r.err;
    EXPECT_EQ(slurp(direct + "/program.fb"), slurp(again + "/program.fb"));
    EXPECT_EQ(slurp(direct + "/weights.bin"), slurp(again + "/weights.bin"));
  }
}

TEST_F(Network, ObjdumpTextReadsBackToTheSameProgram) {
  const std::string direct = compile("wse2", "medium", {"--no-baselines"});
  const ChildResult text = run("cs-objdump", {direct, "--text"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  const std::string file = write("p.csptext", text.out);
  // The text has no weights, and no zeros take their place.
  const ChildResult none = run("cs-compile", {file, "-o", path("back.csp")});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("bytes of weights"));
  write("weights.bin", slurp(direct + "/weights.bin"));
  const ChildResult r = run("cs-compile", {file, "-o", path("back.csp")});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_EQ(slurp(direct + "/program.fb"), slurp(path("back.csp/program.fb")));
  EXPECT_EQ(slurp(direct + "/weights.bin"), slurp(path("back.csp/weights.bin")));
  // It names its machine.
  const ChildResult other = run("cs-compile", {file, "-m", "wse3", "-o", path("other.csp")});
  EXPECT_EQ(other.exit_code, 1);
  EXPECT_THAT(other.err, HasSubstr("is of a program for wse2"));
}

TEST_F(Network, ReportHasEveryGeneratedKernelBesideItsCounterpart) {
  const std::string program = compile("wse2", "medium");
  const ChildResult r =
      run("cs-sim", {program, "--report", path("report"), "--inputs", model_ + "inputs_4.npz"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const json stats = json::parse(slurp(path("report/stats.json")));
  EXPECT_EQ(stats.at("schema"), "wafersmith-stats/1");
  int generated = 0;
  for (const json& k : stats.at("kernels")) {
    if (k.at("origin") != "autogen") continue;
    ++generated;
    ASSERT_TRUE(k.contains("counterpart") && k["counterpart"].is_object()) << k.dump();
    EXPECT_GT(k["counterpart"].at("cycles").get<double>(), 0);
    EXPECT_GT(k["counterpart"].at("ratio").get<double>(), 0);
  }
  EXPECT_GT(generated, 0);
  // busy + stalls + idle = cycles x PEs, exactly.
  for (const json& k : stats.at("kernels")) {
    if (k.at("origin") == "host") continue;
    double total = k.at("busy").get<double>() + k.at("idle").get<double>();
    for (const auto& [why, cycles] : k.at("stalls").items()) total += cycles.get<double>();
    const json rect = k.at("rect");
    EXPECT_EQ(total, stats.at("cycles").get<double>() * rect[2].get<double>() * rect[3].get<double>())
        << k.dump();
  }
  EXPECT_TRUE(std::filesystem::exists(path("report/report.html")));
  EXPECT_TRUE(std::filesystem::exists(path("report/config.yaml")));
}

}  // namespace
}  // namespace cs::e2e
