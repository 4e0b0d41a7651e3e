// Howard's policy iteration, by Boost.Graph.
#include "compiler/algo/cycle_ratio.h"

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/howard_cycle_ratio.hpp>

namespace cs::algo {

std::optional<CycleRatio> maximum_cycle_ratio(size_t vertices, const std::vector<TimedEdge>& edges) {
  struct Weights {
    double delay = 0, tokens = 0;
    size_t index = 0;
  };
  using Graph =
      boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS, boost::no_property, Weights>;
  Graph graph(vertices);
  for (size_t e = 0; e < edges.size(); ++e)
    boost::add_edge(edges[e].from, edges[e].to, Weights{edges[e].delay, double(edges[e].tokens), e}, graph);
  std::vector<boost::graph_traits<Graph>::edge_descriptor> cycle;
  boost::maximum_cycle_ratio(graph, boost::get(boost::vertex_index, graph),
                             boost::get(&Weights::delay, graph), boost::get(&Weights::tokens, graph), &cycle);
  if (cycle.empty()) return std::nullopt;
  CycleRatio found;
  double delay = 0, tokens = 0;
  for (const auto& e : cycle) {
    delay += graph[e].delay;
    tokens += graph[e].tokens;
    found.edges.push_back(graph[e].index);
  }
  found.ratio = delay / tokens;
  return found;
}

}  // namespace cs::algo
