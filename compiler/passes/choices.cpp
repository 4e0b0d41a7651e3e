// The record of candidates; estimates come from GroupCosts, as those of the decisions.
#include "compiler/passes/choices.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/kernels/kind.h"
#include "compiler/passes/group_cost.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

namespace {

Candidate by_hand(graph::Graph& g, graph::NodeId id, PassContext& context, GroupCosts& costs) {
  Candidate c{"library", {}, context.fallbacks.refused(g.node(id).name, Origin::handwritten)};
  const kernels::Row* row = c.note.empty() ? kernels::match_handwritten(g, id, c.note) : nullptr;
  if (row == nullptr) return c;
  c.what = fmt::format("library ({})", row->name);
  c.cost = cost_as(g, id, {Origin::handwritten, kernels::library_id(*row), "", "", {}}, costs);
  return c;
}

Candidate generated(graph::Graph& g, graph::NodeId id, PassContext& context, GroupCosts& costs) {
  Candidate c{"generated", {}, context.fallbacks.refused(g.node(id).name, Origin::autogen)};
  if (context.policy == Policy::disabled) c.note = "policy disabled generates none";
  const kernels::Kind* kind = c.note.empty() ? autogen::generator_for(g, id, c.note) : nullptr;
  if (kind == nullptr) return c;
  c.what = fmt::format("generated ({})", kind->generated());
  c.cost = cost_as(g, id, {Origin::autogen, kernels::generated_id(*kind), "", "", {}}, costs);
  return c;
}

}  // namespace

kernels::Cost apart(const kernels::Cost& a, const kernels::Cost& b) {
  kernels::Cost both = a;
  both.interval_cycles = std::max(a.interval_cycles, b.interval_cycles);
  both.pes += b.pes;
  both.latency_cycles += b.latency_cycles;
  return both;
}

std::string names_of(const graph::Graph& g, std::span<const graph::NodeId> nodes) {
  std::string names;
  for (const graph::NodeId id : nodes) names += (names.empty() ? "" : ", ") + g.node(id).name;
  return names;
}

void note_choice(const PassContext& context, std::string_view pass, std::string subject, Candidate first,
                 Candidate second, bool second_taken) {
  if (context.choices == nullptr) return;
  context.choices->push_back(
      {std::string(pass), std::move(subject), {std::move(first), std::move(second)}, second_taken ? 1u : 0u});
}

void note_origins(graph::Graph& g, graph::NodeId id, PassContext& context) {
  if (context.choices == nullptr) return;
  GroupCosts costs(context.known_costs());
  const Origin origin = g.node(id).assignment.origin.value_or(Origin::host);
  const size_t taken = origin == Origin::handwritten ? 0 : origin == Origin::autogen ? 1 : 2;
  Choice choice{"policy", g.node(id).name, {}, taken};
  choice.candidates.push_back(by_hand(g, id, context, costs));
  choice.candidates.push_back(generated(g, id, context, costs));
  choice.candidates.push_back({"host", {}, "only where nothing else can"});
  context.choices->push_back(std::move(choice));
}

}  // namespace cs::passes
