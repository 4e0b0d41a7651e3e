// Algorithms over graphs: colors and components, by hand.
#include "compiler/algo/coloring.h"

#include <gtest/gtest.h>

#include <numeric>
#include <set>
#include <vector>

namespace cs {
namespace {

TEST(Coloring, EndsOfEveryEdgeDifferAndEarlyVerticesComeFirst) {
  // A ring of five needs three colors; vertex 2 is early and so gets color 0.
  std::vector<algo::Edge> edges = {{0, 1}, {1, 2}, {2, 3}, {3, 4}, {4, 0}};
  std::vector<int> colors = algo::color_graph(5, edges, {false, false, true, false, false});
  for (auto [a, b] : edges) EXPECT_NE(colors[a], colors[b]);
  EXPECT_EQ(colors[2], 0);
  EXPECT_EQ(std::set<int>(colors.begin(), colors.end()).size(), 3U);
}

// 60 vertices in three sets, with an edge to most vertices of the other sets: three colors are enough. At first each
// vertex has its own; those of one set are early and must have the first color.
TEST(Coloring, RoundsOfOtherOrdersReachTheColorsThatThereAre) {
  constexpr size_t kVertices = 60;
  std::vector<algo::Edge> edges;
  for (size_t a = 0; a < kVertices; ++a)
    for (size_t b = a + 1; b < kVertices; ++b)
      if (a % 3 != b % 3 && (a * 7 + b * 11) % 5 != 0) edges.emplace_back(a, b);
  std::vector<int> colors(kVertices);
  std::iota(colors.begin(), colors.end(), 0);
  std::vector<bool> early(kVertices, false);
  for (size_t v = 1; v < kVertices; v += 3) early[v] = true;
  EXPECT_FALSE(algo::within(colors, early, {3, 1}));
  ASSERT_TRUE(algo::reduce_colors(edges, early, {3, 1}, 100, colors));
  for (const auto& [a, b] : edges) EXPECT_NE(colors[a], colors[b]);
  for (size_t v = 1; v < kVertices; v += 3) EXPECT_EQ(colors[v], 0);
  EXPECT_FALSE(algo::reduce_colors(edges, early, {2, 1}, 10, colors));
}

TEST(Coloring, ComponentsOfACircleAreOne) {
  std::vector<int> c = algo::strong_components(4, {{0, 1}, {1, 2}, {2, 0}, {2, 3}});
  EXPECT_EQ(c[0], c[1]);
  EXPECT_EQ(c[1], c[2]);
  EXPECT_NE(c[2], c[3]);
}

}  // namespace
}  // namespace cs
