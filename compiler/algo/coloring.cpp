// Coloring in smallest-last order (Matula and Beck) and strong components (Tarjan), both by Boost.Graph.
#include "compiler/algo/coloring.h"

#include <algorithm>
#include <numeric>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/sequential_vertex_coloring.hpp>
#include <boost/graph/smallest_last_ordering.hpp>
#include <boost/graph/strong_components.hpp>

#include "runtime/support/rng.h"

namespace cs::algo {

namespace {

using Undirected = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS>;

// Without loops, every edge once.
Undirected undirected(size_t vertices, const std::vector<Edge>& edges) {
  std::vector<Edge> list;
  list.reserve(edges.size());
  for (const Edge& e : edges)
    if (e.first != e.second) list.emplace_back(std::minmax(e.first, e.second));
  std::ranges::sort(list);
  list.erase(std::unique(list.begin(), list.end()), list.end());
  return Undirected(list.begin(), list.end(), vertices);
}

// Greedily, in this order.
void color_in(const Undirected& graph, const std::vector<size_t>& order, std::vector<int>& colors) {
  const auto index = boost::get(boost::vertex_index, graph);
  boost::sequential_vertex_coloring(graph, boost::make_iterator_property_map(order.begin(), index),
                                    boost::make_iterator_property_map(colors.begin(), index));
}

}  // namespace

std::vector<int> color_graph(size_t vertices, const std::vector<Edge>& edges,
                             const std::vector<bool>& early) {
  std::vector<int> colors(vertices, 0);
  if (vertices == 0) return colors;
  const Undirected graph = undirected(vertices, edges);
  std::vector<size_t> order(vertices);
  boost::smallest_last_vertex_ordering(
      graph, boost::make_iterator_property_map(order.begin(), boost::get(boost::vertex_index, graph)));
  std::stable_partition(order.begin(), order.end(), [&](size_t v) { return v < early.size() && early[v]; });
  color_in(graph, order, colors);
  return colors;
}

bool within(const std::vector<int>& colors, const std::vector<bool>& early, const ColorLimits& limits) {
  for (size_t v = 0; v < colors.size(); ++v)
    if (size_t(colors[v]) >= (early[v] ? limits.early : limits.all)) return false;
  return true;
}

namespace {

// Vertices by color; those of colors that an early vertex has come first.
class Classes {
 public:
  Classes(const std::vector<int>& colors, const std::vector<bool>& early) {
    for (size_t v = 0; v < colors.size(); ++v) {
      if (size_t(colors[v]) >= members_.size()) members_.resize(size_t(colors[v]) + 1);
      members_[size_t(colors[v])].push_back(v);
    }
    for (const auto& m : members_)
      first_.push_back(std::ranges::any_of(m, [&](size_t v) { return early[v]; }));
  }

  // Backwards, largest first, and at random in turn.
  std::vector<size_t> order(int round, Rng& rng) const {
    std::vector<size_t> classes(members_.size());
    std::iota(classes.begin(), classes.end(), size_t(0));
    if (round % 3 == 0) std::ranges::reverse(classes);
    if (round % 3 == 1)
      std::ranges::stable_sort(classes, std::ranges::greater(), [&](size_t c) { return members_[c].size(); });
    for (size_t k = classes.size(); round % 3 == 2 && k > 1; --k)
      std::swap(classes[k - 1], classes[rng.below(uint32_t(k))]);
    std::stable_partition(classes.begin(), classes.end(), [&](size_t c) { return first_[c]; });
    std::vector<size_t> vertices;
    for (const size_t c : classes) vertices.insert(vertices.end(), members_[c].begin(), members_[c].end());
    return vertices;
  }

 private:
  std::vector<std::vector<size_t>> members_;
  std::vector<bool> first_;
};

}  // namespace

bool reduce_colors(const std::vector<Edge>& edges, const std::vector<bool>& early, const ColorLimits& limits,
                   int rounds, std::vector<int>& colors) {
  const Undirected graph = undirected(colors.size(), edges);
  Rng rng(1);
  for (int round = 0; round < rounds && !within(colors, early, limits); ++round)
    color_in(graph, Classes(colors, early).order(round, rng), colors);
  return within(colors, early, limits);
}

std::vector<int> strong_components(size_t vertices, const std::vector<Edge>& edges) {
  boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS> graph(vertices);
  for (const Edge& e : edges) boost::add_edge(e.first, e.second, graph);
  std::vector<int> component(vertices, 0);
  if (vertices == 0) return component;
  boost::strong_components(
      graph, boost::make_iterator_property_map(component.begin(), boost::get(boost::vertex_index, graph)));
  return component;
}

}  // namespace cs::algo
