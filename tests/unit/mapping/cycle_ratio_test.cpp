// The largest ratio of a cycle: by hand, and by graphs in which no cycle may be larger.
#include "compiler/algo/cycle_ratio.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "runtime/support/rng.h"

namespace cs {
namespace {

TEST(CycleRatio, IsThatOfTheWorstCircle) {
  // 0 -> 1 -> 0 takes 3 + 4 cycles with one token, 1 -> 2 -> 1 takes 20 with four, and 3 is in none.
  const std::vector<algo::TimedEdge> edges = {
      {0, 1, 3, 0}, {1, 0, 4, 1}, {1, 2, 5, 0}, {2, 1, 15, 4}, {2, 3, 99, 1}};
  const auto found = algo::maximum_cycle_ratio(4, edges);
  ASSERT_TRUE(found);
  EXPECT_DOUBLE_EQ(found->ratio, 7);
  EXPECT_EQ(found->edges.size(), 2U);
  // With two tokens the second one is worse: 20 / 4 against 7 / 2.
  std::vector<algo::TimedEdge> slower = edges;
  slower[1].tokens = 2;
  EXPECT_DOUBLE_EQ(algo::maximum_cycle_ratio(4, slower)->ratio, 5);
  EXPECT_FALSE(algo::maximum_cycle_ratio(2, {{0, 1, 3, 0}}));
}

// Every vertex is as late as the latest way to it of at most as many edges as there are vertices; if one more makes
// something later, a cycle takes more than `ratio` a token.
bool has_larger(size_t vertices, const std::vector<algo::TimedEdge>& edges, double ratio) {
  std::vector<double> late(vertices, 0);
  bool later = true;
  for (size_t round = 0; round <= vertices && later; ++round) {
    later = false;
    for (const algo::TimedEdge& e : edges) {
      const double at = late[e.from] + e.delay - e.tokens * ratio;
      if (at > late[e.to] + 1e-9) late[e.to] = at, later = true;
    }
  }
  return later;
}

// Edges to earlier vertices have tokens, so that every cycle does. Some vertices come to no cycle, some graphs have
// none, many cycles are alike.
TEST(CycleRatio, NoOtherCycleIsLarger) {
  Rng rng(1);
  int without = 0;
  for (int k = 0; k < 2000; ++k) {
    const uint32_t vertices = 2 + rng.below(40), delays = k % 3 == 0 ? 3 : 1000;
    std::vector<algo::TimedEdge> edges;
    for (uint32_t n = vertices * (1 + rng.below(3)) / 2; n > 0; --n) {
      const size_t from = rng.below(vertices), to = rng.below(vertices);
      edges.push_back({from, to, double(rng.below(delays)) - delays / 4, to <= from ? int(1 + rng.below(3)) : 0});
    }
    const auto found = algo::maximum_cycle_ratio(vertices, edges);
    if (!found) {
      EXPECT_FALSE(has_larger(vertices, edges, -1e6)) << k;
      ++without;
      continue;
    }
    double delay = 0, tokens = 0;
    for (size_t e = 0; e < found->edges.size(); ++e) {
      const algo::TimedEdge &edge = edges[found->edges[e]], &next = edges[found->edges[(e + 1) % found->edges.size()]];
      EXPECT_EQ(edge.to, next.from) << k;
      delay += edge.delay, tokens += edge.tokens;
    }
    EXPECT_DOUBLE_EQ(found->ratio, delay / tokens) << k;
    EXPECT_FALSE(has_larger(vertices, edges, found->ratio + algo::kCycleRatioNear * vertices)) << k;
  }
  EXPECT_GT(without, 100);
  EXPECT_LT(without, 1900);
}

}  // namespace
}  // namespace cs
