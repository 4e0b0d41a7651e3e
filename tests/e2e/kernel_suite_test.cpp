// Suites of single kernels as a user runs them: the table, what a cause is for, and what is refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

class KernelSuite : public Scratch {
 protected:
  ChildResult suite(const std::string& rows, bool update = false) const {
    write("suite.yaml", "suite:\n" + rows);
    std::vector<std::string> arguments{path("suite.yaml"), "-j", "1"};
    if (update) arguments.push_back("--update");
    return run("cs-regress", arguments);
  }
};

const std::string kGemv =
    "  - name: gemv\n    op: matmul\n    policy: [medium, aggressive]\n    cases:\n"
    "      - {rect: [2, 2], operands: [{shape: [1, 64]}, {shape: [64, 64], constant: true}]";

TEST_F(KernelSuite, ShowsBothKernelsInOneLine) {
  const ChildResult r = suite(kGemv + "}\n", true);
  EXPECT_EQ(r.exit_code, 0) << r.out;
  // 2 * 64 * 64 operations at 2 per cycle on 4 PEs, and two hops.
  EXPECT_THAT(r.out, HasSubstr("1026.0 compute"));
  EXPECT_THAT(r.out, HasSubstr("2 passed, 0 failed"));
  EXPECT_THAT(r.out, HasSubstr("generated / handwritten, geometric mean: gemv"));
  EXPECT_EQ(suite(kGemv + "}\n").exit_code, 0);  // the committed table agrees
}

TEST_F(KernelSuite, ACauseThatNothingNeedsFails) {
  const ChildResult r = suite(kGemv + ", cause: \"slow\"}\n", true);
  EXPECT_EQ(r.exit_code, 4);
  EXPECT_THAT(r.out, HasSubstr("its `cause` can go"));
}

TEST_F(KernelSuite, AWalkIsAsGoodAsTheCyclesThatAreSimulated) {
  // 2 x 2 PEs hardly wait for each other.
  EXPECT_THAT(suite(kGemv + "}\n", true).out, HasSubstr("2 walks within 5 %"));
  const ChildResult r = suite(kGemv + ", walk_missed: \"waits\"}\nwalks: true\n", true);
  EXPECT_EQ(r.exit_code, 4);
  EXPECT_THAT(r.out, HasSubstr("its `walk_missed` can go"));
}

TEST_F(KernelSuite, BeyondTheLimitACauseIsNeeded) {
  // Eight PEs could take eight words a cycle; one stream brings one.
  const std::string row =
      "  - name: relu\n    op: relu\n    cases:\n      - {rect: [8, 1], operands: [{shape: [1, 4096]}]";
  const ChildResult bare = suite(row + "}\n", true);
  EXPECT_EQ(bare.exit_code, 4);
  EXPECT_THAT(bare.out, HasSubstr("name the `cause`"));
  EXPECT_EQ(suite(row + ", cause: \"one stream\"}\n", true).exit_code, 0);
}

TEST_F(KernelSuite, BadRowsAreRefusedWithTheirPosition) {
  const ChildResult op = suite("  - name: a\n    op: gemn\n    cases: []\n");
  EXPECT_EQ(op.exit_code, 1);
  EXPECT_THAT(op.err, HasSubstr("there is no operator 'gemn'"));
  const ChildResult rect =
      suite("  - {name: a, op: relu, cases: [{rect: [0, 1], operands: [{shape: [1, 4]}]}]}\n");
  EXPECT_EQ(rect.exit_code, 1);
  EXPECT_THAT(rect.err, HasSubstr("each at least 1"));
  const ChildResult attr = suite("  - {name: a, op: relu, attrs: {slope: 1}, cases: []}\n");
  EXPECT_EQ(attr.exit_code, 1);
  EXPECT_THAT(attr.err, HasSubstr("no attribute 'slope'"));
  const ChildResult cases = suite("  - {name: a, op: relu}\n");
  EXPECT_EQ(cases.exit_code, 1);
  EXPECT_THAT(cases.err, HasSubstr("needs 'cases'"));
}

}  // namespace
}  // namespace cs::e2e
