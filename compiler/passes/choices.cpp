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

std::vector<Candidate> generated(graph::Graph& g, graph::NodeId id, PassContext& context, GroupCosts& costs) {
  Candidate none{"generated", {}, context.fallbacks.refused(g.node(id).name, Origin::autogen)};
  if (context.policy == Policy::disabled) none.note = "policy disabled generates none";
  if (!none.note.empty()) return {none};
  std::vector<Candidate> list;
  for (const kernels::Kind* kind : autogen::generators_for(g, id, none.note)) {
    const graph::Assignment as{Origin::autogen, kernels::generated_id(*kind), "", "", {}};
    list.push_back({fmt::format("generated ({})", kind->generated()), cost_as(g, id, as, costs), ""});
  }
  return list.empty() ? std::vector{none} : list;
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
  const graph::Assignment& taken = g.node(id).assignment;
  Choice choice{"policy", g.node(id).name, {}, 0};
  choice.candidates.push_back(by_hand(g, id, context, costs));
  for (Candidate& c : generated(g, id, context, costs)) {
    const bool is =
        taken.origin == Origin::autogen && c.what == fmt::format("generated ({})", taken.kernel.name());
    if (is) choice.taken = choice.candidates.size();
    choice.candidates.push_back(std::move(c));
  }
  if (taken.origin == Origin::host) choice.taken = choice.candidates.size();
  choice.candidates.push_back({"host", {}, "only where nothing else can"});
  context.choices->push_back(std::move(choice));
}

}  // namespace cs::passes
