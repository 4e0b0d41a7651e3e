// Nodes that lie together and come from one line are told of together.
#include "tools/api/trace/explain.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tools/api/trace/canonical.h"

namespace cs::tracing {

std::string explain(const Tracer& t) {
  const std::vector<graph::NodeId> nodes = t.graph.nodes();
  std::string text = fmt::format("{}(): {} nodes\n", t.graph.name, nodes.size());
  for (const Decision& d : t.decisions) text += fmt::format("  {}   {}\n", d.text, d.where.text());
  for (size_t i = 0; i < nodes.size();) {
    const Place place = t.place_of(nodes[i]);
    std::string made;
    while (i < nodes.size() && t.place_of(nodes[i]) == place) {
      const std::string& op = t.graph.node(nodes[i]).op;
      int copies = 0;
      for (; i < nodes.size() && t.place_of(nodes[i]) == place && t.graph.node(nodes[i]).op == op; ++i)
        ++copies;
      made += (made.empty() ? "" : ", ") + (copies > 1 ? fmt::format("{} x {}", copies, op) : op);
    }
    text += fmt::format("  {}: {}\n", place.line == 0 ? "no line" : place.text(), made);
  }
  std::vector<std::string> constants;
  for (size_t i = 0; i < t.graph.value_slots(); ++i) {
    const graph::ValueId v{int32_t(i)};
    bool weight = false;
    for (const auto& [id, w] : t.weights) weight = weight || id == v;
    if (t.graph.value(v).is_constant() && !weight) constants.push_back(content(*t.graph.constant_of(v)));
  }
  if (!constants.empty()) text += fmt::format("  constants of the program: {}\n", fmt::join(constants, ", "));
  return text;
}

}  // namespace cs::tracing
