// Which inputs and outputs cross the edge in pieces: those whose single stream, or the kernels that join or
// cut it, would be slower than the slowest other kernel of the network, by more than estimates err. What is
// not stays one stream: pieces cost ports and ways to the edge, and a kernel that joins may take in those
// before it (yolo_head has 734 cycles as one region, 1,194 in pieces, where the concatenation alone would be
// 3 % slower than what is beside it).
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "compiler/graph/pieces.h"
#include "compiler/passes/group_cost.h"
#include "compiler/passes/passes.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

// Of one tensor. Its pieces may go round most of a small network, and have no room for more beside other
// streams.
constexpr size_t kMostPieces = 16;
constexpr double kSlower = 1.15;

struct Candidate {
  graph::InPieces in;
  std::string name;     // of the input or output
  ValueId input = {};   // not valid: of an output
  kernels::Cost whole;  // the slowest of its kernels, and its stream
  double longest = 0;   // of its pieces, on its port
};

bool is_in_parts(const PassContext& context) { return context.rewrites.shards > 1 || context.rewrites.columns > 1; }

class Chooser {
 public:
  Chooser(Graph& g, PassContext& context) : g_(g), context_(context), costs_(context.known_costs()) {}

  void run() {
    find();
    if (candidates_.empty()) return;
    const double others = slowest_other();
    for (const Candidate& c : candidates_) choose(c, others);
  }

 private:
  double cycles_of(int64_t words) const {
    return double(words) / context_.machine.host.host_wavelets_per_cycle;
  }

  void find() {
    std::string why;
    for (const ValueId v : g_.inputs)
      if (auto in = graph::input_in_pieces(g_, v, why)) add(std::move(*in), g_.value(v).name, v);
    for (const NodeId id : g_.topological())
      if (auto in = graph::output_in_pieces(g_, id, why))
        add(std::move(*in), g_.value(g_.node(id).outputs[0]).name, {});
  }

  void add(graph::InPieces in, const std::string& name, ValueId input) {
    const auto decided = [&](NodeId id) {
      return graph::is_in_pieces(g_.node(id)) || context_.given.count(id) > 0 ||
             context_.fallbacks.whole(g_.node(id).name);
    };
    const size_t most = std::max({kMostPieces, size_t(context_.rewrites.shards), size_t(context_.rewrites.columns)});
    if (in.pieces.size() > most || std::any_of(in.nodes.begin(), in.nodes.end(), decided)) return;
    Candidate c{std::move(in), name, input, {}, 0};
    for (const NodeId id : c.in.nodes) {
      kernels::Cost cost{};
      if (g_.node(id).assignment.origin == Origin::host)
        cost.interval_cycles = std::numeric_limits<double>::infinity();
      else
        cost = costs_.of(g_, std::span(&id, 1));
      if (cost.interval_cycles > c.whole.interval_cycles) c.whole = cost;
      nodes_.insert(id);
    }
    c.whole.interval_cycles = std::max(c.whole.interval_cycles, cycles_of(c.in.stride * c.in.blocks));
    for (const graph::ValuePiece& p : c.in.pieces)
      c.longest = std::max(c.longest, cycles_of(p.length * c.in.blocks));
    candidates_.push_back(std::move(c));
  }

  // Of all kernels but those that pieces may replace.
  double slowest_other() {
    double slowest = 0;
    for (const graph::Group& group : graph::groups(g_)) {
      const NodeId front = group.nodes.front();
      if (nodes_.count(front) > 0 || g_.node(front).assignment.origin == Origin::host) continue;
      const double cycles = costs_.of(g_, group.nodes).interval_cycles;
      if (std::isfinite(cycles)) slowest = std::max(slowest, cycles);
    }
    for (const Candidate& c : candidates_) slowest = std::max(slowest, c.longest);
    return slowest;
  }

  // A piece of an input is no part of an output in pieces: neither would have a kernel.
  bool still_possible(const Candidate& c) const {
    std::string why;
    return c.input.valid() ? graph::input_in_pieces(g_, c.input, why).has_value()
                           : graph::output_in_pieces(g_, c.in.nodes.front(), why).has_value();
  }

  void choose(const Candidate& c, double others) {
    const double whole = c.whole.interval_cycles;
    const bool asked = is_in_parts(context_);
    const bool better = c.longest < whole && (asked || whole >= kSlower * others) && still_possible(c);
    note(c, others, better);
    if (!better) return;
    const std::string reason = fmt::format(
        "beneficial: {} crosses the edge in {} piece{} of at most {:.0f} cycles; as one stream {}, the "
        "slowest kernel "
        "beside it takes {:.0f}",
        c.name, c.in.pieces.size(), c.in.pieces.size() == 1 ? "" : "s", c.longest,
        std::isfinite(whole) ? fmt::format("it takes {:.0f}", whole) : std::string("it has no estimate"),
        others);
    for (const NodeId id : c.in.nodes)
      g_.node(id).assignment = {Origin::host, graph::pieces_id(), reason, "", {}};
  }

  void note(const Candidate& c, double others, bool taken) const {
    kernels::Cost pieces{};
    pieces.interval_cycles = c.longest;
    note_choice(context_, "pieces", c.name, {"one stream", c.whole, ""},
                {fmt::format("{} pieces", c.in.pieces.size()), pieces,
                 fmt::format("the slowest kernel beside them takes {:.0f}", others)},
                taken);
  }

  Graph& g_;
  PassContext& context_;
  GroupCosts costs_;
  std::vector<Candidate> candidates_;
  std::set<NodeId> nodes_;  // of all candidates
};

}  // namespace

bool cross_in_pieces(Graph& g, PassContext& context) {
  const bool chosen = context.policy == Policy::medium && context.map.force_width == 0;
  if ((chosen || is_in_parts(context)) && !context.map.resident) Chooser(g, context).run();
  return true;
}

}  // namespace cs::passes
