// Configurations through the tools: every nonlinearity on the wafer against the host, policies, merged keys.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

class ModelConfigs : public Scratch {
 protected:
  const std::string mlp_ = kSource + "/models/configs/mlp_tiny.yaml";
};

TEST_F(ModelConfigs, EveryNonlinearityComputesTheSameOnHostAndWafer) {
  for (const char* f : {"relu",       "leaky_relu",   "relu6",        "silu",     "gelu",     "gelu_new",
                        "quick_gelu", "squared_gelu", "squared_relu", "tanh",     "sigmoid",  "mish",
                        "hardswish",  "hardsigmoid",  "hardtanh",     "softplus", "softsign", "elu",
                        "selu",       "celu",         "logsigmoid",   "linear"}) {
    const std::string set = std::string("model.activation_fn=") + f;
    ASSERT_EQ(run("cs-compile", {mlp_, "--set", set, "--autogen-policy", "disabled", "-o", path("a.csp")})
                  .exit_code,
              0)
        << f;
    ASSERT_EQ(run("cs-compile", {mlp_, "--set", set, "--autogen-policy", "aggressive", "--no-baselines", "-o",
                                 path("b.csp")})
                  .exit_code,
              0)
        << f;
    ASSERT_EQ(run("cs-sim", {path("a.csp"), "--outputs", path("out.npz")}).exit_code, 0) << f;
    const ChildResult r = run("cs-sim", {path("b.csp"), "--expect", path("out.npz")});
    EXPECT_EQ(r.exit_code, 0) << f << r.out << r.err;
  }
}

TEST_F(ModelConfigs, ThePolicyOfTheFileCountsUnlessTheCommandLineSaysOtherwise) {
  const std::string file = write("m.yaml",
                                 "model: {name: mlp, hidden_sizes: [4], input_size: 4, num_classes: 2}\n"
                                 "runconfig: {autogen_policy: aggressive}\n");
  EXPECT_THAT(run("cs-compile", {file, "--explain", "origins"}).out, HasSubstr("under policy aggressive"));
  EXPECT_THAT(run("cs-compile", {file, "--explain", "origins", "--autogen-policy", "disabled"}).out,
              HasSubstr("under policy disabled"));
  const ChildResult printed = run("cs-compile", {file, "--print-config", "--autogen-policy", "disabled"});
  EXPECT_EQ(printed.exit_code, 0);
  EXPECT_THAT(printed.out, HasSubstr("m.yaml:2"));
  EXPECT_THAT(printed.out, HasSubstr("policy in effect: disabled, from --autogen-policy"));
}

// PEs of 5500 bytes hold of a small network what real ones hold of GPT-2: scores and their product with the
// values go head by head, softmax takes its rows in rounds. Several samples: what waits for a sample must not
// stop the next.
TEST_F(ModelConfigs, AttentionInPartsComputesTheSame) {
  const std::string model = kSource + "/models/configs/gpt2_long_fp16.yaml", out = path("a.csp");
  for (const char* machine : {"wse2", "wse3"}) {
    const ChildResult made =
        run("cs-compile",
            {model, "-m", machine, "--set", "machine.core.memory_bytes=5500", "--no-baselines", "-o", out});
    ASSERT_EQ(made.exit_code, 0) << machine << made.err;
    const std::string report = slurp(out + "/compile_report.json");
    for (const char* kernel :
         {"layer0_attention_scores", "layer0_attention_softmax", "layer0_attention_mixed"})
      EXPECT_THAT(report, HasSubstr("\"name\": \"" + std::string(kernel) + "\"")) << machine;
    const ChildResult one =
        run("cs-sim", {out, "--expect", kSource + "/models/configs/expected/gpt2_long.npz"});
    EXPECT_EQ(one.exit_code, 0) << machine << one.out << one.err;
    const ChildResult three = run("cs-sim", {out, "--iterations", "3"});
    EXPECT_EQ(three.exit_code, 0) << machine << three.out << three.err;
  }
}

// One of the twelve layers, in every other way the real size: 50257 words, 1024 steps, 12 heads.
// Attention's 12.6 million scores are a part per head, the vocabulary a table in parts, the weights lie on as
// many PEs as they need.
TEST_F(ModelConfigs, ALayerOfGpt2SmallFitsTheWafer) {
  const ChildResult r =
      run("cs-compile", {kSource + "/models/configs/gpt2_small.yaml", "--set", "model.num_hidden_layers=1",
                         "--no-baselines", "--json", "-o", path("a.csp")});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  // The logits alone are 1024 x 50257 words of one stream; nothing else may take longer than a tenth more.
  const nlohmann::json report = nlohmann::json::parse(slurp(path("a.csp/compile_report.json")));
  EXPECT_LT(report.at("floorplan").at("interval_cycles").get<double>(), 1.1 * 1024 * 50257);
}

}  // namespace
}  // namespace cs::e2e
