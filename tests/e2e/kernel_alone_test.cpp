// Kernels as programs of their own, and the search for a fusion that is wrong.
#include <gmock/gmock.h>

#include "tests/e2e/tune.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

class KernelRunners : public Tune {};

// Every kernel of a transformer alone: its command compares with what the host computes.
TEST_F(KernelRunners, EveryKernelOfGpt2PassesAlone) {
  ASSERT_EQ(run("cs-compile", {kSource + "/models/configs/gpt2_tiny.yaml", "--no-baselines", "--no-advice",
                               "-q", "-o", path("net.csp"), "--emit-kernel-runner", path("runners")})
                .exit_code,
            0);
  const json list = json::parse(slurp(path("runners/runners.json")));
  const json report = json::parse(slurp(path("net.csp/compile_report.json")));
  std::set<std::string> kernels, runners, families;
  for (const json& k : report.at("kernels"))
    if (k.at("origin") != "host" && !k.at("nodes").empty()) kernels.insert(k.at("name"));
  for (const json& r : list.at("runners")) {
    runners.insert(r.at("kernel"));
    families.insert(r.at("family"));
    const ChildResult ran = run_child(
        {"/bin/sh", "-c",
         "PATH=\"" + kBin + ":$PATH\" sh \"" + path("runners/") + r.at("command").get<std::string>() + "\""},
        kPatience);
    EXPECT_EQ(ran.exit_code, 0) << r << ran.out << ran.err;
  }
  EXPECT_EQ(kernels, runners);
  EXPECT_GE(families.size(), 3u);
}

TEST_F(KernelRunners, NoOtherFolderIsReplaced) {
  std::filesystem::create_directories(path("mine"));
  write("mine/file", "x");
  const ChildResult r = run("cs-compile", {two_products(), "--no-baselines", "-o", path("net.csp"),
                                           "--emit-kernel-runner", path("mine")});
  EXPECT_EQ(r.exit_code, 1);
  EXPECT_THAT(r.err, HasSubstr("does not replace it"));
  EXPECT_EQ(slurp(path("mine/file")), "x");
}

class BisectFusion : public Tune {};

TEST_F(BisectFusion, ANetworkThatAgrees) {
  const ChildResult r = run("cs-compile", {two_products(), "--no-baselines", "--bisect-fusion"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("the network computes what the host does"));
}

TEST_F(BisectFusion, TheWrongFusionIsNamed) {
  for (const std::string wrong : {"r", "s"}) {
    const Environment hook("WAFERSMITH_TEST_WRONG_FUSION", wrong);
    const ChildResult r = run("cs-compile", {two_products(), "--no-baselines", "--bisect-fusion"});
    EXPECT_EQ(r.exit_code, 4) << r.out << r.err;
    EXPECT_THAT(r.out, HasSubstr("the first with which the network differs is " + wrong + ", "));
  }
}

}  // namespace
}  // namespace cs::e2e
