// Which form an operator takes after the one that had no place.
#include "compiler/passes/fallbacks.h"

#include <algorithm>

#include "compiler/graph/pieces.h"

namespace cs::passes {

namespace {

constexpr int kSizings = 6;             // with what code generation measured, before something else is tried
constexpr uint32_t kReserveBytes = 64;  // a smaller share of the work often takes a little more code

// Operators on PEs that streams connect, all of whose other neighbours are the host's or the edge of the model.
struct Island {
  std::vector<std::string> nodes;  // without views
  bool beside_host = false;        // one of its streams comes from an operator of the host or goes to one
};

class Islands {
 public:
  explicit Islands(const graph::Graph& g) : g_(g), seen_(g.node_slots(), false) {}

  std::vector<Island> find() {
    std::vector<Island> list;
    for (const graph::NodeId id : g_.nodes()) {
      if (on_host(id) || seen_[size_t(id.index)]) continue;
      Island island = around(id);
      if (island.beside_host && !island.nodes.empty()) list.push_back(std::move(island));
    }
    return list;
  }

 private:
  bool on_host(graph::NodeId id) const { return g_.node(id).assignment.origin == Origin::host; }

  Island around(graph::NodeId first) {
    Island island;
    std::vector<graph::NodeId> open;
    const auto reach = [&](graph::NodeId id) {
      if (on_host(id)) {
        island.beside_host = true;
      } else if (!seen_[size_t(id.index)]) {
        seen_[size_t(id.index)] = true;
        open.push_back(id);
      }
    };
    reach(first);
    while (!open.empty()) {
      const graph::NodeId id = open.back();
      open.pop_back();
      if (!graph::is_transparent(g_, id)) island.nodes.push_back(g_.node(id).name);
      for (const graph::ValueId v : g_.node(id).inputs)
        if (v.valid() && g_.value(v).producer.valid()) reach(g_.value(v).producer);
      for (const graph::ValueId v : g_.node(id).outputs)
        for (const graph::NodeId user : g_.value(v).users) reach(user);
    }
    return island;
  }

  const graph::Graph& g_;
  std::vector<bool> seen_;
};

}  // namespace

const std::string& Fallbacks::refused(const std::string& node, Origin origin) const {
  static const std::string none;
  const auto it = refused_.find({node, origin});
  return it == refused_.end() ? none : it->second;
}

bool Fallbacks::larger_footprint(const mapping::Misfit& m) {
  if (m.too_many == 0) return false;
  for (const std::string& node : m.nodes) {
    // Where the estimate misses most of it, the little that is too much does not lead away from it.
    int& times = sized_again_[node];
    if (times == kSizings) return false;
    more_bytes_[node] += (m.too_many + kReserveBytes) << times++;
  }
  return true;
}

bool Fallbacks::cross_whole(const graph::Graph& g) {
  bool any = false;
  for (const graph::NodeId id : g.nodes())
    if (graph::is_in_pieces(g.node(id))) any = whole_.insert(g.node(id).name).second || any;
  return any;
}

bool Fallbacks::join_most_parts(const graph::Graph& g) {
  std::map<std::string, int> parts;
  for (const graph::NodeId id : g.nodes()) {
    const std::string& from = g.node(id).from;
    if (!from.empty() && whole_.count(from) == 0) ++parts[from];
  }
  const auto most = std::max_element(parts.begin(), parts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == parts.end() || most->second < 2) return false;
  whole_.insert(most->first);
  return true;
}

bool Fallbacks::leave_to_the_host(const graph::Graph& g) {
  const std::vector<Island> islands = Islands(g).find();
  if (islands.size() < 2) return false;
  const auto smaller = [](const Island& a, const Island& b) { return a.nodes.size() < b.nodes.size(); };
  const size_t least = std::min_element(islands.begin(), islands.end(), smaller)->nodes.size();
  bool any = false;
  for (const Island& island : islands) {
    if (island.nodes.size() > least) continue;
    for (const std::string& node : island.nodes) any = with_the_host_.insert(node).second || any;
  }
  return any;
}

bool Fallbacks::step_down(const graph::Graph& g, const std::vector<mapping::Misfit>& misfits,
                          const std::map<std::string, std::string>& unrolled) {
  // No kernel is to blame: streams have no way, or no color is left. Fewer kernels need fewer.
  const bool none_known = misfits.empty() ||
                          std::any_of(misfits.begin(), misfits.end(), [](auto& m) { return m.nodes.empty(); });
  if (none_known) {
    if (cross_whole(g)) return true;
    for (const auto& [name, why] : unrolled) whole_.insert(name);
    return !unrolled.empty() || join_most_parts(g) || leave_to_the_host(g);
  }
  for (const mapping::Misfit& m : misfits) {
    if (larger_footprint(m)) continue;
    const size_t before = whole_.size();
    for (const std::string& node : m.nodes) {
      const auto id = g.find_node(node);
      if (id && unrolled.count(g.node(*id).from) > 0) whole_.insert(g.node(*id).from);
    }
    if (whole_.size() > before) continue;
    const bool together =
        m.nodes.size() > 1 && std::any_of(m.nodes.begin(), m.nodes.end(), [&](auto& n) { return !apart(n); });
    for (const std::string& node : m.nodes) {
      more_bytes_.erase(node);
      sized_again_.erase(node);
      const auto id = g.find_node(node);
      if (together) {
        apart_.insert(node);
      } else if (!id || g.node(*id).assignment.origin == Origin::host) {
        return false;
      } else {
        const Origin origin = g.node(*id).assignment.origin.value_or(Origin::autogen);
        // A plan that was read has its origins already.
        if (!refused_.insert({{node, origin}, m.why}).second) return false;
      }
    }
  }
  return true;
}

}  // namespace cs::passes
