// Coloring in smallest-last order (Matula and Beck) and strong components (Tarjan), both by Boost.Graph.
#include "compiler/algo/coloring.h"

#include <algorithm>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/sequential_vertex_coloring.hpp>
#include <boost/graph/smallest_last_ordering.hpp>
#include <boost/graph/strong_components.hpp>

namespace cs::algo {

std::vector<int> color_graph(size_t vertices, const std::vector<Edge>& edges,
                             const std::vector<bool>& early) {
  using Undirected = boost::adjacency_list<boost::setS, boost::vecS, boost::undirectedS>;
  Undirected graph(vertices);
  for (const Edge& e : edges) {
    if (e.first != e.second) boost::add_edge(e.first, e.second, graph);
  }
  std::vector<int> colors(vertices, 0);
  if (vertices == 0) return colors;
  std::vector<size_t> order(vertices);
  auto index = boost::get(boost::vertex_index, graph);
  boost::smallest_last_vertex_ordering(graph, boost::make_iterator_property_map(order.begin(), index));
  std::stable_partition(order.begin(), order.end(), [&](size_t v) { return v < early.size() && early[v]; });
  boost::sequential_vertex_coloring(graph, boost::make_iterator_property_map(order.begin(), index),
                                    boost::make_iterator_property_map(colors.begin(), index));
  return colors;
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
