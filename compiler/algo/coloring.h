// Graph coloring and strong components, two algorithms over graphs. The only home of Boost.Graph.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace cs::algo {

using Edge = std::pair<size_t, size_t>;

// Colors vertices 0 … n-1 so that the ends of every edge differ, in as few colors as a greedy order finds:
// smallest vertex last, except that vertices with `early` set come first (they have the fewest colors to
// choose from, and early ones get small numbers). Result: a color from 0 for each vertex. Deterministic.
std::vector<int> color_graph(size_t vertices, const std::vector<Edge>& edges, const std::vector<bool>& early);

// Colors of each vertex: numbers below `all`, of those with `early` set below `early`.
struct ColorLimits {
  size_t all = 0, early = 0;
};
bool within(const std::vector<int>& colors, const std::vector<bool>& early, const ColorLimits&);
// Colors the vertices again until they are within the limits: greedily, the vertices of one color after those of
// another, which never takes more colors (iterated greedy, Culberson 1992), in an order of colors that changes from
// round to round. False after so many rounds; colors are valid in any case. Deterministic.
bool reduce_colors(const std::vector<Edge>& edges, const std::vector<bool>& early, const ColorLimits&, int rounds,
                   std::vector<int>& colors);

// Component number of each vertex of a directed graph, from 0.
std::vector<int> strong_components(size_t vertices, const std::vector<Edge>& edges);

}  // namespace cs::algo
