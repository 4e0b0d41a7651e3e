// Which recurrences are unrolled without being asked: those that, whole, would be slower than the slowest
// kernel of a network in which all of them are unrolled. Both networks are tried: the graph as it is and a
// copy with the steps go through the passes that choose origins, and their kernels are estimated. What the
// steps take together must have room.
#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "compiler/graph/pieces.h"
#include "compiler/graph/sample.h"
#include "compiler/mapping/plan.h"
#include "compiler/passes/group_cost.h"
#include "compiler/passes/unroll.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;

// A kernel each: placing takes time in proportion to the square of their number.
constexpr int64_t kMostSteps = 64;
constexpr double kFilled = 0.8;  // of the fabric, by rectangles for which a placement is found
constexpr double kWorth = 1.1;   // estimates of a whole layer and of its steps err by less

struct Trial {
  double slowest = 0, pes = 0;
  int on_host = 0;
  std::map<std::string, double> of;  // slowest kernel by recurrence
};

// The name of the recurrence that a node is, or is a part of.
std::string recurrence_of(const graph::Node& n, const std::set<std::string>& names) {
  if (names.count(n.name) > 0) return n.name;
  return names.count(n.from) > 0 ? n.from : "";
}

bool choose_kernels(Graph& g, PassContext& context) {
  bool behind = false;
  for (const Pass& pass : pass_table()) {
    if (pass.run == fuse_regions) return true;
    if (behind && !pass.run(g, context)) return false;
    behind = behind || pass.run == unroll_recurrences;
  }
  return true;
}

// Nothing if the passes refuse the graph.
std::optional<Trial> try_graph(Graph g, const std::set<std::string>& names, const PassContext& context) {
  Diag ignored;
  PassContext own{context.machine, context.policy, context.map, ignored};
  own.fallbacks = context.fallbacks;
  own.form = context.form;
  own.known = context.known;
  if (!choose_kernels(g, own)) return std::nullopt;
  Trial trial;
  GroupCosts costs(own.known_costs());
  for (const graph::Group& group : graph::groups(g)) {
    if (g.node(group.nodes.front()).assignment.origin == Origin::host) {
      trial.on_host += int(!graph::is_in_pieces(g.node(group.nodes.front())));
      continue;
    }
    const kernels::Cost cost = costs.of(g, group.nodes);
    trial.pes += std::isfinite(cost.pes) ? cost.pes : 0;
    bool recurrent = false;
    for (NodeId id : group.nodes) {
      const std::string name = recurrence_of(g.node(id), names);
      if (name.empty()) continue;
      recurrent = true;
      trial.of[name] = std::max(trial.of[name], cost.interval_cycles);
    }
    // What fits nowhere as it is gets another form later, which is no reason for or against a recurrence.
    if (recurrent || std::isfinite(cost.interval_cycles))
      trial.slowest = std::max(trial.slowest, cost.interval_cycles);
  }
  return trial;
}

double area(const PassContext& context) {
  const mapping::Extent e = mapping::fabric_limit(context.map, context.machine);
  return double(e.width) * e.height;
}

}  // namespace

std::map<std::string, std::string> worth_unrolling(const Graph& g, const PassContext& context) {
  // A rectangle that is given is to compare kernels as they are.
  if (context.policy == Policy::disabled || context.map.force_width > 0 || context.map.resident) return {};
  std::map<std::string, int64_t> steps;
  std::set<std::string> names;
  int64_t all = 0;
  Graph unrolled = g;
  Diag ignored;
  for (NodeId id : g.topological()) {
    const std::string& name = g.node(id).name;
    const std::optional<int64_t> count = steps_of_recurrence(g, id);
    if (!count || *count < 2 || context.fallbacks.whole(name)) continue;
    if ((all += *count) > kMostSteps || !unroll_node(unrolled, id, ignored)) return {};
    steps[name] = *count;
    names.insert(name);
  }
  if (names.empty()) return {};
  unrolled.remove_dead();
  if (!graph::propagate_samples(unrolled, ignored)) return {};
  const std::optional<Trial> whole = try_graph(g, names, context), parts = try_graph(unrolled, names, context);
  if (!whole || !parts || parts->on_host > whole->on_host || parts->pes > kFilled * area(context)) return {};
  std::map<std::string, std::string> list;
  for (const auto& [name, count] : steps) {
    const auto there = whole->of.find(name);
    if (there == whole->of.end() || there->second <= kWorth * parts->slowest) continue;
    list[name] = std::isfinite(there->second)
                     ? fmt::format("{} steps as kernels, beneficial by {:.0f} cycles: {:.0f} against {:.0f} of "
                                   "the layer in one kernel",
                                   count, there->second - parts->slowest, parts->slowest, there->second)
                     : fmt::format("{} steps as kernels, needed: the layer in one kernel fits nowhere", count);
  }
  return list;
}

}  // namespace cs::passes
