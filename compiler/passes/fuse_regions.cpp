// Fusion of regions: an operator whose kernel is made from its loops joins the region that makes one of its
// operands, if no stream would have to leave the region and come back, and the region is about as fast as the
// slower of the two kernels alone. Chains of elementwise kernels become regions where they meet one. Values
// between the operators of a region never leave the PE and keep 32 bits; for models in 16 bits that accuracy
// alone is reason enough if the region is small.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/autogen/held.h"
#include "compiler/kernels/kind.h"
#include "compiler/passes/group_cost.h"
#include "compiler/passes/losses.h"
#include "compiler/passes/passes.h"
#include "runtime/support/progress.h"

namespace cs::passes {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

constexpr int64_t kSmallWords = 6000;  // half of a PE's memory
constexpr double kSlower = 1.1, kMorePes = 2;
constexpr double kFaster = 1.05;  // for more PEs

class Fuser {
 public:
  Fuser(Graph& g, PassContext& context)
      : g_(g),
        context_(context),
        machine_(context.machine),
        fallbacks_(context.fallbacks),
        generate_(context.policy != Policy::disabled),
        sized_(context.map.force_width == 0),
        apart_(!context.joins()),
        costs_(context.known_costs()),
        held_(g, [this](NodeId id) { return members_[size_t(group_of_.at(id))]; }) {}

  void run() {
    for (const NodeId id : g_.topological()) order_.emplace(id, order_.size());
    across_.assign(order_.size(), 0);
    for (const graph::Group& group : graph::groups(g_)) {
      int number = int(members_.size());
      members_.push_back(group.nodes);
      for (NodeId id : group.nodes) group_of_[id] = number;
      span_.push_back(span_of(group.nodes));
      lies_across(span_.back(), 1);
      leave_the_row(group.nodes);
    }
    slowest_ = costs_.slowest(g_);
    for (const std::vector<NodeId>& nodes : members_) leave_if_slowest(nodes);
    slowest_ = costs_.slowest(g_);
    note_apart();
    for (size_t i = 0; i < members_.size(); ++i) {
      progress::part("regions", i, members_.size());
      if (joins(members_[i])) try_to_join(int(i));
    }
    name_groups();
  }

 private:
  bool is_region(const std::vector<NodeId>& nodes) const { return kernels::from_loops(g_, nodes.front()); }
  // What may become a region: generated, or the library's.
  bool could_be_region(const std::vector<NodeId>& nodes, bool by_library) const {
    const kernels::KernelRef maker = kernels::kernel_of(g_, nodes.front());
    return maker.kind != nullptr && maker.kind->may_become_region() && (maker.row == nullptr || by_library);
  }
  bool is_chain(const std::vector<NodeId>& nodes) const { return could_be_region(nodes, generate_); }
  bool is_elementwise(const std::vector<NodeId>& nodes) const {
    return is_chain(nodes) && g_.op(nodes.front()).kind == ops::OpKind::elementwise;
  }
  bool joins(const std::vector<NodeId>& nodes) const {
    return (is_region(nodes) || is_chain(nodes)) && std::none_of(nodes.begin(), nodes.end(), [&](NodeId id) {
             return fallbacks_.apart(g_.node(id).name) || is_of_loss(g_, id);
           });
  }
  // A chain of which no row of PEs can hold the slices becomes a region, which may lie on a rectangle; not if
  // it did before and no rectangle could hold it either.
  void leave_the_row(const std::vector<NodeId>& nodes) {
    const bool refused = std::ranges::any_of(
        nodes, [&](NodeId id) { return !fallbacks_.refused(g_.node(id).name, Origin::autogen).empty(); });
    const bool chain = !refused && could_be_region(nodes, true);
    std::string why;
    std::optional<kernels::Work> work = chain ? kernels::work_of(g_, nodes.front(), why) : std::nullopt;
    if (!work || work->kind->rounds()) return;  // in rounds PEs need not hold all of it
    int64_t width = std::min<int64_t>(work->n, machine_.fabric.user_width - work->operands - 1);
    int64_t slice = (work->n + width - 1) / width;
    auto plan = kernels::plan_kernel(*work, int((work->n + slice - 1) / slice), 1, machine_);
    autogen::Region region;
    if (!plan || plan->memory.total <= uint32_t(machine_.core.memory_bytes)) return;
    if (!autogen::make_region(g_, nodes, region, why)) return;
    to_region(nodes, fmt::format("a row of {} PEs would need {} B each", width, plan->memory.total));
  }

  void to_region(const std::vector<NodeId>& nodes, const std::string& reason) {
    for (NodeId id : nodes) {
      graph::Assignment& a = g_.node(id).assignment;
      a.origin = Origin::autogen;
      a.kernel = kernels::generated_id(*kernels::region_kind());
      a.reason = reason;
    }
  }

  // A chain for which the network waits becomes a region if that is faster: the words of its operands need
  // not share the links of one row with its results. On a rectangle that is given there is no other row.
  void leave_if_slowest(const std::vector<NodeId>& nodes) {
    if (apart_ || !generate_ || !sized_ || !is_chain(nodes) || !joins(nodes)) return;
    const kernels::Cost there = costs_.of(g_, nodes, slowest_);
    std::string why;
    autogen::Region region;
    if (there.interval_cycles < slowest_ || !autogen::make_region(g_, nodes, region, why)) return;
    const kernels::Cost made = costs_.of(region);
    const bool faster = made.interval_cycles * kFaster < there.interval_cycles;
    note_choice(context_, "regions", names_of(g_, nodes), {"a row", there, ""}, {"a rectangle", made, ""},
                faster);
    if (faster) to_region(nodes, benefit_text(made, there, "chain in a row of PEs"));
  }

  std::vector<NodeId> producers(NodeId id) const {
    std::vector<NodeId> list;
    for (ValueId v : g_.node(id).inputs) {
      NodeId producer = v.valid() ? g_.value(graph::source_of(g_, v)).producer : NodeId{};
      if (producer.valid()) list.push_back(producer);
    }
    return list;
  }

  std::set<int> producer_groups(int number) const {
    std::set<int> list;
    for (NodeId id : members_[size_t(number)]) {
      for (NodeId p : producers(id)) {
        if (group_of_.count(p) && group_of_.at(p) != number) list.insert(group_of_.at(p));
      }
    }
    return list;
  }

  // Places in the topological order, of the first and the last node of a group.
  struct Span {
    size_t first = 0, last = 0;
  };
  Span span_of(const std::vector<NodeId>& nodes) const {
    Span span{order_.at(nodes.front()), 0};
    for (NodeId id : nodes) span = {std::min(span.first, order_.at(id)), std::max(span.last, order_.at(id))};
    return span;
  }

  // Does a path lead from group `from` to group `to` over another group? None leads to a group that ends before a place
  // in the order that no group lies across, if `from` lies behind that place.
  bool leaves_and_returns(int from, int to) const {
    size_t begin = span_[size_t(from)].first;
    while (across_[begin] > 0) --begin;
    const auto is_before = [&](int number) { return span_[size_t(number)].last < begin; };
    std::set<int> seen = producer_groups(to);
    seen.erase(from);
    std::erase_if(seen, is_before);
    std::vector<int> stack(seen.begin(), seen.end());
    while (!stack.empty()) {
      int number = stack.back();
      stack.pop_back();
      for (int p : producer_groups(number)) {
        if (p == from) return true;
        if (is_before(p)) continue;
        if (seen.insert(p).second) stack.push_back(p);
      }
    }
    return false;
  }
  // One group more, or less, that lies across the places within its span.
  void lies_across(const Span& span, int more) {
    for (size_t place = span.first + 1; place <= span.last; ++place) across_[place] += more;
  }

  // Into the group of one producer after another, as long as one takes what has come together.
  void try_to_join(int number) {
    std::set<int> tried;
    for (bool joined = true; joined;) {
      joined = false;
      for (int to : producer_groups(number)) {
        if (!tried.insert(to).second || !may_take(to, number)) continue;
        const std::vector<NodeId> nodes = members_[size_t(number)];
        if (!join_all(to, nodes)) continue;
        for (NodeId n : nodes) group_of_[n] = to;
        members_[size_t(number)].clear();
        number = to;
        joined = true;
        break;
      }
    }
  }

  // What takes one stream and nothing else: a pooling, a function.
  bool one_stream(const std::vector<NodeId>& nodes) const {
    return std::all_of(nodes.begin(), nodes.end(), [&](NodeId id) { return g_.node(id).inputs.size() == 1; });
  }

  // Two chains stay what they are; their own generator joined them if it could.
  bool may_take(int to, int number) const {
    const std::vector<NodeId>& group = members_[size_t(to)];
    if (group.empty() || !joins(group)) return false;
    if (is_elementwise(group) && is_elementwise(members_[size_t(number)])) return false;
    if (ended_.count(to) > 0 && !one_stream(members_[size_t(number)])) return false;
    if (!apart_from_reduction(group, members_[size_t(number)]).empty()) return false;
    return !leaves_and_returns(to, number);
  }

  bool join_all(int to, const std::vector<NodeId>& nodes) {
    std::vector<NodeId> joined = members_[size_t(to)];
    joined.insert(joined.end(), nodes.begin(), nodes.end());
    autogen::Region first, second, both;
    std::string why;
    if (!autogen::make_region(g_, joined, both, why) || !autogen::make_region(g_, nodes, second, why) ||
        !autogen::make_region(g_, members_[size_t(to)], first, why)) {
      return false;
    }
    for (autogen::Region* r : {&first, &second, &both}) r->may_wait = held_.may_wait(*r);
    if (!keeps_accuracy(joined, both)) {
      if (apart_) return false;
      const kernels::Cost a = cost(to, first), b = cost(group_of_.at(nodes.front()), second),
                          one = costs_.of(both, slowest_);
      const bool good = pays(a, b, one);
      note_choice(context_, "regions", names_of(g_, joined), {"apart", apart(a, b), ""},
                  {"one region", one, ""}, good);
      if (!good) return false;
    }
    for (const int apart : {to, group_of_.at(nodes.front())}) lies_across(span_[size_t(apart)], -1);
    members_[size_t(to)] = std::move(joined);
    span_[size_t(to)] = span_of(members_[size_t(to)]);
    lies_across(span_[size_t(to)], 1);
    for (NodeId id : members_[size_t(to)]) {
      graph::Assignment& a = g_.node(id).assignment;
      if (kernels::from_loops(g_, id)) continue;
      const bool function = g_.op(id).kind == ops::OpKind::elementwise;
      if (function && a.origin == Origin::handwritten) ended_.insert(to);
      a.origin = Origin::autogen;
      a.kernel = kernels::generated_id(*kernels::region_kind());
    }
    return true;
  }

  // Small groups of 16-bit floats, whose values inside are f32. Not products, whose sums are f32 in any case and which
  // take PEs that a region of theirs would not have; but those of training steps, whose gradients are so small.
  bool keeps_accuracy(const std::vector<NodeId>& nodes, const autogen::Region& r) const {
    const auto sums = [&](NodeId id) { return g_.op(id).kind == ops::OpKind::contraction; };
    if (g_.states.empty() && std::ranges::any_of(nodes, sums)) return false;
    bool half = false;
    int64_t words = 0;
    for (const ops::LoopBuffer& b : r.program.buffers) {
      words += b.type.elements();
      half = half || (data_type_is_float(b.type.dtype) && data_type_bytes(b.type.dtype) == 2);
    }
    return half && words <= kSmallWords;
  }
  // No slower than the slower of them, or than the slowest kernel of the network; and on about as many PEs as
  // both, since what PEs compute more than once costs PEs, unless the network waits for one of them and for
  // both together less.
  bool pays(const kernels::Cost& a, const kernels::Cost& b, const kernels::Cost& both) const {
    const double apart = std::max(a.interval_cycles, b.interval_cycles);
    const bool waited_for = apart >= slowest_ && both.interval_cycles * kFaster < apart;
    return std::isfinite(both.interval_cycles) &&
           both.interval_cycles <= std::max(slowest_, kSlower * apart) &&
           (waited_for || both.pes <= kMorePes * (a.pes + b.pes));
  }
  // Of a group as the kernel that it is; `region` is what it would be as one.
  kernels::Cost cost(int number, const autogen::Region& region) {
    const std::vector<NodeId>& nodes = members_[size_t(number)];
    return is_region(nodes) ? costs_.of(region, slowest_) : costs_.of(g_, nodes, slowest_);
  }

  // Why one of two neighbours is a kernel that no reduction joins, and the other one has such; empty if they may join.
  std::string_view apart_from_reduction(const std::vector<NodeId>& a, const std::vector<NodeId>& b) const {
    const auto reduces = [&](const std::vector<NodeId>& nodes) {
      return std::ranges::any_of(nodes, [&](NodeId id) { return g_.op(id).kind == ops::OpKind::reduction; });
    };
    const auto refuses = [&](const std::vector<NodeId>& nodes) {
      const kernels::Kind* kind = kernels::kernel_of(g_, nodes.front()).kind;
      return kind != nullptr ? kind->apart_from_reductions() : std::string_view();
    };
    return reduces(b) ? refuses(a) : reduces(a) ? refuses(b) : std::string_view();
  }
  void note_apart() {
    for (size_t i = 0; i < members_.size(); ++i)
      for (const int from : producer_groups(int(i))) {
        std::vector<NodeId> both = members_[size_t(from)];
        both.insert(both.end(), members_[i].begin(), members_[i].end());
        const std::string_view why = apart_from_reduction(members_[size_t(from)], members_[i]);
        if (why.empty()) continue;
        const kernels::Cost two = apart(costs_.of(g_, members_[size_t(from)], slowest_),
                                        costs_.of(g_, members_[i], slowest_));
        note_choice(context_, "regions", names_of(g_, both), {"apart", two, ""},
                    {"one kernel", std::nullopt, "refused: " + std::string(why)}, false);
      }
  }

  void name_groups() {
    for (const std::vector<NodeId>& nodes : members_) {
      if (nodes.size() < 2 || !is_region(nodes)) continue;
      std::string name = g_.node(nodes.front()).name;
      for (NodeId id : nodes) {
        graph::Assignment& a = g_.node(id).assignment;
        if (a.group == name) continue;
        a.group = name;
        if (id != nodes.front()) a.reason += fmt::format("; in the region of {}", name);
      }
    }
  }

  Graph& g_;
  PassContext& context_;
  const Machine& machine_;
  const Fallbacks& fallbacks_;
  const bool generate_;
  const bool sized_;  // rectangles are chosen, not given
  const bool apart_;  // nothing is joined but what would lose accuracy apart
  GroupCosts costs_;
  std::vector<std::vector<NodeId>> members_;  // by group, in the order of their last nodes
  std::map<NodeId, int> group_of_;
  std::map<NodeId, size_t> order_;  // place in the topological order
  std::vector<Span> span_;          // by group
  std::vector<int> across_;         // by place in the order: groups with nodes before it and at it or behind it
  const autogen::HeldStreams held_;
  // Groups that took an elementwise kernel of the library, which could as well stand between them and what
  // comes next. A
  // product behind it, or a place where paths meet, is better off with PEs of its own.
  std::set<int> ended_;
  double slowest_ = 0;  // interval of the slowest kernel before any of them join
};

}  // namespace

bool fuse_regions(Graph& g, PassContext& context) {
  // A resident chain lies on a rectangle as it is.
  if (!context.map.resident) Fuser(g, context).run();
  return true;
}

}  // namespace cs::passes
