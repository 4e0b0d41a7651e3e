// Fusion: an elementwise node joins the kernel that makes its operand, as an epilogue of a contraction or a
// further link of an elementwise chain, if it is the only user of that result, the generator agrees and both
// together are about as fast as the slower of them: by estimate, or as it is measured (measured.h); then the choice
// of the kernel waits for its first epilogue, and the one that is fastest with it is taken (with defer_all it waits
// for all of them). No cycle can arise: every
// path from the kernel to the node's other operands would lead through the node itself.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/kernels/kind.h"
#include "compiler/kernels/library.h"
#include "compiler/passes/group_cost.h"
#include "compiler/passes/losses.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// Every use of the value, through transparent views, is by `user`.
bool only_user(const Graph& g, ValueId value, NodeId user) {
  if (g.value(value).is_output) return false;
  for (NodeId u : g.value(value).users) {
    if (u == user) continue;
    if (!graph::is_transparent(g, u) || !only_user(g, g.node(u).outputs[0], user)) return false;
  }
  return true;
}

// Estimates are no better than that, and a kernel less is a stream less: ramps, hops and the starts of a task
// and of an instruction at either end.
constexpr double kSlower = 1.1, kStream = 20;
// Of a kernel: each node that joins costs a look at all of them, which thousands in a row would feel.
constexpr size_t kMostNodes = 64;

bool is_elementwise(const Graph& g, NodeId id) {
  const graph::Assignment& a = g.node(id).assignment;
  return g.op(id).kind == ops::OpKind::elementwise && a.origin && *a.origin != Origin::host &&
         a.group.empty();
}

// What fusion may extend: a contraction or an elementwise chain of either origin, or what else is generated.
bool extensible(const Graph& g, NodeId head) {
  const ops::OpKind kind = g.op(head).kind;
  const bool by_hand = kind == ops::OpKind::contraction || kind == ops::OpKind::elementwise;
  const std::optional<Origin> origin = g.node(head).assignment.origin;
  return origin == Origin::autogen || (by_hand && origin == Origin::handwritten);
}

// What joins a kernel is generated, and so is a chain that something joins. A product is generated with its
// epilogue where it can be: the library's calls the epilogue and sends what that has stored, the generated
// one sends as it computes.
void name_origins(Graph& g, const std::vector<NodeId>& nodes, bool measured) {
  const NodeId front = nodes.front();
  std::string why;
  graph::Assignment& head = g.node(front).assignment;
  if (!measured && g.op(front).kind == ops::OpKind::contraction && head.origin == Origin::handwritten) {
    if (const kernels::Kind* generator = autogen::generator_for(g, front, why)) {
      head.origin = Origin::autogen;
      head.kernel = kernels::generated_id(*generator);
      head.reason = fmt::format("beneficial: generated with its epilogue {}", g.node(nodes.back()).name);
    }
  }
  const bool loops = kernels::from_loops(g, front);
  for (NodeId id : nodes) {
    if (g.op(id).kind != ops::OpKind::elementwise) continue;
    g.node(id).assignment.origin = Origin::autogen;
    g.node(id).assignment.kernel = loops ? head.kernel : kernels::generated_id(*kernels::elementwise_kind());
  }
}

// Why a node is where it is: the library's kernel for it would have been kept.
void add_reason(graph::Assignment& a, const std::string& more) {
  const bool kept = a.reason.starts_with("kept: ");
  a.reason = kept ? more : a.reason + "; fused, " + more;
}

// What is saved, if anything is: two kernels may work on two samples at a time, one has no way between them.
std::string fusion_text(const kernels::Cost& first, const kernels::Cost& second, const kernels::Cost& both,
                        double slowest, const std::string& with) {
  const double apart = std::max(first.interval_cycles, second.interval_cycles);
  const double saved = first.latency_cycles + second.latency_cycles - both.latency_cycles;
  if (!std::isfinite(apart)) return fmt::format("one kernel with {}, no estimate of them apart", with);
  const std::string text =
      fmt::format("one kernel with {}, interval {:.0f} instead of {:.0f}", with, both.interval_cycles, apart);
  if (saved >= 1) return fmt::format("beneficial by {:.0f} cycles of latency: {}", saved, text);
  if (both.interval_cycles + 1 <= apart)
    return fmt::format("beneficial by {:.0f} cycles: {}", apart - both.interval_cycles, text);
  if (both.interval_cycles > slowest) return "about as fast: " + text;
  return fmt::format("no cost to the network: {}, and its slowest kernel takes {:.0f}", text, slowest);
}

// Together they take about as long as the slowest of all nodes alone (`alone` is that of the group's), or as
// the slowest kernel of the network; what is saved is the way from one to the other.
bool pays(const Graph& g, const std::vector<NodeId>& group, NodeId id, double slowest, double& alone,
          GroupCosts& costs, PassContext& context, std::string& reason) {
  std::vector<NodeId> all = group;
  all.push_back(id);
  const kernels::Cost first = costs.of(g, group), second = costs.of(g, std::span(&id, 1)),
                      both = costs.of(g, all);
  const kernels::Cost two = apart(first, second);
  reason = fusion_text(first, second, both, slowest, g.node(group.front()).name);
  const double nodes_alone =
      std::max(group.size() == 1 ? first.interval_cycles : alone, second.interval_cycles);
  const bool good = both.interval_cycles <= std::max(slowest, kSlower * nodes_alone + kStream);
  if (good) alone = nodes_alone;
  note_choice(context, "fuse", names_of(g, all), {"apart", two, ""}, {"one kernel", both, ""}, good);
  return good;
}

// The same as it is measured. Of a kernel whose choice waits, several are measured with the operator, and the best one
// is taken with it.
class MeasuredFusion {
 public:
  MeasuredFusion(Graph& g, PassContext& context) : g_(g), context_(context) {}

  bool decides(const std::vector<NodeId>& group) const {
    return context_.measured != nullptr && context_.epilogues == EpilogueFusion::benchmark &&
           g_.op(group.front()).kind != ops::OpKind::elementwise && context_.measured->counts(g_, group.front()) &&
           (cycles_.contains(group.front()) || context_.deferred.contains(group.front()));
  }

  // As the kernel that the first of them has, or as one of those that wait.
  bool can_fuse(const std::vector<NodeId>& group, NodeId id) {
    std::string why;
    if (autogen::can_fuse(g_, group, id, why)) return true;
    const auto waits = context_.deferred.find(group.front());
    if (waits == context_.deferred.end() || !decides(group)) return false;
    graph::Assignment& head = g_.node(group.front()).assignment;
    const graph::Assignment own = head;
    bool can = false;
    for (const KernelCandidate& c : waits->second) {
      head.origin = c.origin, head.kernel = c.kernel;
      can = can || autogen::can_fuse(g_, group, id, why);
    }
    head = own;
    return can;
  }

  bool pays(const std::vector<NodeId>& group, NodeId id, std::string& reason) {
    const NodeId first = group.front();
    graph::Assignment& head = g_.node(first).assignment;
    const auto waits = context_.deferred.find(first);
    std::vector<KernelCandidate> ways = waits == context_.deferred.end() ? DeferredKernel{} : waits->second;
    if (ways.empty()) ways.push_back({*head.origin, head.kernel, cycles_.at(first)});
    ways.resize(std::min(ways.size(), size_t(context_.measured->most_with_epilogue())));
    std::vector<NodeId> all = group;
    all.push_back(id);
    const auto together = context_.measured->together(g_, all, ways);
    const Measured::Result other = context_.measured->alone(g_, all);
    if (!other.cycles) return false;
    const double alone = group.size() == 1 ? ways.front().cycles : cycles_.at(first);
    const double apart = std::max(alone, *other.cycles);
    const auto cycles = [](const Measured::Result& r) { return r.cycles.value_or(HUGE_VAL); };
    const size_t best = size_t(std::ranges::min_element(together, {}, cycles) - together.begin());
    const bool good = cycles(together[best]) <= apart;
    reason = text(ways, best, together[best], apart, good, g_.node(first).name);
    context_.measured->decided(g_.node(first).name, g_.node(id).name, good, reason);
    if (good && context_.defer_all && waits != context_.deferred.end())
      wait_on(first, ways, together);
    else if (good)
      take(first, ways[best], cycles(together[best]));
    else
      g_.node(id).assignment.reason += fmt::format("; {}", reason);
    return good;
  }

 private:
  static std::string text(const std::vector<KernelCandidate>& ways, size_t best, const Measured::Result& r,
                          double apart, bool good, const std::string& with) {
    if (!r.cycles) return fmt::format("not one kernel with {}: {}", with, r.why);
    if (!good)
      return fmt::format("not one kernel with {}: slower by {:.1f} %, measured {:.0f} cycles against {:.0f} apart",
                         with, 100 * (*r.cycles / apart - 1), *r.cycles, apart);
    std::string text =
        fmt::format("one kernel with {}, measured {:.0f} cycles against {:.0f} apart", with, *r.cycles, apart);
    if (best > 0)
      text += fmt::format("; with it {} is faster than {}", ways[best].kernel.name(), ways[0].kernel.name());
    return text;
  }
  // All that can have what has joined so far wait for the next operator, the best one first.
  void wait_on(NodeId first, const std::vector<KernelCandidate>& ways, const std::vector<Measured::Result>& together) {
    graph::Assignment& head = g_.node(first).assignment;
    DeferredKernel& deferred = context_.deferred.at(first);
    make_choice(deferred, head);
    deferred.clear();
    for (size_t i = 0; i < ways.size(); ++i)
      if (together[i].cycles) deferred.push_back({ways[i].origin, ways[i].kernel, *together[i].cycles});
    std::ranges::stable_sort(deferred, {}, &KernelCandidate::cycles);
    head.origin = deferred.front().origin;
    head.kernel = deferred.front().kernel;
    head.reason += deferred_text(deferred);
    cycles_[first] = deferred.front().cycles;
  }
  // The first operator that joins decides.
  void take(NodeId first, const KernelCandidate& way, double cycles) {
    graph::Assignment& head = g_.node(first).assignment;
    if (const auto waits = context_.deferred.find(first); waits != context_.deferred.end()) {
      make_choice(waits->second, head);
      context_.deferred.erase(waits);
    }
    head.origin = way.origin;
    head.kernel = way.kernel;
    cycles_[first] = cycles;
  }

  Graph& g_;
  PassContext& context_;
  std::map<NodeId, double> cycles_;  // first node -> its kernel, as far as it was measured with what joined it
};

// A product of the library whose kernel calls no epilogue.
std::string library_lacks(const Graph& g, NodeId first) {
  const kernels::Row* row = kernels::kernel_of(g, first).row;
  const bool product = row != nullptr && g.op(first).kind == ops::OpKind::contraction;
  return product ? kernels::library().lacks(row->name, "epilogue") : "";
}

// By what the options say.
bool may_join(const Graph& g, const std::vector<NodeId>& group, const PassContext& context) {
  return context.epilogues != EpilogueFusion::never || g.op(group.front()).kind == ops::OpKind::elementwise;
}

}  // namespace

std::optional<EpilogueFusion> epilogue_fusion_from_name(std::string_view name) {
  for (EpilogueFusion f : {EpilogueFusion::estimate, EpilogueFusion::always, EpilogueFusion::benchmark,
                           EpilogueFusion::never})
    if (epilogue_fusion_name(f) == name) return f;
  return std::nullopt;
}

std::string_view epilogue_fusion_name(EpilogueFusion f) {
  constexpr std::string_view kNames[] = {"estimate", "always", "benchmark", "never"};
  return kNames[size_t(f)];
}

std::string deferred_text(const DeferredKernel& deferred) {
  std::string text = "; waits for what joins it: ";
  for (size_t i = 0; i < deferred.size(); ++i)
    text += fmt::format("{}{} {:.1f} cycles", i == 0 ? "" : ", ", deferred[i].kernel.name(), deferred[i].cycles);
  return text;
}

void make_choice(DeferredKernel& deferred, graph::Assignment& a) {
  const std::string text = deferred_text(deferred);
  if (const size_t at = a.reason.find(text); at != std::string::npos) a.reason.erase(at, text.size());
}

bool finalise_choices(Graph& g, PassContext& context) {
  for (auto& [id, deferred] : context.deferred)
    if (id.valid()) make_choice(deferred, g.node(id).assignment);
  context.deferred.clear();
  return true;
}

bool fuse_elementwise(Graph& g, PassContext& context) {
  if (context.policy == Policy::disabled || context.form == Form::library) return true;
  GroupCosts costs(context.known_costs());
  const double slowest = costs.slowest(g);
  std::map<NodeId, NodeId> head;                  // node -> first node of its kernel
  std::map<NodeId, std::vector<NodeId>> members;  // first node -> kernel, topological order
  std::map<NodeId, double> alone;                 // first node -> interval of its kernel's slowest node
  MeasuredFusion measured(g, context);
  for (NodeId id : g.topological()) {
    if (graph::is_transparent(g, id)) continue;
    head[id] = id;
    members[id] = {id};
    graph::Node& node = g.node(id);
    if (!is_elementwise(g, id) || context.fallbacks.apart(node.name) || is_of_loss(g, id)) continue;
    std::set<NodeId> tried;
    for (ValueId v : node.inputs) {
      NodeId producer = v.valid() ? g.value(graph::source_of(g, v)).producer : NodeId{};
      if (!producer.valid() || !tried.insert(producer).second) continue;
      NodeId first = head.at(producer);
      std::string reason;
      const std::string lack = library_lacks(g, first);
      if (members[first].size() == 1 && !lack.empty() && only_user(g, graph::source_of(g, v), id))
        node.assignment.reason += fmt::format("; a kernel of its own: {}", lack);
      if (members[first].back() != producer || members[first].size() >= kMostNodes ||
          context.fallbacks.apart(g.node(first).name) || is_of_loss(g, first) || !extensible(g, first) ||
          !only_user(g, graph::source_of(g, v), id) || !may_join(g, members[first], context) ||
          !measured.can_fuse(members[first], id)) {
        continue;
      }
      const bool by_measure = measured.decides(members[first]);
      const bool pay = by_measure ? measured.pays(members[first], id, reason)
                                  : pays(g, members[first], id, slowest, alone[first], costs, context, reason);
      if (!pay && (by_measure || context.epilogues != EpilogueFusion::always)) continue;
      members.erase(id);
      members[first].push_back(id);
      head[id] = first;
      std::string group = g.node(first).name;
      g.node(first).assignment.group = group;
      node.assignment.group = group;
      add_reason(node.assignment, reason);
      name_origins(g, members[first], by_measure);
      break;
    }
  }
  return true;
}

}  // namespace cs::passes
