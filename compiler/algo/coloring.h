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

// Component number of each vertex of a directed graph, from 0.
std::vector<int> strong_components(size_t vertices, const std::vector<Edge>& edges);

}  // namespace cs::algo
