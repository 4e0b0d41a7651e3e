// Networks on fabrics that are wide, narrow and too small: what is placed, what the report says, what the
// message says when it does not fit.
#include <regex>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/mapping/known_plans.h"
#include "compiler/mapping/plan.h"
#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

// `layers` products of 64 × 64.
graph::Graph network(int layers) {
  graph::Graph g;
  g.name = "net";
  graph::ValueId v = g.add_input("x", {DataType::f32, {1, 64}});
  for (int l = 0; l < layers; ++l) {
    const graph::ValueId w = g.add_constant(
        "w" + std::to_string(l), ops::Tensor::from_floats({64, 64}, test::numbers(64 * 64, l + 1)));
    v = test::add_op(g, "fc" + std::to_string(l), "matmul", {v, w}, {1, 64}, Origin::handwritten);
  }
  g.set_output(v);
  return g;
}

std::optional<mapping::Mapped> placed(const graph::Graph& g, int width, int height, int threads, Diag& diag) {
  mapping::MapOptions options;
  options.fabric_width = width;
  options.fabric_height = height;
  options.threads = threads;
  return mapping::map_graph(g, test::machine("wse2"), options, diag);
}

// The fabric that a message tells the user to take.
std::pair<int, int> suggested(const std::string& message) {
  std::smatch m;
  if (!std::regex_search(message, m, std::regex("--fabric (\\d+)x(\\d+)"))) return {0, 0};
  return {std::stoi(m[1]), std::stoi(m[2])};
}

TEST(Place, RectanglesAreInsideAndApartAndOnASmallFabricTheSlowestIsBalanced) {
  const graph::Graph g = network(6);
  double before = 0;
  for (const auto& [width, height] : {std::pair{60, 60}, {16, 16}, {8, 8}, {5, 5}}) {
    Diag diag;
    const auto m = placed(g, width, height, 1, diag);
    ASSERT_TRUE(m) << diag.to_string();
    int64_t area = 0;
    double slowest = 0;
    for (size_t i = 0; i < m->placement.size(); ++i) {
      const Rect& r = m->placement[i].rect;
      EXPECT_TRUE(r.x >= 0 && r.y >= 0 && r.x + r.w <= width && r.y + r.h <= height);
      for (size_t j = 0; j < i; ++j) EXPECT_FALSE(r.intersects(m->placement[j].rect));
      area += r.area();
      slowest = std::max(slowest, m->placement[i].interval_cycles);
    }
    EXPECT_DOUBLE_EQ(m->figures.interval, slowest);
    EXPECT_GE(m->figures.area, area);  // columns of feeders count as a whole
    EXPECT_LE(m->figures.least_area, m->figures.area);
    EXPECT_LE(m->figures.interval_bound, slowest);
    EXPECT_LE(m->figures.area, int64_t(width) * height);
    EXPECT_GE(slowest, before) << "less room, but faster";
    before = slowest;
  }
}

TEST(Place, TheResultDoesNotDependOnThreads) {
  Diag diag;
  const auto one = placed(network(7), 12, 12, 1, diag), three = placed(network(7), 12, 12, 3, diag);
  ASSERT_TRUE(one && three) << diag.to_string();
  EXPECT_EQ(one->files, three->files);
}

TEST(Place, ANetworkThatNeedsMorePesNamesAFabricThatHoldsIt) {
  // Twelve products of 64 × 64: one PE each holds 16 KB of weights, nothing shares a PE.
  const graph::Graph g = network(12);
  Diag diag;
  ASSERT_FALSE(placed(g, 3, 3, 1, diag));
  EXPECT_THAT(
      diag.to_string(),
      testing::HasSubstr("needs at least 12 PEs for 12 kernels, a fabric of 3 x 3 has 9 (3 too few)"));
  const auto [width, height] = suggested(diag.to_string());
  ASSERT_GE(width * height, 12) << diag.to_string();
  Diag second;
  EXPECT_TRUE(placed(g, width, height, 1, second)) << second.to_string();
}

TEST(Place, AKernelThatNeedsMoreMemoryNamesAFabricThatHoldsIt) {
  test::GemmCase c{1, 2000, 2000, "", Origin::handwritten, {}, {}};
  const graph::Graph g = test::gemm_graph(c);
  Diag diag;
  EXPECT_FALSE(placed(g, 4, 4, 1, diag));
  // 2000 × 2000 weights of 4 bytes on 2 × 4 PEs are 2 MB each; a PE has 49152 bytes.
  EXPECT_THAT(diag.to_string(),
              testing::AllOf(testing::HasSubstr("a PE has 49152 B"), testing::HasSubstr("weights")));
  const auto [width, height] = suggested(diag.to_string());
  // 16 MB of weights need at least 326 PEs.
  ASSERT_GE(width * height, 326) << diag.to_string();
  Diag second;
  EXPECT_TRUE(placed(g, width, height, 1, second)) << second.to_string();
}

TEST(Place, WhatTheMachineCannotHoldIsSaid) {
  Diag diag;
  Machine machine = test::machine("wse2");
  machine.fabric.user_width = machine.fabric.user_height = 3;
  EXPECT_FALSE(mapping::map_graph(network(12), machine, {}, diag));
  // Twelve PEs, the machine has nine.
  EXPECT_THAT(diag.to_string(),
              testing::AllOf(testing::HasSubstr("all 3 x 3 PEs of the machine do not hold it either"),
                             testing::HasSubstr("smaller, by 3 PEs together"),
                             testing::HasSubstr("most: fc0 (12 like it, 1 PE each)")));
}

// The slowest kernel's best plan takes 1000 cycles, so half of that is 500; the third kernel has nothing that fast
// and keeps what is within 2 % of its best.
// Ladder of passes/fallbacks.h: not one compilation for each of a hundred kernels.
TEST(Place, WhereNoPlacementIsFoundASixteenthStepsDownAtOnce) {
  mapping::Parts parts;
  mapping::PlanLists plans;
  for (int i = 0; i < 100; ++i) {
    parts.instances.emplace_back().name = "fc" + std::to_string(i);
    mapping::SizedPlan plan;
    plan.plan.cut.w = 10, plan.plan.cut.h = 10;
    plans.push_back(std::vector{plan});
  }
  const auto share = double(least_area(parts, plans)) / 100;
  for (const int side : {400, 50}) {  // much more than they need, a quarter
    const auto misfits = too_large_together(parts, plans, {side, side});
    const double goal = std::min(0.8 * side * side, 15.0 / 16 * 100 * share);
    EXPECT_EQ(misfits.size(), size_t(std::ceil((100 * share - goal) / 100))) << side;
  }
}

TEST(Sizing, KernelsKeepPace) {
  mapping::PlanLists plans;
  const std::vector<std::vector<double>> cycles = {{4000, 1000}, {900, 500, 100}, {800, 707, 700}};
  for (const std::vector<double>& of : cycles) {
    std::vector<mapping::SizedPlan> list(of.size());
    for (size_t k = 0; k < of.size(); ++k) list[k].plan.interval_cycles = of[k];
    plans.emplace_back(std::move(list));
  }
  plans.push_back(plans[1]);  // a twin
  mapping::PlanLists same = plans;
  mapping::keep_pace(same, 1);
  mapping::keep_pace(plans, 0.5);
  const auto intervals = [](const mapping::PlanList& list) {
    std::vector<double> out;
    for (const mapping::SizedPlan& p : list) out.push_back(p.plan.interval_cycles);
    return out;
  };
  for (size_t i = 0; i < cycles.size(); ++i) EXPECT_EQ(intervals(same[i]), cycles[i]);
  EXPECT_EQ(intervals(plans[0]), (std::vector<double>{1000}));
  EXPECT_EQ(intervals(plans[1]), (std::vector<double>{500, 100}));
  EXPECT_EQ(intervals(plans[2]), (std::vector<double>{707, 700}));
  EXPECT_EQ(plans[3].id(), plans[1].id()) << "lists that were shared still are";
  EXPECT_EQ(same[1].id(), same[3].id());
}

// Each time with other options, and all of them once more.
TEST(KnownPlans, AreThoseThatAreFoundAlone) {
  const graph::Graph g = network(3);
  std::vector<mapping::MapOptions> all(6);
  all[1].fabric_width = all[1].fabric_height = 40;
  all[2].force_width = 4;
  all[3].more_bytes["fc1"] = 20'000;
  all[4].max_pes_per_kernel = 4;
  all[5].most_width = all[5].most_height = 3;
  const auto known = std::make_shared<mapping::KnownPlans>();
  for (const bool again : {false, true})
    for (mapping::MapOptions options : all) {
      Diag diag;
      const auto alone = mapping::map_graph(g, test::machine("wse2"), options, diag);
      options.known_plans = known;
      const auto with = mapping::map_graph(g, test::machine("wse2"), options, diag);
      ASSERT_TRUE(alone && with) << diag.to_string() << again;
      EXPECT_EQ(with->files, alone->files);
      EXPECT_EQ(with->estimate.interval_cycles, alone->estimate.interval_cycles);
    }
}

}  // namespace
}  // namespace cs
