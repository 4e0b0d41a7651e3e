// cs-regress --policies: what it says of figures, and a suite as a user runs it.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/run_tool.h"
#include "tools/cs-regress/policy_table.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

// What jobs of one row gave: interval, cycles and host operators of disabled, medium and aggressive, first with the
// host as it is and then with a dear one.
struct Given {
  double interval = 0, cycles = 1000;
  int host_operators = 0;
};

std::vector<PolicyRow> judged(const std::vector<Given>& figures) {
  Job row;
  row.name = "net/wse2/medium";
  Diag diag;
  const auto jobs = jobs_of_policies({row}, diag);
  std::vector<Result> results;
  for (const Given& g : figures) {
    Result r;
    r.ok = true;
    r.figures = Figures{.cycles = g.cycles, .interval = g.interval, .host_operators = g.host_operators};
    results.push_back(std::move(r));
  }
  return judge_policies(*jobs, results);
}

TEST(Policies, MediumIsHeldAgainstTheFasterOne) {
  const auto rows = judged({{100}, {103}, {99}, {100}, {102}, {120}});
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].name, "net/wse2/host-x1");
  EXPECT_EQ(rows[0].wrong, "3.0 % slower than disabled, 4.0 % slower than aggressive");
  EXPECT_DOUBLE_EQ(rows[0].ratio, 103.0 / 99.0);
  EXPECT_EQ(rows[1].name, "net/wse2/host-x10");
  EXPECT_EQ(rows[1].wrong, "");
}

TEST(Policies, CyclesCountWhereThereIsNoInterval) {
  const auto rows = judged({{0, 500}, {90, 511}, {95, 600}, {100}, {100}, {100}});
  EXPECT_EQ(rows[0].quantity, "cycles");
  EXPECT_EQ(rows[0].wrong, "2.2 % slower than disabled");
  EXPECT_EQ(rows[1].quantity, "interval");
}

TEST(Policies, OnlyHostOperatorsMakeCyclesDependOnTheHost) {
  const auto with = judged({{100, 1000, 1}, {50}, {50}, {900, 9000, 1}, {50}, {50}});
  EXPECT_EQ(with[1].wrong, "");
  const auto without = judged({{100}, {50}, {50}, {100, 1100}, {50}, {50}});
  EXPECT_EQ(without[0].wrong, "");
  EXPECT_EQ(without[1].wrong, "disabled takes 1100 cycles, with the host at its own costs 1000");
}

class PoliciesOfASuite : public Scratch {
 protected:
  std::string suite(const std::string& keys) const {
    const std::string folder = kSource + "/tests/networks/squeeze_excite/";
    return write("suite.yaml", "suite:\n  - name: net\n    program: " + folder + "model.onnx\n    inputs: " + folder +
                                   "inputs_0.npz\n    check: " + folder + "expected_0.npz\n" + keys);
  }
};

// Under disabled its poolings and functions are the host's.
TEST_F(PoliciesOfASuite, ADearerHostCostsDisabledAlone) {
  const ChildResult r =
      run("cs-regress",
          {suite("    policy: [medium, aggressive]\n    iterations: 8\n"), "--policies", "-j", "1", "--json"});
  ASSERT_THAT(r.exit_code, ::testing::AnyOf(0, 4)) << r.err;
  const auto rows = nlohmann::json::parse(r.out).at("rows");
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[1].at("name"), "net/wse2/host-x10");
  EXPECT_EQ(rows[0].at("quantity"), "interval");
  EXPECT_EQ(rows[0].at("host_operators"), 0);
  EXPECT_EQ(rows[0].at("medium"), rows[1].at("medium"));
  EXPECT_GT(rows[1].at("disabled").get<double>(), 5 * rows[0].at("disabled").get<double>());
}

TEST_F(PoliciesOfASuite, ARowOfOneSampleRunsAsManyAsItsIntervalNeeds) {
  const ChildResult r = run("cs-regress", {suite(""), "--policies", "-j", "1", "--json"});
  ASSERT_THAT(r.exit_code, ::testing::AnyOf(0, 4)) << r.err;
  const nlohmann::json report = nlohmann::json::parse(r.out);
  for (const auto& row : report.at("rows")) EXPECT_EQ(row.at("quantity"), "interval");
}

TEST_F(PoliciesOfASuite, HasNoTable) {
  const ChildResult r = run("cs-regress", {suite(""), "--policies", "--update"});
  EXPECT_EQ(r.exit_code, 2);
  EXPECT_THAT(r.err, HasSubstr("--policies takes a SUITE, and has no table to update"));
}

}  // namespace
}  // namespace cs::e2e
