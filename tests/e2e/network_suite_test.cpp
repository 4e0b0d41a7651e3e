// Suites of networks as a user runs them: estimated against simulated interval, both against an earlier
// build.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class NetworkSuite : public Scratch {
 protected:
  ChildResult suite(const std::string& keys) const {
    const std::string folder = kSource + "/tests/networks/squeeze_excite/";
    write("suite.yaml", "suite:\n  - name: squeeze_excite\n    program: " + folder +
                            "model.onnx\n    inputs: " + folder + "inputs_0.npz\n    check: " + folder +
                            "expected_0.npz\n" + keys);
    return run("cs-regress", {path("suite.yaml"), "-j", "1", "--update"});
  }
};

TEST_F(NetworkSuite, ComparesWithAnEarlierBuild) {
  const ChildResult faster = suite("    iterations: 8\n    baseline_interval: 1e9\n    joins: true\n");
  EXPECT_EQ(faster.exit_code, 0) << faster.out;
  EXPECT_THAT(faster.out, HasSubstr("1000000000.0"));
  EXPECT_THAT(faster.out, HasSubstr("of those with joins: "));
  EXPECT_THAT(faster.out, HasSubstr(" over 1\n"));
  EXPECT_THAT(faster.out, Not(HasSubstr("slower")));
  const ChildResult slower = suite("    iterations: 8\n    baseline_interval: 1\n");
  EXPECT_THAT(slower.out, HasSubstr("of those with joins: -\n"));
  EXPECT_THAT(slower.out, HasSubstr("slower than the baseline: squeeze_excite/wse2/medium\n"));
}

TEST_F(NetworkSuite, TheTableHoldsEstimateAndInterval) {
  suite("    iterations: 8\n    baseline_interval: 0\n");
  const std::string table = slurp(path("suite.table.yaml"));
  EXPECT_THAT(table, HasSubstr("estimated: "));
  EXPECT_THAT(table, Not(HasSubstr("interval: 0.0")));
}

TEST_F(NetworkSuite, ARowMayBeInSeveralGroups) {
  suite("    iterations: 8\n    group: quick,vision\n");
  for (const char* group : {"quick", "vision"}) {
    const ChildResult r = run("cs-regress", {path("suite.yaml"), "-j", "1", "--group", group});
    EXPECT_EQ(r.exit_code, 0) << r.out << r.err;
  }
  const ChildResult none = run("cs-regress", {path("suite.yaml"), "--group", "quick,vision"});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("no row has the group"));
}

// Each of the three kinds of networks, with a fixed and with a symbolic batch.
TEST_F(NetworkSuite, EveryNetworkIsOfOneKind) {
  std::istringstream lines(slurp(kSource + "/configs/suites/networks.yaml"));
  std::map<std::string, int> count;
  for (std::string line; std::getline(lines, line);) {
    const size_t at = line.find("    group: ");
    if (at == 0) ++count[(line.find("batch,") != std::string::npos ? "batch " : "") + line.substr(line.rfind(',') + 1)];
  }
  EXPECT_EQ(count.size(), 6u);
  for (const char* kind : {"mlp_cnn", "transformer", "vision", "batch mlp_cnn", "batch transformer", "batch vision"})
    EXPECT_GE(count[kind], 7) << kind;
}

TEST_F(NetworkSuite, AnIntervalNeedsIterations) {
  EXPECT_THAT(suite("    baseline_interval: 1\n").out, HasSubstr("the row needs `iterations`"));
}

}  // namespace
}  // namespace cs::e2e
