// Losses are decided before other compounds. One kernel is a region, made of the loops of the row's steps;
// where a sum over everything would put that on one PE, and a few regions one behind the other are done
// sooner, it is these (loss_pieces.h). What stands in its way (the policy, a PE's memory, a loss that is
// never fused) is a warning or an error; primitives follow then. A loss of so many primitives that they would
// have no routes stays one kernel all the same, or goes to the host whole, which is better than crossing the
// edge for every part.
#include "compiler/passes/losses.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/graph/expand.h"
#include "compiler/graph/whole_batch.h"
#include "compiler/kernels/kind.h"
#include "compiler/passes/group_cost.h"
#include "compiler/passes/loss_pieces.h"
#include "runtime/ops/losses.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// Kernels that a network has had routes for; a CTC loss has a thousand steps.
constexpr int kMostPrimitives = 128;
// Of a PE's memory for a part of what is summed; the rest is for the next sample's, other operands and code.
constexpr double kPartShare = 0.25;
// Pieces take PEs, streams and colors of their own: they have to be done clearly sooner.
constexpr double kClearly = 1.1;
constexpr double kNever = std::numeric_limits<double>::infinity();

class Lowering {
 public:
  Lowering(Graph& g, NodeId id, PassContext& context, GroupCosts& costs)
      : g_(g), id_(id), context_(context), costs_(costs), node_(g.node(id)) {}

  bool run() {
    whole_ = choose_origin(g_, id_, context_.choosing(), context_.fallbacks);
    const bool asked = ops::asks_for_one_kernel(g_.op(id_), node_.attrs);
    const std::string cause = why_not_one_kernel();
    if (asked && may_be_pieces()) {
      const Pieces pieces = best_pieces();
      if (!context_.diag.ok()) return false;
      if (pieces.latency * kClearly < whole_latency(cause.empty())) return bool(cut(g_, id_, pieces.words));
    }
    if (asked && cause.empty()) {
      take_whole("one kernel, as use_autogen asks for");
      return true;
    }
    // The library, and what it has no kernel for on the host: as for every other compound.
    if (context_.policy == Policy::disabled)
      return !asked || complain(cause, "the library and the host compute it");
    Graph trial;
    const std::optional<NodeId> alone = graph::alone(g_, id_, trial, context_.diag);
    if (!alone || !graph::expand(trial, *alone, context_.diag)) return false;
    const int parts = count_kernels(trial);
    const bool no_routes = context_.fallbacks.whole(node_.name);
    if (parts > kMostPrimitives || no_routes) {
      const std::string why = no_routes ? fmt::format("no routes between its {} primitives", parts)
                                        : fmt::format("{} primitives are too many kernels", parts);
      if (asked && !complain(cause, "it goes to the host: " + why)) return false;
      if (whole_.origin == Origin::autogen) {
        take_whole("one kernel: " + why);
      } else {
        g_.node(id_).assignment = {
            Origin::host, graph::KernelId::host(), why + "; as one kernel: " + one_kernel_refused(), "", {}};
      }
      return true;
    }
    const double chain = latency(trial);
    if (asked && !complain(cause, fmt::format("it is made of primitives: {}, about {:.0f} cycles together",
                                              parts, chain)))
      return false;
    note_cost(chain);
    return graph::expand(g_, id_, context_.diag);
  }

 private:
  std::string one_kernel_refused() const {
    const std::string& refused = context_.fallbacks.refused(node_.name, Origin::autogen);
    return refused.empty() ? whole_.reason : refused;
  }
  // Empty: it can be one.
  std::string why_not_one_kernel() const {
    if (const std::string_view never = ops::why_not_fused(g_.op(id_)); !never.empty())
      return std::string(never);
    if (context_.policy == Policy::disabled) return "policy disabled generates no kernels";
    return whole_.origin == Origin::autogen ? "" : one_kernel_refused();
  }

  // Many PEs share the sums over everything.
  bool may_be_pieces() const {
    return ops::why_not_fused(g_.op(id_)).empty() && context_.policy != Policy::disabled &&
           !graph::is_whole_batch(node_);
  }

  std::optional<std::vector<LossPiece>> cut(Graph& g, NodeId id, int64_t words) {
    return cut_loss(g, id, words, "one loss, as use_autogen asks for, of which many PEs share the sums",
                    context_.diag);
  }

  // How long the parts of sums are and what the pieces take then; infinite if it cannot be pieces.
  struct Pieces {
    double latency = kNever;
    int64_t words = 0;
  };
  // Shorter parts are more of them, for more PEs in front of the one that sums up. On a rectangle that is
  // given every PE has one, if there are so many.
  Pieces best_pieces() {
    const int64_t pes = int64_t(context_.map.force_width) * std::max(1, context_.map.force_height);
    Pieces best, any;
    for (const int64_t words : {int64_t(double(context_.machine.core.memory_bytes) * kPartShare / 4),
                                int64_t(256), int64_t(64), int64_t(16), int64_t(4), int64_t(1)}) {
      Graph trial;
      const std::optional<NodeId> alone = graph::alone(g_, id_, trial, context_.diag);
      const auto pieces = alone ? cut(trial, *alone, words) : std::nullopt;
      if (!pieces) return best;
      const Pieces made{has_place(trial, *pieces) ? latency_of(trial, *pieces, costs_) : kNever, words};
      const bool enough = std::all_of(pieces->begin(), pieces->end(), [&](const LossPiece& p) {
        return p.parts == 0 || p.parts % std::max<int64_t>(1, pes) == 0;
      });
      if (made.latency < any.latency) any = made;
      if (enough && made.latency < best.latency) best = made;
    }
    return std::isfinite(best.latency) ? best : any;
  }
  // As far as is known by now.
  bool has_place(const Graph& trial, const std::vector<LossPiece>& pieces) const {
    const auto refused = [&](NodeId n) {
      const std::string& name = trial.node(n).name;
      return context_.fallbacks.apart(name) || !context_.fallbacks.refused(name, Origin::autogen).empty();
    };
    return std::none_of(pieces.begin(), pieces.end(), [&](const LossPiece& p) {
      return std::any_of(p.nodes.begin(), p.nodes.end(), refused);
    });
  }

  double whole_latency(bool possible) {
    std::string why;
    if (!possible || autogen::generator_for(g_, id_, why) != kernels::region_kind()) return kNever;
    return cost_as(g_, id_, {Origin::autogen, kernels::generated_id(*kernels::region_kind()), "", "", {}},
                   costs_)
        .latency_cycles;
  }

  void take_whole(const std::string& reason) {
    g_.node(id_).assignment = whole_;
    g_.node(id_).assignment.reason = reason;
  }

  // What is asked for is not to be had. A loss that is never fused is no failure.
  bool complain(const std::string& cause, const std::string& instead) {
    const std::string message = fmt::format(
        "loss '{}': use_autogen asks for one kernel, which it cannot be: {}; {}", node_.name, cause, instead);
    const bool never = !ops::why_not_fused(g_.op(id_)).empty();
    if (context_.autogen_failure == AutogenFailure::error && !never) {
      graph::node_error(g_, id_, context_.diag,
                        fmt::format("loss '{}': use_autogen asks for one kernel: {}", node_.name, cause),
                        "autogen_on_failure: primitives takes its primitives then");
      return false;
    }
    context_.diag.warning(node_.loc,
                          node_.loc.valid() || node_.where.empty() ? message : node_.where + ": " + message);
    return true;
  }

  static int count_kernels(const Graph& g) {
    const std::vector<NodeId> nodes = g.nodes();
    return int(std::count_if(nodes.begin(), nodes.end(), [&](NodeId n) {
      return g.op(n).kind != ops::OpKind::view && g.op(n).kind != ops::OpKind::source;
    }));
  }

  // Cycles until the last primitive is done if each starts when its operands are there.
  double latency(Graph& g) {
    std::map<ValueId, double> done;
    double last = 0;
    for (NodeId n : g.topological()) {
      double at = 0;
      for (ValueId v : g.node(n).inputs)
        if (v.valid()) at = std::max(at, done[v]);
      if (g.op(n).kind != ops::OpKind::view && g.op(n).kind != ops::OpKind::source)
        at += cost_as(g, n, choose_origin(g, n, context_.choosing()), costs_).latency_cycles;
      for (ValueId v : g.node(n).outputs) done[v] = at;
      last = std::max(last, at);
    }
    return last;
  }

  void note_cost(double chain) {
    const double fused = may_be_pieces() ? std::min(best_pieces().latency, whole_latency(true)) : kNever;
    const bool known = std::isfinite(fused) && std::isfinite(chain) && fused > 0;
    context_.unfused[node_.name] = known ? chain / fused : 0;
  }

  Graph& g_;
  NodeId id_;
  PassContext& context_;
  GroupCosts& costs_;
  const graph::Node node_;
  graph::Assignment whole_;
};

}  // namespace

bool lower_losses(Graph& g, PassContext& context) {
  GroupCosts costs(context.known_costs());
  context.unfused.clear();
  for (NodeId id : g.topological()) {
    if (!g.node(id).alive || !ops::is_loss(g.op(id))) continue;
    // Of a plan, which has its origins already.
    const bool refused = !context.fallbacks.refused(g.node(id).name, Origin::autogen).empty();
    if (g.node(id).assignment.origin && !(refused && g.node(id).assignment.origin == Origin::autogen))
      continue;
    if (!Lowering(g, id, context, costs).run()) return false;
  }
  return true;
}

bool is_of_loss(const Graph& g, NodeId id) {
  if (ops::is_loss(g.op(id))) return true;
  const ops::OpDef* from = ops::find_op(g.node(id).from_op);
  return from != nullptr && ops::is_loss(*from);
}

}  // namespace cs::passes
