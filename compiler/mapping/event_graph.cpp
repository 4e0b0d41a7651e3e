// See event_graph.h.
#include "compiler/mapping/event_graph.h"

#include "compiler/algo/coloring.h"

namespace cs::mapping {

size_t EventGraph::event(int instance) {
  instance_of_.push_back(instance);
  return vertices_++;
}

Way EventGraph::way() {
  const size_t first = event(-1);
  return {first, event(-1)};
}

Way EventGraph::sent(int64_t words) {
  const Way w = way();
  after(w.last, w.first, double(words), 0);
  after(w.first, w.last, 0, 1);
  return w;
}

void EventGraph::after(size_t to, size_t from, double delay, int tokens, std::pair<int, int> wait) {
  edges_.push_back({from, to, delay, tokens});
  wait_of_.push_back(wait);
}

bool EventGraph::live() const {
  std::vector<algo::Edge> same;
  for (const algo::TimedEdge& e : edges_) {
    if (e.tokens == 0) same.push_back({e.from, e.to});
    if (e.tokens == 0 && e.from == e.to) return false;
  }
  const std::vector<int> component = algo::strong_components(vertices_, same);
  std::vector<bool> seen(vertices_, false);
  for (int c : component) {
    if (seen[size_t(c)]) return false;
    seen[size_t(c)] = true;
  }
  return true;
}

void EventGraph::add_slowest_circle(NetworkInterval& n) const {
  const auto found = algo::maximum_cycle_ratio(vertices_, edges_);
  if (!found || found->ratio <= n.cycles) return;
  n.cycles = found->ratio;
  for (size_t e : found->edges) {
    n.circle += edges_[e].delay;
    n.samples += edges_[e].tokens;
    if (wait_of_[e].first >= 0) n.waits.push_back(wait_of_[e]);
    if (instance_of_[edges_[e].to] >= 0) n.instances.push_back(instance_of_[edges_[e].to]);
  }
}

}  // namespace cs::mapping
