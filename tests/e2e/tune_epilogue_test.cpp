// Epilogues by measurement: when an operator joins the kernel that makes its operand, and which kernel that
// is then.
#include <gmock/gmock.h>

#include "tests/e2e/some_are_enough.h"
#include "tests/e2e/tune.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

// What a candidate is does not know of epilogues, and there are as many with one as without.
TEST_F(Tune, AnEpilogueMoreMakesNoCandidateMore) {
  const Tuned plain = tune(plain_product(), {"--autotune", "max", "--rect", "4x1"});
  const Tuned with = tune(product("with", "  - {name: g, op: gelu, inputs: [p]}\n", "g"),
                          {"--autotune", "max", "--rect", "4x1"});
  ASSERT_EQ(plain.exit_code, 0) << plain.err;
  ASSERT_EQ(with.exit_code, 0) << with.err;
  EXPECT_GE(plain.count("phase", "plain"), 2u);
  EXPECT_EQ(with.count("phase", "plain"), plain.count("phase", "plain"));
}

TEST_F(Tune, FirstWithoutEpilogueThenTheBestWithIt) {
  const Tuned t = tune(product("with", "  - {name: g, op: gelu, inputs: [p]}\n", "g"), {"--autotune", "max"});
  ASSERT_EQ(t.exit_code, 0) << t.err;
  size_t last_plain = 0, first_fused = t.log.size();
  for (size_t i = 0; i < t.log.size(); ++i) {
    const json& line = t.log[i];
    if (line.at("phase") == "plain") {
      last_plain = i;
      EXPECT_EQ(line.at("epilogue"), "none") << line;
    }
    if (line.at("phase") == "epilogue") {
      first_fused = std::min(first_fused, i);
      EXPECT_EQ(line.at("epilogue"), "gelu");
    }
  }
  ASSERT_LT(first_fused, t.log.size());
  EXPECT_LT(last_plain, first_fused);
  EXPECT_LE(t.count("phase", "epilogue"), 3u);  // unless another number is given
  ASSERT_EQ(t.report.at("tuning").at("decisions").size(), 1u);
  // One kernel for each instance: every operator is in one.
  std::multiset<std::string> nodes;
  for (const json& k : t.report.at("kernels"))
    for (const json& n : k.at("nodes")) nodes.insert(n.get<std::string>());
  EXPECT_EQ(nodes, (std::multiset<std::string>{"g", "p"}));
}

TEST_F(Tune, NoMoreKernelsAreMeasuredWithAnEpilogueThanAsked) {
  const std::string model = product("with", "  - {name: g, op: gelu, inputs: [p]}\n", "g");
  EXPECT_EQ(tune(model, {"--autotune", "max", "--epilogue-choices", "1"}).count("phase", "epilogue"), 1u);
  EXPECT_EQ(tune(model, {"--autotune", "max", "--epilogue-choices", "2"}).count("phase", "epilogue"), 2u);
}

TEST_F(Tune, EpiloguesAreFusedAlwaysOrNever) {
  const std::string model = product("with", "  - {name: g, op: gelu, inputs: [p]}\n", "g");
  for (const auto& [mode, kernels] : {std::pair{"always", 1u}, {"never", 2u}}) {
    ASSERT_EQ(run("cs-compile", {model, "--no-baselines", "--without", "regions", "--epilogue-fusion", mode,
                                 "-q", "-o", path("m.csp")})
                  .exit_code,
              0);
    const json report = json::parse(slurp(path("m.csp/compile_report.json")));
    const auto own =
        std::ranges::count_if(report.at("kernels"), [](const json& k) { return !k.at("nodes").empty(); });
    EXPECT_EQ(size_t(own), kernels) << mode;
  }
}

// On 4 PEs each of the product's PEs would compute 12 errors functions after its sums; a kernel of their own
// computes them while the next sums are made. The estimate says so too, and by how much the simulation does.
TEST_F(Tune, AnEpilogueThatIsSlowerStaysApart) {
  const Tuned t = tune(product("with", "  - {name: g, op: gelu, inputs: [p]}\n", "g"),
                       {"--autotune", "max", "--rect", "4x1", "--without", "regions"});
  ASSERT_EQ(t.exit_code, 0) << t.err;
  const json& decisions = t.report.at("tuning").at("decisions");
  ASSERT_EQ(decisions.size(), 1u);
  double fused = 1e30, plain = 1e30, alone = 0;
  for (const json& line : t.log) {
    if (!line.at("cycles").is_number()) continue;
    const double cycles = line.at("cycles");
    if (line.at("phase") == "epilogue") fused = std::min(fused, cycles);
    if (line.at("phase") == "plain") plain = std::min(plain, cycles);
    if (line.at("phase") == "alone") alone = cycles;
  }
  ASSERT_GT(fused, std::max(plain, alone));
  const std::string by = fmt::format("slower by {:.1f} %", 100 * (fused / std::max(plain, alone) - 1));
  EXPECT_THAT(decisions.at(0).get<std::string>(), HasSubstr(by));
  size_t kernels = 0;
  for (const json& k : t.report.at("kernels")) kernels += k.at("nodes").empty() ? 0 : 1;
  EXPECT_EQ(kernels, 2u);
  EXPECT_THAT(t.out, HasSubstr(by));
  // Who asks for it gets it, and is slower.
  const ChildResult r =
      run("cs-compile", {path("with.yaml"), "--rect", "4x1", "--without", "regions", "--epilogue-fusion",
                         "always", "--no-baselines", "-q", "-o", path("always.csp")});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_GT(interval("always.csp"), interval("t.csp"));
}

// Alone the library's product is the faster one. Its last column of PEs would compute all of the epilogue;
// the product by its loops has its results, and so the epilogue, on all columns.
TEST_F(Tune, AnEpilogueMakesTheOtherKernelTheBest) {
  const std::string model = product("with", "  - {name: g, op: gelu, inputs: [p]}\n", "g", 16, 64);
  const std::vector<std::string> on = {"--rect", "2x8", "--without", "regions"};
  const Tuned t = tune(model, {"--autotune", "max", on[0], on[1], on[2], on[3]});
  ASSERT_EQ(t.exit_code, 0) << t.err;
  const auto cycles = [&](const char* phase, const char* family) {
    for (const json& line : t.log)
      if (line.at("phase") == phase && line.at("family") == family) return line.at("cycles").get<double>();
    return 0.0;
  };
  EXPECT_LT(cycles("plain", "gemv"), cycles("plain", "dtg-region"));
  EXPECT_LT(cycles("epilogue", "dtg-region"), cycles("epilogue", "gemv"));
  EXPECT_THAT(t.report.at("tuning").at("decisions").at(0).get<std::string>(),
              HasSubstr("with it dtg-region is faster than gemv"));
  const ChildResult r = run("cs-compile", {model, on[0], on[1], on[2], on[3], "--epilogue-fusion", "always",
                                           "--no-baselines", "-q", "-o", path("always.csp")});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  EXPECT_LT(interval("t.csp"), interval("always.csp"));
}

// How many choices wait after a pass.
int waiting(const std::string& plan) {
  int count = 0;
  const std::string text = "waits for what joins it: ";
  for (size_t at = plan.find(text); at != std::string::npos; at = plan.find(text, at + 1)) ++count;
  return count;
}

class WaitingChoice : public Tune {
 protected:
  // Plans after each pass, in the network that is taken.
  std::map<std::string, std::string> plans(const std::string& model, std::vector<std::string> args) {
    args.insert(args.end(), {"--autotune", "max", "--dump-after", "all", "--dump-dir", path("dump")});
    const Tuned t = tune(model, args);
    EXPECT_EQ(t.exit_code, 0) << t.err;
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::directory_iterator(path("dump")))
      if (entry.path().extension() == ".yaml")
        all[entry.path().stem().string().substr(3)] = slurp(entry.path().string());
    return all;
  }
};

// What joins the product of the chain first decides for a kernel.
TEST_F(WaitingChoice, EndsWithTheFirstEpilogue) {
  const auto after = plans(chain(), {"--rect", "1x8", "--without", "regions"});
  EXPECT_EQ(waiting(after.at("policy")), 1);
  for (const char* kernel : {"gemv ", "dtg-contraction ", "dtg-region "})
    EXPECT_THAT(after.at("policy"), HasSubstr(kernel));
  EXPECT_EQ(waiting(after.at("fuse")), 0);
}

// One of two products gets nothing of what is behind it, so it waits until the end.
TEST_F(WaitingChoice, EndsBehindFusionWithoutAny) {
  const auto after = plans(two_products(), {"--fabric", "20x20"});
  EXPECT_EQ(waiting(after.at("policy")), 2);
  EXPECT_GE(waiting(after.at("regions")), 1);
  EXPECT_EQ(waiting(after.at("finalise")), 0);
}

// Each operator of the chain is decided for the kernel that has those before it.
TEST_F(WaitingChoice, OfAChainOneAfterAnother) {
  const Tuned t = tune(chain(), {"--autotune", "max", "--rect", "1x8", "--without", "regions"});
  ASSERT_EQ(t.exit_code, 0) << t.err;
  const json& decisions = t.report.at("tuning").at("decisions");
  ASSERT_EQ(decisions.size(), 3u);
  EXPECT_THAT(decisions.at(0), HasSubstr("p with a: one kernel with p, measured "));
  EXPECT_THAT(decisions.at(1), HasSubstr("p with b: one kernel with p, measured "));
  EXPECT_THAT(decisions.at(2), HasSubstr("p with c: not one kernel with p: slower by "));
  EXPECT_EQ(t.count("epilogue", "erf"), 3u);          // the kernels that wait
  EXPECT_EQ(t.count("epilogue", "erf+sigmoid"), 1u);  // the one that was taken
  EXPECT_EQ(t.count("epilogue", "erf+sigmoid+relu"), 1u);
}

// Behind the last of the chain: each operator is measured with every kernel that can have what joined before.
TEST_F(WaitingChoice, WaitsForAllOfAChainIfAsked) {
  const std::vector<std::string> on = {"--autotune", "max", "--rect", "1x8", "--without", "regions"};
  std::vector<std::string> deferred = on;
  deferred.push_back("--defer-epilogues");
  const Tuned first = tune(chain(), on, "first.csp"), all = tune(chain(), deferred, "all.csp");
  ASSERT_EQ(first.exit_code, 0) << first.err;
  ASSERT_EQ(all.exit_code, 0) << all.err;
  EXPECT_EQ(all.count("epilogue", "erf"), first.count("epilogue", "erf"));
  EXPECT_EQ(all.count("epilogue", "erf+sigmoid"), 3u);
  EXPECT_THAT(all.report.at("tuning").at("command").get<std::string>(), HasSubstr("--defer-epilogues"));
  EXPECT_LE(interval("all.csp"), interval("first.csp"));
  const auto after = plans(chain(), {"--rect", "1x8", "--without", "regions", "--defer-epilogues"});
  EXPECT_EQ(waiting(after.at("fuse")), 1);
  EXPECT_EQ(waiting(after.at("finalise")), 0);
}

// On a set of networks: what waits longer is no worse.
TEST_F(Tune, DeferringAllIsNotWorseThanDecidingEarly) {
  std::vector<std::string> models = {
      chain(), two_products(), product("gelu", "  - {name: g, op: gelu, inputs: [p]}\n", "g"),
      product("wide", "  - {name: a, op: tanh, inputs: [p]}\n  - {name: b, op: relu, inputs: [a]}\n", "b", 32, 64)};
  if (kSomeAreEnough) models.resize(1);
  for (const std::string& model : models) {
    SCOPED_TRACE(model);
    ASSERT_EQ(tune(model, {"--autotune", "max"}, "first.csp").exit_code, 0);
    ASSERT_EQ(tune(model, {"--autotune", "max", "--defer-epilogues"}, "all.csp").exit_code, 0);
    EXPECT_LE(interval("all.csp"), interval("first.csp"));
  }
}

TEST_F(Tune, DeferringIsOfWhatIsMeasured) {
  const ChildResult r = run("cs-compile", {chain(), "--defer-epilogues", "-o", path("m.csp")});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("it needs --autotune max"));
}

TEST_F(Tune, MeasuringEpiloguesIsWhatFullTuningDoes) {
  const std::string model = product("with", "  - {name: g, op: gelu, inputs: [p]}\n", "g");
  EXPECT_GT(tune(model, {"--autotune", "max"}).count("phase", "epilogue"), 0u);
  EXPECT_EQ(tune(model, {"--autotune", "default"}).count("phase", "epilogue"), 0u);
  EXPECT_GT(
      tune(model, {"--autotune", "default", "--epilogue-fusion", "benchmark"}).count("phase", "epilogue"),
      0u);
}

}  // namespace
}  // namespace cs::e2e
