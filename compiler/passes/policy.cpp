// AutoGen policy: which nodes run on handwritten kernels, which on generated ones, which on the host.
//
//   disabled     handwritten, else host
//   medium       handwritten, else generated, else host
//   aggressive   generated, else handwritten, else host
//
// Compounds were decomposed before. Views have no kernel; those between host steps are host steps themselves.
#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/kernels/kernels.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

namespace {

using graph::Assignment;
using graph::Graph;
using graph::NodeId;

// A view is a host step if a host operator uses it (the operator needs the shape), or if it gives a model
// output that comes from no wafer kernel (somebody must give the output its shape).
void place_views(Graph& g) {
  std::vector<NodeId> order = g.topological();
  for (size_t i = order.size(); i-- > 0;) {
    NodeId id = order[i];
    if (g.op(id).kind != ops::OpKind::view || g.node(id).assignment.origin) continue;
    for (graph::ValueId v : g.node(id).outputs) {
      NodeId producer = g.value(graph::source_of(g, v)).producer;
      if (g.value(v).is_output && (!producer.valid() || g.node(producer).assignment.origin == Origin::host)) {
        g.node(id).assignment = {Origin::host, "host", "no wafer kernel makes this output", "", {}};
      }
      for (NodeId user : g.value(v).users) {
        if (g.node(user).assignment.origin == Origin::host) {
          g.node(id).assignment = {Origin::host,
                                   "host",
                                   fmt::format("the host step {} needs this shape", g.node(user).name),
                                   "",
                                   {}};
        }
      }
    }
  }
}

}  // namespace

std::optional<Policy> policy_from_name(std::string_view name) {
  if (name == "disabled") return Policy::disabled;
  if (name == "default" || name == "medium") return Policy::medium;
  if (name == "aggressive") return Policy::aggressive;
  return std::nullopt;
}

std::string_view policy_name(Policy p) {
  constexpr std::string_view kNames[] = {"disabled", "medium", "aggressive"};
  return kNames[size_t(p)];
}

Assignment choose_origin(const Graph& g, NodeId id, Policy policy) {
  std::string no_library, no_generator;
  const kernels::Row* library = kernels::match_handwritten(g, id, no_library);
  bool generate = policy != Policy::disabled && (library == nullptr || policy == Policy::aggressive);
  std::string generator = generate ? autogen::generator_for(g, id, no_generator) : "";
  Assignment a;
  if (!generator.empty()) {
    a.origin = Origin::autogen;
    a.kernel = generator;
    a.reason = library != nullptr
                   ? fmt::format("policy aggressive generates it, though the library has '{}'", library->name)
                   : fmt::format("generated rather than run on the host: {}", no_library);
  } else if (library != nullptr) {
    a.origin = Origin::handwritten;
    // The library's part of a region is a module in what is otherwise laid out like all regions.
    a.kernel = library->pattern == kernels::Pattern::region ? autogen::kRegionKernel : library->name;
    a.reason = generate ? fmt::format("library kernel '{}'; not generated: {}", library->name, no_generator)
                        : fmt::format("library kernel '{}'", library->name);
  } else {
    a.origin = Origin::host;
    a.kernel = "host";
    a.reason =
        no_library + (generate ? "; not generated: " + no_generator : "; policy disabled generates none");
  }
  return a;
}

bool choose_origins(Graph& g, PassContext& context) {
  for (NodeId id : g.topological()) {
    if (g.op(id).kind == ops::OpKind::view || g.node(id).assignment.origin) continue;
    g.node(id).assignment = choose_origin(g, id, context.policy);
  }
  place_views(g);
  return true;
}

}  // namespace cs::passes
