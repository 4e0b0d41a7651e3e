// Inputs of which nothing is said stay as they are.
#include "compiler/graph/alignment.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "runtime/support/yaml.h"

namespace cs::graph {

namespace {

constexpr std::array<std::string_view, 3> kPolicies = {"never", "products", "always"};

bool feeds_product(const Graph& g, ValueId input) {
  for (const NodeId id : g.nodes()) {
    if (g.op(id).kind != ops::OpKind::contraction) continue;
    for (const ValueId v : g.node(id).inputs)
      if (v.valid() && source_of(g, v) == input) return true;
  }
  return false;
}

bool names_inputs(const Graph& g, const Alignment& a, Diag& diag) {
  std::vector<std::string> known;
  for (const ValueId v : g.inputs) known.push_back(g.value(v).name);
  bool ok = true;
  for (const auto& [name, unused] : a.of_input) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = nearest(name, known);
    diag.error_at("assume_aligned_inputs", fmt::format("there is no input '{}'", name),
                  near.empty() ? "" : fmt::format("did you mean '{}'?", near));
    ok = false;
  }
  return ok;
}

}  // namespace

std::optional<AlignPolicy> align_policy_from_name(std::string_view name) {
  const auto at = std::find(kPolicies.begin(), kPolicies.end(), name);
  return at == kPolicies.end() ? std::nullopt : std::optional(AlignPolicy(at - kPolicies.begin()));
}

bool apply_alignment(Graph& g, const Alignment& a, Diag& diag) {
  if (!names_inputs(g, a, diag)) return false;
  for (const ValueId id : g.inputs) {
    Value& v = g.value(id);
    if (const auto own = a.of_input.find(v.name); own != a.of_input.end())
      v.assume_aligned = own->second;
    else if (!v.assume_aligned && a.assume_inputs)
      v.assume_aligned = true;
    if (a.policy)
      v.clone_unaligned =
          *a.policy == AlignPolicy::always || (*a.policy == AlignPolicy::products && feeds_product(g, id));
  }
  return true;
}

}  // namespace cs::graph
