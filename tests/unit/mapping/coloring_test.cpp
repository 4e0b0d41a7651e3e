// Algorithms over graphs: colors and components, by hand.
#include "compiler/algo/coloring.h"

#include <gtest/gtest.h>

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

TEST(Coloring, ComponentsOfACircleAreOne) {
  std::vector<int> c = algo::strong_components(4, {{0, 1}, {1, 2}, {2, 0}, {2, 3}});
  EXPECT_EQ(c[0], c[1]);
  EXPECT_EQ(c[1], c[2]);
  EXPECT_NE(c[2], c[3]);
}

}  // namespace
}  // namespace cs
