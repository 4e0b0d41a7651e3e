// --rewrite attention=on: attention of networks as PyTorch exports them, and of a configuration, is one
// operator, whose kernel lets no score out, and gives the values of its primitives.
#include <gmock/gmock.h>

#include <tuple>

#include <nlohmann/json.hpp>

#include "runtime/support/files.h"
#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using nlohmann::json;

struct Network {
  const char* name;
  int attentions;
  std::vector<std::string> more = {};
};

class Attention : public Scratch {
 protected:
  void compile(const std::string& model, std::vector<std::string> more) const {
    more.insert(more.begin(),
                {model, "--rewrite", "attention=on", "--no-baselines", "--no-advice", "-o", path("p.csp")});
    const ChildResult made = run("cs-compile", more);
    ASSERT_EQ(made.exit_code, 0) << made.err;
  }
  // Of attentions.
  int kernels() const {
    const json report = json::parse(slurp(path("p.csp") + "/compile_report.json"), nullptr, false);
    int count = 0;
    for (const json& kernel : report["kernels"]) count += kernel.value("kernel", "") == "streamed_attention";
    return count;
  }
};

class AttentionOf : public Attention, public testing::WithParamInterface<Network> {};

// Of the library where nothing is generated; else what is faster, which for so few tokens are regions.
TEST_P(AttentionOf, ANetworkIsRight) {
  const Network& n = GetParam();
  const std::string folder = kSource + "/tests/networks/" + n.name + "/";
  for (const std::string machine : {"wse2", "wse3"}) {
    for (const std::string policy : {"disabled", "medium"}) {
      std::vector<std::string> more = n.more;
      more.insert(more.end(), {"-m", machine, "--autogen-policy", policy, "--host-ops", "allow"});
      compile(folder + "model.onnx", more);
      EXPECT_TRUE(policy != "disabled" || kernels() == n.attentions) << kernels();
      const ChildResult checked = run("cs-sim", {path("p.csp"), "-q", "--inputs", folder + "inputs_0.npz",
                                                 "--expect", folder + "expected_0.npz"});
      EXPECT_EQ(checked.exit_code, 0) << checked.err;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Networks, AttentionOf,
                         testing::Values(Network{"vit_tiny", 2}, Network{"gpt_block", 1},
                                         Network{"llama_block", 1}, Network{"cross_attention", 2},
                                         Network{"transformer_encoder", 2},
                                         Network{"gpt_block", 2, {"--shards", "2"}}),
                         [](const auto& info) {
                           return std::string(info.param.name) +
                                  (info.param.more.empty() ? "" : "_in_shards");
                         });

// Of two heads, in 16-bit floats as well, with policies that generate nothing and everything; scores of T5
// have a bias, which each of its two layers has in its encoder and in its decoder.
TEST_F(Attention, OfAConfiguration) {
  for (const auto& [model, attentions] :
       {std::pair<std::string, int>{"gpt2_tiny", 1}, {"gpt2_tiny_fp16", 1}, {"t5_tiny", 3}}) {
    const std::string file = kSource + "/models/configs/" + model + ".yaml";
    ASSERT_EQ(
        run("cs-compile", {file, "--autogen-policy", "disabled", "--host-ops", "allow", "-o", path("p.csp")})
            .exit_code,
        0);
    EXPECT_EQ(
        run("cs-sim", {path("p.csp"), "-q", "--iterations", "3", "--outputs", path("want.npz")}).exit_code,
        0);
    for (const std::string policy : {"disabled", "medium", "aggressive"}) {
      compile(file, {"--autogen-policy", policy, "--host-ops", "allow"});
      EXPECT_TRUE(policy != "disabled" || kernels() == attentions) << model << ": " << kernels();
      const ChildResult checked =
          run("cs-sim", {path("p.csp"), "-q", "--iterations", "3", "--expect", path("want.npz")});
      EXPECT_EQ(checked.exit_code, 0) << checked.err;
    }
  }
}

// Alone, on rectangles where a row has four blocks and two, from sample to sample: keys and values pass on one link,
// and the first columns are as far ahead of the last one as blocks of queries wait.
TEST_F(Attention, AloneTakesWhatIsEstimated) {
  for (const auto& [machine, type, queries, rect] :
       {std::tuple{"wse2", "f16", "256", "8x4"}, {"wse3", "f32", "128", "16x4"}}) {
    const auto value = [&](const std::string& name, const std::string& rows) {
      return "  - {name: " + name + ", type: \"" + type + "[1, " + rows + ", 64]\"}\n";
    };
    Diag diag;
    ASSERT_TRUE(write_file_atomic(path("a.yaml"),
                                  "graph: a\ninputs:\n" + value("q", queries) + value("k", "256") +
                                      value("v", "256") +
                                      "nodes:\n  - {name: y, op: attention, inputs: [q, k, v], attrs: {scale: "
                                      "0.125}}\noutputs: [y]\n",
                                  diag));
    compile(path("a.yaml"), {"-m", machine, "--rect", rect, "--autogen-policy", "disabled"});
    const json report = json::parse(slurp(path("p.csp") + "/compile_report.json"), nullptr, false);
    const ChildResult ran = run("cs-sim", {path("p.csp"), "-q", "--iterations", "5", "--json"});
    ASSERT_EQ(ran.exit_code, 0) << ran.err;
    const double simulated = json::parse(ran.out)["interval_cycles"];
    const double estimated = report["estimate"]["interval_cycles"];
    EXPECT_NEAR(estimated / simulated, 1, 0.1) << machine << ": " << estimated << " and " << simulated;
  }
}

}  // namespace
}  // namespace cs::e2e
