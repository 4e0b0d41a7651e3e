// Choices by measurement: what is measured, what is said of it, and that nothing else depends on it.
#include <gmock/gmock.h>

#include "tests/e2e/tune.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

TEST_F(Tune, ALineOfTheLogForEachMeasurement) {
  const Tuned t = tune(two_products(), {"--fabric", "20x20", "--autotune", "max"});
  ASSERT_EQ(t.exit_code, 0) << t.err;
  const json& tuning = t.report.at("tuning");
  size_t measured = 0;
  for (const auto& [status, n] : tuning.at("measured").items()) measured += n.get<size_t>();
  EXPECT_EQ(t.log.size(), measured);
  std::set<std::string> families, rectangles;
  for (size_t i = 0; i < t.log.size(); ++i) {
    const json& line = t.log[i];
    EXPECT_EQ(line.at("n"), i + 1);
    for (const char* key : {"phase", "kernel", "op", "formal", "family", "origin", "epilogue", "status"})
      EXPECT_TRUE(line.at(key).is_string()) << line;
    EXPECT_GT(line.at("wall_ms").get<double>(), 0) << line;
    EXPECT_EQ(line.at("cycles").is_number(), line.at("status") == "ok") << line;
    if (line.at("phase") != "plain") continue;
    families.insert(line.at("family"));
    rectangles.insert(line.at("exec").dump());
    EXPECT_EQ(line.at("formal"), "f32[1, 48] -> f32[1, 48]");
  }
  // The library's and the generated product, of one form of the network or another, on more than one rectangle.
  EXPECT_THAT(families, ::testing::IsSupersetOf({"gemv", "dtg-contraction"}));
  EXPECT_GT(rectangles.size(), 1u);
  EXPECT_THAT(t.out, HasSubstr("tuned (max): "));
}

TEST_F(Tune, WithoutTuningNothingIsMeasured) {
  const Tuned t = tune(two_products(), {"--fabric", "20x20", "--autotune", "off"});
  ASSERT_EQ(t.exit_code, 0) << t.err;
  EXPECT_TRUE(t.log.empty());
  EXPECT_FALSE(t.report.contains("tuning"));
  const ChildResult r =
      run("cs-compile", {two_products(), "--epilogue-fusion", "benchmark", "-o", path("b.csp")});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("--autotune default or max"));
}

TEST_F(Tune, TheEnvironmentSaysWhatFlagsSay) {
  const Environment level("WAFERSMITH_AUTOTUNE", "default");
  const Tuned t = tune(two_products(), {});
  ASSERT_EQ(t.exit_code, 0) << t.err;
  EXPECT_EQ(t.report.at("tuning").at("level"), "default");
  EXPECT_THAT(t.report.at("tuning").at("command").get<std::string>(), HasSubstr("--autotune default"));
  EXPECT_FALSE(tune(two_products(), {"--fabric", "20x20", "--autotune", "off"}).report.contains("tuning"));
}

// The interval of what is taken is what cs-sim says, and not longer than without.
TEST_F(Tune, TunedIsNotSlowerThanNotTuned) {
  const std::vector<std::string> models = {two_products(), kSource + "/tests/networks/deep_mlp/model.onnx"};
  for (const std::string& model : models) {
    ASSERT_EQ(
        run("cs-compile", {model, "--no-advice", "--no-baselines", "-q", "-o", path("off.csp")}).exit_code,
        0);
    const Tuned t = tune(model, {"--autotune", "max"});
    ASSERT_EQ(t.exit_code, 0) << t.err;
    const json& networks = t.report.at("tuning").at("networks");
    EXPECT_EQ(networks.at(0).at("interval_cycles").get<double>(), interval("off.csp")) << model;
    const auto taken = std::ranges::find_if(networks, [](const json& n) { return n.at("taken") == true; });
    ASSERT_NE(taken, networks.end());
    EXPECT_EQ(taken->at("interval_cycles").get<double>(), interval("t.csp")) << model;
    EXPECT_LE(interval("t.csp"), interval("off.csp")) << model;
  }
}

TEST_F(Tune, TheNumberOfWorkersChangesNothing) {
  const auto without_times = [](std::vector<json> log) {
    for (json& line : log) line.erase("wall_ms");
    return log;
  };
  const Tuned one = tune(
      two_products(), {"--fabric", "20x20", "--autotune", "default", "--autotune-workers", "1"}, "one.csp");
  const Tuned four = tune(
      two_products(), {"--fabric", "20x20", "--autotune", "default", "--autotune-workers", "4"}, "four.csp");
  ASSERT_EQ(four.exit_code, 0) << four.err;
  EXPECT_EQ(contents(path("one.csp")), contents(path("four.csp")));
  EXPECT_EQ(without_times(one.log), without_times(four.log));
}

TEST_F(Tune, ABudgetThatIsSpentKeepsTheBestSoFar) {
  const Tuned t =
      tune(two_products(), {"--fabric", "20x20", "--autotune", "max", "--autotune-budget", "0.05"});
  ASSERT_EQ(t.exit_code, 0) << t.err;
  EXPECT_EQ(t.report.at("tuning").at("cut_short"), true);
  EXPECT_GT(interval("t.csp"), 0);
}

// The same network with other baselines is another program, but its candidates are the same.
TEST_F(Tune, ASecondRunMeasuresNothing) {
  const std::vector<std::string> first = {"--fabric", "20x20",       "--autotune",
                                          "max",      "--cache-dir", path("cache")};
  const Tuned made = tune(two_products(), first, "a.csp");
  ASSERT_EQ(made.exit_code, 0) << made.err;
  EXPECT_GT(made.count("status", "ok"), 0u);
  const Tuned again = tune(two_products(), first, "b.csp");
  EXPECT_EQ(again.log.size(), 0u);  // the program was found
  EXPECT_EQ(contents(path("a.csp")), contents(path("b.csp")));
  const Tuned other = tune(
      two_products(),
      {"--fabric", "20x20", "--autotune", "max", "--cache-dir", path("cache"), "--epilogue-choices", "4"},
      "c.csp");
  ASSERT_EQ(other.log.size(), made.log.size());
  EXPECT_EQ(other.count("status", "local-hit"),
            made.count("status", "ok") + made.count("status", "local-hit"));
  EXPECT_EQ(other.count("status", "ok"), 0u);
}

TEST_F(Tune, AnotherComputersMeasurementsAreTaken) {
  const std::vector<std::string> a = {"--fabric",    "20x20",   "--autotune",     "max",
                                      "--cache-dir", path("a"), "--remote-cache", "dir:" + path("far")};
  const Tuned made = tune(two_products(), a);
  ASSERT_EQ(made.exit_code, 0) << made.err;
  const Tuned other =
      tune(two_products(), {"--fabric", "20x20", "--autotune", "max", "--cache-dir", path("b"),
                            "--remote-cache", "dir:" + path("far"), "--epilogue-choices", "4"});
  EXPECT_GT(other.count("status", "remote-hit"), 0u);
  EXPECT_EQ(other.count("status", "ok"), 0u);
}

// The line that a run prints gives the same program again.
TEST_F(Tune, ThePrintedLineGivesTheRunAgain) {
  const Tuned t =
      tune(two_products(), {"--fabric", "20x20", "--autotune", "default", "--epilogue-fusion", "never"});
  ASSERT_EQ(t.exit_code, 0) << t.err;
  const std::string command = t.report.at("tuning").at("command");
  EXPECT_THAT(t.out, HasSubstr("again: " + command));
  const ChildResult again = run_child(
      {"/bin/sh", "-c", "cd \"" + path("") + "\" && PATH=\"" + kBin + ":$PATH\" " + command + " -q -o again.csp"},
      kPatience);
  ASSERT_EQ(again.exit_code, 0) << again.err;
  EXPECT_EQ(contents(path("again.csp")), contents(path("t.csp")));
}

// Variants of a reduction run while compiling, and the program has one of them.
TEST_F(Tune, OfAReductionOneVariantIsInTheProgram) {
  const std::string model =
      write("sums.yaml",
            "inputs:\n  - {name: x, type: \"f32[1, 16, 24]\", sample_dim: 0}\nnodes:\n"
            "  - {name: s, op: reduce_sum, inputs: [x], attrs: {axes: [2], keepdims: 0}}\noutputs: [s]\n");
  const Tuned t = tune(model, {"--autotune", "max"});
  ASSERT_EQ(t.exit_code, 0) << t.err;
  std::set<std::string> variants;
  for (const json& line : t.log)
    if (line.at("phase") == "plain") variants.insert(line.at("family"));
  EXPECT_EQ(variants, (std::set<std::string>{"dtg-reduction", "row_reduce"}));
  ASSERT_EQ(t.report.at("kernels").size(), 1u) << t.report.at("kernels");
  const std::string taken = t.report.at("kernels").at(0).at("kernel");
  EXPECT_TRUE(variants.contains(taken)) << taken;
  // The library's file is in the program exactly if it computes.
  const ChildResult text = run("cs-objdump", {path("t.csp"), "--text"});
  ASSERT_EQ(text.exit_code, 0) << text.err;
  EXPECT_EQ(text.out.find("row_reduce.csl") != std::string::npos, taken == "row_reduce");
}

TEST_F(Tune, OptionsHaveHelpTexts) {
  const ChildResult r = run("cs-compile", {"--help"});
  for (const char* option :
       {"--autotune ", "--autotune-budget", "--autotune-log", "--autotune-workers", "--autotune-soft-timeout",
        "--autotune-hard-timeout", "--autotune-memory", "--epilogue-fusion", "--epilogue-choices",
        "--emit-kernel-runner", "--bisect-fusion"})
    EXPECT_THAT(r.out, HasSubstr(option));
}

// 2,304 multiply-adds: the library's kernel is one of the candidates, or none, by what is asked.
TEST_F(Tune, SmallProductsAreNotTheLibrarysWhereThatIsAskedFor) {
  const auto families = [&](const char* least) {
    const Tuned t = tune(plain_product(), {"--autotune", "default", "--least-library-product", least});
    EXPECT_EQ(t.exit_code, 0) << t.err;
    std::set<std::string> all;
    for (const json& line : t.log)
      if (line.at("phase") == "plain") all.insert(line.at("family"));
    return all;
  };
  EXPECT_TRUE(families("2304").contains("gemv"));
  EXPECT_FALSE(families("2305").contains("gemv"));
  // Where nothing is generated either, the host takes it, with the reason.
  const ChildResult r =
      run("cs-compile", {plain_product(), "--autogen-policy", "disabled", "--least-library-product", "2305",
                         "--no-baselines", "-o", path("host.csp")});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(
      r.err,
      HasSubstr("runs on the host: needed: a product of 2304 multiply-adds, the library's begin at 2305"));
}

}  // namespace
}  // namespace cs::e2e
