// Errors of classes beside a suite, as a user meets them: written, compared, shown by a run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

class ClassErrors : public Scratch {
 protected:
  // Two descriptors are loaded, 4 cycles from the second to its use, 100 elements (tests/sim/vector_op.csl, whose
  // result lies on a source): 2 - 1 + 4 + 100 = 105, which is 87.5 % more than the 56 that are expected.
  ChildResult suite(std::vector<std::string> more = {}) const {
    more.insert(
        more.begin(),
        write("suite.yaml", "suite:\n  - name: vector\n    class: vector\n    program: " + kSource +
                                "/tests/sim/vector_op_layout.csl\n    params: {n: 100, shift: 1}\n"
                                "    launch: run\n    measure: at(tsc(stamps), 1) - at(tsc(stamps), 0) "
                                "- at(tsc(stamps), 3) + at(tsc(stamps), 2)\n    expect: {value: n - "
                                "44, tolerance: none, source: made up}\n"));
    return run("cs-regress", more);
  }
};

TEST_F(ClassErrors, AreWrittenWithTheTableAndComparedAtEveryRun) {
  const ChildResult written = suite({"--update"});
  EXPECT_EQ(written.exit_code, 0) << written.out << written.err;
  EXPECT_THAT(
      slurp(path("suite.classes.yaml")),
      HasSubstr("  - {class: vector, rows: 1, points: 1, mean_percent: 87.5, worst_percent: 87.5}\n"));
  EXPECT_EQ(suite().exit_code, 0);

  write("suite.classes.yaml",
        "classes:\n  - {class: vector, rows: 1, points: 1, mean_percent: 1.0, worst_percent: 1.0}\n");
  const ChildResult stale = suite();
  EXPECT_EQ(stale.exit_code, 1);
  EXPECT_THAT(stale.err, HasSubstr("the errors of classes are other ones"));
  write("suite.classes.yaml",
        "classes:\n  - {class: speed, rows: 1, points: 1, mean_percent: 1.0, worst_percent: 1.0}\n");
  EXPECT_THAT(suite().err, HasSubstr("there is no class 'speed'"));
}

// Its 100 multiply-adds are cycles of the class vector, its launch stands still for as long as a command
// takes.
TEST_F(ClassErrors, StandBesideTheCyclesOfARun) {
  const std::string out = path("v.csp");
  ASSERT_EQ(run("cs-compile", {kSource + "/tests/sim/vector_op_layout.csl", "-m", "wse2",
                               "--params=n:100,shift:1", "-o", out})
                .exit_code,
            0);
  const ChildResult r = run("cs-sim", {out, "--launch", "run", "--json"});
  ASSERT_EQ(r.exit_code, 0) << r.err;
  const json classes = json::parse(r.out).at("classes");
  ASSERT_EQ(classes.size(), 6u);
  EXPECT_EQ(classes[1].at("class"), "vector");
  EXPECT_GE(classes[1].at("pe_cycles").get<int>(), 100);
  EXPECT_GT(classes[1].at("mean_error_percent").get<double>(), 0);
  EXPECT_EQ(classes[4].at("class"), "launch");
  EXPECT_EQ(classes[4].at("pe_cycles"), 157);
  double shares = 0;
  for (const json& c : classes) shares += c.at("share").get<double>();
  EXPECT_NEAR(shares, 1, 1e-12);
  EXPECT_THAT(run("cs-sim", {out, "--launch", "run"}).out, HasSubstr("  classes       "));
}

}  // namespace
}  // namespace cs::e2e
