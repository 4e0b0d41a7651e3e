// AutoGen policy: which nodes run on handwritten kernels, which on generated ones, which on the host.
//
//   disabled     handwritten, else host
//   medium       of handwritten and generated the faster by estimate, handwritten if they are alike; else
//   host aggressive   generated, else handwritten, else host
//
// The reason says whether the choice was needed (nothing else can), beneficial (and by how much) or kept.
// Compounds were decomposed before. Views have no kernel; those between host steps are host steps themselves.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/graph/pieces.h"
#include "compiler/graph/whole_batch.h"
#include "compiler/kernels/kind.h"
#include "compiler/passes/group_cost.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

namespace {

using graph::Assignment;
using graph::Graph;
using graph::NodeId;

// A node of a plan that crosses the edge in pieces is no step.
bool is_step(const Graph& g, NodeId id) {
  return g.node(id).assignment.origin == Origin::host && !graph::is_in_pieces(g.node(id));
}

// A view is a host step if a host operator uses it (the operator needs the shape), or if it gives a model
// output that comes from no wafer kernel (somebody must give the output its shape).
void place_views(Graph& g) {
  std::vector<NodeId> order = g.topological();
  for (size_t i = order.size(); i-- > 0;) {
    NodeId id = order[i];
    if (g.op(id).kind != ops::OpKind::view || g.node(id).assignment.origin) continue;
    for (graph::ValueId v : g.node(id).outputs) {
      NodeId producer = g.value(graph::source_of(g, v)).producer;
      if (g.value(v).is_output && (!producer.valid() || is_step(g, producer))) {
        g.node(id).assignment = {
            Origin::host, graph::KernelId::host(), "no wafer kernel makes this output", "", {}};
      }
      for (NodeId user : g.value(v).users) {
        if (is_step(g, user)) {
          g.node(id).assignment = {Origin::host,
                                   graph::KernelId::host(),
                                   fmt::format("the host step {} needs this shape", g.node(user).name),
                                   "",
                                   {}};
        }
      }
    }
  }
}

// Steps of a recurrence that was unrolled for its benefit.
void note_unrolled(const PassContext& context, graph::Node& node) {
  const auto found = context.unrolled.find(node.from);
  if (found != context.unrolled.end() && node.op == node.from_op)
    node.assignment.reason += fmt::format("; a step of {}: {}", node.from, found->second);
}

std::string cycles_text(const kernels::Cost& cost) {
  return std::isfinite(cost.interval_cycles) ? fmt::format("{:.0f} cycles", cost.interval_cycles)
                                             : std::string("has no estimate");
}

// Of the kernel that it has and those that can be generated the fastest, by estimate.
void take_fastest(Graph& g, NodeId id, const PassContext& context, GroupCosts& costs) {
  Assignment& own = g.node(id).assignment;
  const bool by_hand = own.origin == Origin::handwritten;
  std::string why;
  std::vector<const kernels::Kind*> kinds = autogen::generators_for(g, id, why);
  if (!context.weighs_loops() && kinds.size() > 1) kinds.resize(1);
  if (kinds.empty()) {
    own.reason = fmt::format("kept: {}; not generated: {}", own.reason, why);
    return;
  }
  const kernels::Cost there = cost_as(g, id, own, costs);
  std::optional<kernels::Cost> made;  // by the best of those
  graph::KernelId best;
  for (const kernels::Kind* kind : kinds) {
    const graph::KernelId kernel = kernels::generated_id(*kind);
    if (!by_hand && kernel == own.kernel) continue;
    const kernels::Cost cost = cost_as(g, id, {Origin::autogen, kernel, "", "", {}}, costs);
    if (!made || is_faster(cost, *made)) made = cost, best = kernel;
  }
  if (made && is_faster(*made, there)) {
    const std::string what = by_hand ? own.reason : fmt::format("generated {}", own.kernel.name());
    own = {Origin::autogen, best, benefit_text(*made, there, what), "", {}};
  } else if (by_hand) {
    own.reason =
        fmt::format("kept: {}, {}; generated {}", own.reason, cycles_text(there), cycles_text(*made));
  }
}

// A product too small for the library, as who compiles wants it.
void refuse_small(const Graph& g, NodeId id, PassContext& context) {
  const bool product = context.least_library_product > 0 && g.op(id).kind == ops::OpKind::contraction;
  const int64_t steps = product ? g.flops(id) / 2 : 0;
  if (product && steps < context.least_library_product)
    context.fallbacks.refuse(g.node(id).name, Origin::handwritten,
                             fmt::format("a product of {} multiply-adds, the library's begin at {}", steps,
                                         context.least_library_product));
}

// Of the library's and the generated kernel the one that is measured to be faster; as long as something may
// join it, it is the first of the candidates.
void take_measured(Graph& g, PassContext& context) {
  std::vector<Measured::Plain> asked;
  for (NodeId id : g.topological()) {
    const Assignment own = g.node(id).assignment;
    const bool on_wafer = own.origin == Origin::handwritten || own.origin == Origin::autogen;
    if (!on_wafer || context.given.contains(id) || g.op(id).kind == ops::OpKind::elementwise ||
        !context.measured->counts(g, id))
      continue;
    Measured::Plain plain{id, {own}};
    std::string why;
    const bool by_hand = own.origin == Origin::handwritten;
    const std::string& name = g.node(id).name;
    const bool weighs =
        context.policy == Policy::medium && context.form != Form::library && context.form != Form::generated;
    const bool may = weighs && context.fallbacks.refused(name, Origin::handwritten).empty();
    if (weighs && context.fallbacks.refused(name, Origin::autogen).empty())
      for (const kernels::Kind* kind : autogen::generators_for(g, id, why))
        if (by_hand || kernels::generated_id(*kind) != own.kernel)
          plain.as.push_back({Origin::autogen, kernels::generated_id(*kind), "", "", {}});
    if (const kernels::Row* row = may && !by_hand ? kernels::match_handwritten(g, id, why) : nullptr)
      plain.as.push_back({Origin::handwritten, kernels::library_id(*row), "", "", {}});
    asked.push_back(std::move(plain));
  }
  const auto cycles = context.measured->plain(g, asked);
  for (size_t i = 0; i < asked.size(); ++i) {
    Assignment& own = g.node(asked[i].node).assignment;
    DeferredKernel deferred;
    for (size_t k = 0; k < asked[i].as.size(); ++k)
      if (cycles[i][k]) deferred.push_back({*asked[i].as[k].origin, asked[i].as[k].kernel, *cycles[i][k]});
    if (deferred.empty()) continue;
    std::ranges::stable_sort(deferred, {}, &KernelCandidate::cycles);
    const bool other = deferred[0].kernel != own.kernel || deferred[0].origin != own.origin;
    if (deferred.size() > 1 && other)
      own.reason = fmt::format("beneficial by {:.0f} cycles: measured {:.0f} against {:.0f} of {}",
                               deferred[1].cycles - deferred[0].cycles, deferred[0].cycles,
                               deferred[1].cycles, deferred[1].kernel.name());
    own.origin = deferred[0].origin;
    own.kernel = deferred[0].kernel;
    own.reason += deferred_text(deferred);
    context.deferred[asked[i].node] = std::move(deferred);
  }
}

}  // namespace

std::optional<HostOps> host_ops_from_name(std::string_view name) {
  if (name == "allow") return HostOps::allow;
  if (name == "warn") return HostOps::warn;
  if (name == "forbid") return HostOps::forbid;
  return std::nullopt;
}

std::optional<Policy> policy_from_name(std::string_view name) {
  if (name == "disabled") return Policy::disabled;
  if (name == "default" || name == "medium") return Policy::medium;
  if (name == "aggressive") return Policy::aggressive;
  return std::nullopt;
}

std::optional<AutogenFailure> autogen_failure_from_name(std::string_view name) {
  if (name == "primitives" || name == "fallback") return AutogenFailure::primitives;
  if (name == "error") return AutogenFailure::error;
  return std::nullopt;
}

std::string_view policy_name(Policy p) {
  constexpr std::string_view kNames[] = {"disabled", "medium", "aggressive"};
  return kNames[size_t(p)];
}

std::optional<Form> form_from_name(std::string_view name) {
  for (Form f : kForms)
    if (form_name(f) == name) return f;
  return std::nullopt;
}

std::string_view form_name(Form f) {
  constexpr std::string_view kNames[] = {"joined", "apart", "generated", "library", "streamed"};
  return kNames[size_t(f)];
}

Assignment choose_origin(const Graph& g, NodeId id, Policy policy, const Fallbacks& fallbacks) {
  if (graph::is_whole_batch(g.node(id)))
    return {
        Origin::host, graph::KernelId::host(), "needed: it takes all samples of the batch together", "", {}};
  if (fallbacks.with_the_host(g.node(id).name))
    return {Origin::host,
            graph::KernelId::host(),
            "needed: its streams to and from the operators of the host beside it have no way",
            "",
            {}};
  std::string no_library = fallbacks.refused(g.node(id).name, Origin::handwritten);
  std::string no_generator = fallbacks.refused(g.node(id).name, Origin::autogen);
  const bool may_generate = no_generator.empty();
  const kernels::Row* library = no_library.empty() ? kernels::match_handwritten(g, id, no_library) : nullptr;
  bool generate = policy != Policy::disabled && (library == nullptr || policy == Policy::aggressive);
  const kernels::Kind* generator =
      generate && may_generate ? autogen::generator_for(g, id, no_generator) : nullptr;
  Assignment a;
  if (generator != nullptr) {
    a.origin = Origin::autogen;
    a.kernel = kernels::generated_id(*generator);
    a.reason = library != nullptr
                   ? fmt::format("generated throughout, though the library has '{}'", library->name)
                   : fmt::format("needed: {}", no_library);
  } else if (library != nullptr) {
    a.origin = Origin::handwritten;
    a.kernel = kernels::library_id(*library);
    a.reason = generate ? fmt::format("library kernel '{}'; not generated: {}", library->name, no_generator)
                        : fmt::format("library kernel '{}'", library->name);
  } else {
    a.origin = Origin::host;
    a.kernel = graph::KernelId::host();
    a.reason = "needed: " + no_library +
               (generate ? "; not generated: " + no_generator : "; policy disabled generates none");
  }
  return a;
}

bool choose_origins(Graph& g, PassContext& context) {
  GroupCosts costs(context.known_costs());
  for (NodeId id : g.topological()) {
    const std::string& name = g.node(id).name;
    refuse_small(g, id, context);
    const bool again = context.fallbacks.with_the_host(name) ||
                       !context.fallbacks.refused(name, Origin::handwritten).empty() ||
                       !context.fallbacks.refused(name, Origin::autogen).empty();
    if (g.node(id).assignment.origin && !again) context.given.insert(id);
    if (g.op(id).kind == ops::OpKind::view || (g.node(id).assignment.origin && !again)) continue;
    Assignment& a = g.node(id).assignment;
    a = choose_origin(g, id, context.choosing(), context.fallbacks);
    note_unrolled(context, g.node(id));
    const bool weighed = context.weighs() && a.origin == Origin::handwritten && !again;
    const bool product = g.op(id).kind == ops::OpKind::contraction && a.origin == Origin::autogen;
    if (weighed || (product && context.weighs_loops() && !again)) {
      take_fastest(g, id, context, costs);
    }
    note_origins(g, id, context);
  }
  if (context.measured != nullptr) take_measured(g, context);
  place_views(g);
  return true;
}

// Its operands, its result or its code are no kernel's; a user who wants no host hears of every one.
bool judge_host(Graph& g, PassContext& context) {
  bool ok = true;
  for (NodeId id : g.topological()) {
    const graph::Node& node = g.node(id);
    if (!is_step(g, id) || g.op(id).kind == ops::OpKind::view || graph::is_in_pieces(node)) continue;
    const std::string name = graph::operator_name(node);
    const std::string op = node.from_op.empty() ? name : node.from_op + " (" + name + ")";
    const std::string message =
        fmt::format("{} '{}' runs on the host: {}", op, node.name, node.assignment.reason);
    if (context.host_ops == HostOps::forbid) {
      graph::node_error(g, id, context.diag, message, "--host-ops warn lets it");
      ok = false;
    } else if (context.host_ops == HostOps::warn) {
      const bool placed = node.loc.valid();
      context.diag.warning(node.loc, placed || node.where.empty() ? message : node.where + ": " + message);
    }
  }
  return ok;
}

}  // namespace cs::passes
