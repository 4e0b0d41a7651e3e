// Howard's policy iteration. Every vertex follows one of its edges, and what that comes to is a cycle. Edges by which a
// vertex would be later, at the ratio of the worst of these cycles, replace those followed until there are none. A
// thousand such graphs are what buffers of GPT-2 small are planned with (mapping/slack.cpp): decision 54.
#include "compiler/algo/cycle_ratio.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace cs::algo {

namespace {

constexpr int kRounds = 100;  // twenty do for thousands of vertices
constexpr size_t kNone = std::numeric_limits<size_t>::max();

// Edges by one of their ends, each as a row of indices in the order given.
struct EdgesBy {
  EdgesBy(size_t vertices, const std::vector<TimedEdge>& edges, size_t TimedEdge::* end)
      : begin(vertices + 1, 0), list(edges.size()) {
    for (const TimedEdge& e : edges) ++begin[e.*end + 1];
    for (size_t v = 0; v < vertices; ++v) begin[v + 1] += begin[v];
    std::vector<size_t> next(begin.begin(), begin.end() - 1);
    for (size_t e = 0; e < edges.size(); ++e) list[next[edges[e].*end]++] = e;
  }
  std::vector<size_t> begin, list;
};

// By vertex: whether a way leads from there to a cycle.
std::vector<bool> that_come_to_cycles(size_t vertices, const std::vector<TimedEdge>& edges) {
  const EdgesBy entering(vertices, edges, &TimedEdge::to);
  std::vector<size_t> leaving(vertices, 0), ends;
  for (const TimedEdge& e : edges) ++leaving[e.from];
  std::vector<bool> come(vertices, true);
  const auto leave_out = [&](size_t v) {
    come[v] = false;
    ends.push_back(v);
  };
  for (size_t v = 0; v < vertices; ++v)
    if (leaving[v] == 0) leave_out(v);
  while (!ends.empty()) {
    const size_t v = ends.back();
    ends.pop_back();
    for (size_t k = entering.begin[v]; k < entering.begin[v + 1]; ++k)
      if (const size_t from = edges[entering.list[k]].from; --leaving[from] == 0) leave_out(from);
  }
  return come;
}

class PolicyIteration {
 public:
  PolicyIteration(size_t vertices, const std::vector<TimedEdge>& edges)
      : policy_(vertices, kNone), walk_(vertices, 0), later_(vertices, 0), ratio_(vertices, 0) {
    const std::vector<bool> come = that_come_to_cycles(vertices, edges);
    EdgesBy leaving(vertices, edges, &TimedEdge::from);
    begin_ = std::move(leaving.begin);
    out_.reserve(edges.size());
    for (size_t v = 0; v < vertices; ++v) {
      const size_t begin = out_.size();
      for (size_t k = begin_[v]; k < begin_[v + 1]; ++k) {
        const TimedEdge& e = edges[leaving.list[k]];
        if (!come[e.to]) continue;
        if (policy_[v] == kNone || e.delay > followed(v).delay) policy_[v] = out_.size();
        out_.push_back({e, leaving.list[k]});
      }
      begin_[v] = begin;
    }
    begin_[vertices] = out_.size();
  }

  std::optional<CycleRatio> run() {
    for (int round = 0; round < kRounds; ++round)
      if (!improve(evaluate())) break;
    if (worst_.edges.empty()) return std::nullopt;
    return worst_;
  }

 private:
  struct Out {
    TimedEdge edge;
    size_t index = 0;  // as the caller counts them
  };

  const TimedEdge& followed(size_t v) const { return out_[policy_[v]].edge; }

  // Walks from every vertex to its cycle: how late each is among those that come to the same one. The largest ratio.
  double evaluate() {
    const size_t begun = walks_;
    double largest = -std::numeric_limits<double>::infinity();
    for (size_t v = 0; v < policy_.size(); ++v) {
      if (policy_[v] == kNone || walk_[v] > begun) continue;
      ++walks_;
      size_t end = v;
      for (; walk_[end] <= begun; end = followed(end).to) {
        walk_[end] = walks_;
        path_.push_back(end);
      }
      if (walk_[end] == walks_) largest = std::max(largest, ratio_[end] = ratio_of(end));
      settle(end);
    }
    return largest;
  }
  // The path to a vertex of which it is known how late it is, backwards.
  void settle(size_t end) {
    const double ratio = ratio_[end];
    for (; !path_.empty(); path_.pop_back()) {
      const size_t v = path_.back();
      if (v == end) continue;
      const TimedEdge& e = followed(v);
      later_[v] = later_[e.to] + e.delay - e.tokens * ratio;
      ratio_[v] = ratio;
    }
  }
  double ratio_of(size_t on_cycle) {
    CycleRatio found;
    double delay = 0, tokens = 0;
    size_t v = on_cycle;
    do {
      const Out& out = out_[policy_[v]];
      delay += out.edge.delay;
      tokens += out.edge.tokens;
      found.edges.push_back(out.index);
      v = out.edge.to;
    } while (v != on_cycle);
    const double ratio = found.ratio = delay / tokens;
    if (worst_.edges.empty() || ratio > worst_.ratio) worst_ = std::move(found);
    return ratio;
  }

  // Follows what makes a vertex later at that ratio; whether anything does.
  bool improve(double ratio) {
    bool improved = false;
    for (size_t v = 0; v < policy_.size(); ++v) {
      for (size_t k = begin_[v]; k < begin_[v + 1]; ++k) {
        const TimedEdge& e = out_[k].edge;
        const double later = e.delay - e.tokens * ratio + later_[e.to];
        if (later_[v] + kCycleRatioNear >= later) continue;
        policy_[v] = k;
        later_[v] = later;
        improved = true;
      }
    }
    return improved;
  }

  std::vector<size_t> begin_;   // of the edges that leave a vertex, in `out_`
  std::vector<Out> out_;        // those that come to cycles
  std::vector<size_t> policy_;  // the one that a vertex follows
  std::vector<size_t> walk_;    // the last one that came to a vertex
  size_t walks_ = 0;
  std::vector<double> later_;  // by vertex
  std::vector<double> ratio_;  // by vertex: of the cycle that it comes to
  std::vector<size_t> path_;
  CycleRatio worst_;
};

}  // namespace

std::optional<CycleRatio> maximum_cycle_ratio(size_t vertices, const std::vector<TimedEdge>& edges) {
  return PolicyIteration(vertices, edges).run();
}

}  // namespace cs::algo
