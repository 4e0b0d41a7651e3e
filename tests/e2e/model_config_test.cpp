// Configurations through the tools: every nonlinearity on the wafer against the host, policies, merged keys.
#include <gmock/gmock.h>

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

}  // namespace
}  // namespace cs::e2e
