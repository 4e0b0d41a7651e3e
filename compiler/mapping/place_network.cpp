// Placing, buffers and routes in turn: each of them changes what the others need.
#include "compiler/mapping/place_network.h"

#include <algorithm>
#include <utility>

#include "compiler/mapping/known_plans.h"
#include "compiler/mapping/operand_turns.h"
#include "compiler/mapping/slack.h"
#include "compiler/mapping/strips.h"

namespace cs::mapping {

void pass_on(const Diag& from, Diag& to) {
  for (const Diagnostic& d : from.all()) to.error_at(d.where, d.message, d.help);
}

namespace {

// Is the fabric as large as it is, needed or not? A strip at one edge is as large as its network, with the edge of the
// fabric beside it.
bool has_extent(const MapOptions& options) {
  return options.fabric_width > 0 && (options.copies.count == 1 || band_of(options.copies).edges.size() > 1);
}

// Routes and colors: one after the other, which is better where both can be had, or together.
enum class Routed : uint8_t { yes, no_way, no_color };
Routed route_and_color(const Parts& parts, const Machine& machine, const Extent& fabric, FlowPlan& plan,
                       Diag& diag, InTheWay in_the_way = InTheWay::stays) {
  if (!route_flows(parts, fabric, machine, plan, diag)) return Routed::no_way;
  Diag full, together;
  if (color_flows(plan, machine, full) || route_flows_in_colors(parts, fabric, machine, in_the_way, plan, together))
    return Routed::yes;
  pass_on(full, diag);
  return Routed::no_color;
}

constexpr int kMaxMargin = 4;
Extent with_margin(const Extent& packed, int margin, const Extent& limit) {
  return {std::min(limit.width, packed.width + margin), std::min(limit.height, packed.height + margin)};
}

// Where streams have no way round each other, rows and columns are added east and south of the rectangles, as
// long as the fabric has them.
Routed route_with_room(const Parts& parts, const MapOptions& options, const Machine& machine, Extent& fabric,
                       FlowPlan& plan, Diag& diag, InTheWay in_the_way = InTheWay::stays) {
  const Extent limit = fabric_limit(options, machine), packed = fabric;
  for (int margin = 0;; ++margin) {
    Diag trial;
    const Routed routed = route_and_color(parts, machine, fabric, plan, trial, in_the_way);
    if (routed == Routed::yes) return routed;
    const Extent wider = with_margin(packed, margin + 1, limit);
    const bool same = wider.width == fabric.width && wider.height == fabric.height;
    if (has_extent(options) || same || margin == kMaxMargin || routed == Routed::no_color) {
      pass_on(trial, diag);
      return routed;
    }
    fabric = wider;
  }
}

// What lies on the PEs of each rectangle; kernels that are alike have one layout, which the layers of a
// network share.
void lay_out_all(Parts& parts, KnownPlans* known) {
  const auto lay_out = [&](const Instance& inst) -> std::shared_ptr<const kernels::Layout> {
    return known ? known->layouts().of(inst) : inst.work.kind->lay_out(inst, inst.plan.cut);
  };
  std::vector<const Instance*> firsts;
  for (Instance& inst : parts.instances) {
    const auto same = std::ranges::find_if(firsts, [&](const Instance* first) {
      return first->plan.cut == inst.plan.cut && alike(*first, inst);
    });
    inst.layout = same != firsts.end() ? (*same)->layout : lay_out(inst);
    if (same == firsts.end() && inst.layout) firsts.push_back(&inst);
  }
}

// Attempts to place, each with more room between the rectangles than the ones before it.
class Attempts {
 public:
  Attempts(const Parts& parts, const PlanLists& plans, const MapOptions& options, const Machine& machine)
      : parts_(parts), plans_(plans), options_(options), machine_(machine), limit_(fabric_limit(options, machine)) {}

  // All of them; where they have ways, but no colors, some of those again, in which streams that are in the way go
  // elsewhere.
  std::optional<Placed> run(Diag& diag) {
    constexpr int kAttempts = 12;
    constexpr size_t kAgain = 3;
    for (int n = 0; n < kAttempts; ++n)
      if (std::optional<Placed> placed = one(n, InTheWay::stays, diag)) return placed;
    if (no_color_.size() > kAgain) no_color_.resize(kAgain);
    for (const int n : no_color_)
      if (std::optional<Placed> placed = one(n, InTheWay::moves, diag)) return placed;
    return std::nullopt;
  }

 private:
  std::optional<Placed> one(int n, InTheWay in_the_way, Diag& diag) {
    Placed now;
    now.parts = parts_;
    Extent used;
    if (!place_instances(now.parts, plans_, limit_, n, options_, used, now.figures)) return std::nullopt;
    lay_out_all(now.parts, options_.known_plans.get());
    choose_operand_turns(now.parts, machine_);
    add_relays(now.parts);
    now.fabric = has_extent(options_) ? limit_ : used;
    if (in_the_way == InTheWay::stays && !is_another(now)) return std::nullopt;
    diag = {};
    const Routed routed = route_with_room(now.parts, options_, machine_, now.fabric, now.flows, diag, in_the_way);
    if (routed == Routed::yes) return now;
    if (routed == Routed::no_color && in_the_way == InTheWay::stays) no_color_.push_back(n);
    return std::nullopt;
  }

  // More room is not always another placement.
  bool is_another(const Placed& now) {
    Places places{{now.fabric.width, now.fabric.height}, {}};
    for (const Instance& inst : now.parts.instances) places.second.emplace_back(inst.rect, inst.plan.cut);
    return std::exchange(before_, places) != places;
  }

  const Parts& parts_;
  const PlanLists& plans_;
  const MapOptions& options_;
  const Machine& machine_;
  const Extent limit_;
  using Places = std::pair<std::pair<int, int>, std::vector<std::pair<Rect, kernels::Cut>>>;
  Places before_;  // extent, rectangles and what is on them, of the attempt before
  std::vector<int> no_color_;  // attempts that have no colors
};

// Places, routes and colors.
bool place_and_route(Placed& now, const PlanLists& plans, const MapOptions& options, const Machine& machine,
                     Diag& diag, std::vector<Misfit>& misfits) {
  const Extent limit = fabric_limit(options, machine);
  Diag last;
  if (has_area(now.parts, plans, limit)) {
    if (std::optional<Placed> placed = Attempts(now.parts, plans, options, machine).run(last)) {
      now = std::move(*placed);
      return verify_flows(now.flows, now.parts, now.fabric, machine, diag);
    }
  }
  if (last.ok()) {
    report_no_room(now.parts, plans, options, machine, diag);
    if (options.fabric_width == 0) misfits = too_large_together(now.parts, plans, limit);
  }
  pass_on(last, diag);
  return false;
}

// What instances have that were placed, without the buffers behind them.
PlanLists plans_of(const Parts& placed, const Parts& parts) {
  PlanLists lists;
  for (size_t i = 0; i < parts.instances.size(); ++i) {
    const Instance& inst = placed.instances[i];
    lists.push_back({{inst.plan, inst.work.rows / parts.instances[i].work.rows}});
  }
  return lists;
}

// With the buffers that let the network keep the pace of its slowest kernel. Nothing if they have no room, of which
// `lacks_room` tells, or if the network is as good without.
std::optional<Placed> place_with_slack(const Parts& parts, const PlanLists& plans, const MapOptions& options,
                                       const Machine& machine, bool& lacks_room) {
  constexpr int kRounds = 2;      // the second one knows which plans are chosen
  constexpr double kNear = 1.05;  // of the slowest kernel's interval
  const int widest = std::max(1, fabric_limit(options, machine).width / 2);
  std::optional<Placed> best;
  PlanLists chosen = plans;
  for (int round = 0; round < kRounds; ++round) {
    const Slack slack = plan_slack(parts, chosen, machine);
    if (slack.empty() && round == 0) break;
    Placed now;
    now.parts = parts;
    PlanLists lists = chosen;
    add_slack(now.parts, lists, slack, machine, widest);
    Diag no_room;
    std::vector<Misfit> ignored;
    if (!place_and_route(now, lists, options, machine, no_room, ignored)) {
      lacks_room = round == 0;
      break;
    }
    chosen = plans_of(now.parts, parts);
    const auto interval = network_interval(now.parts, {}, machine, true);
    if (!interval || !stuck_operands(now.parts).empty()) continue;
    if (best && interval->cycles >= best->interval) break;
    now.interval = interval->cycles;
    best = std::move(now);
    if (interval->cycles <= interval->slowest * kNear) break;
  }
  return best;
}

// With no more buffers than it needs to go on at all; placing may choose plans that need others.
bool place_with_least_slack(const Parts& parts, const PlanLists& plans, const MapOptions& options,
                            const Machine& machine, Placed& now, Diag& diag, std::vector<Misfit>& misfits) {
  constexpr int kRounds = 3;
  const int widest = std::max(1, fabric_limit(options, machine).width / 2);
  PlanLists chosen = plans;
  for (int round = 0;; ++round) {
    PlanLists lists = chosen;
    now.parts = parts;
    add_slack(now.parts, lists, least_slack(parts, chosen, machine), machine, widest);
    if (!place_and_route(now, lists, options, machine, diag, misfits)) return false;
    if (round + 1 == kRounds || stuck_operands(now.parts).empty()) return verify_waiting(now.parts, diag);
    chosen = plans_of(now.parts, parts);
  }
}

std::optional<Placed> place_best(const Parts& parts, const PlanLists& plans, const MapOptions& options,
                                 const Machine& machine, Diag& diag, std::vector<Misfit>& misfits) {
  bool lacks_room = false;
  std::optional<Placed> placed = place_with_slack(parts, plans, options, machine, lacks_room);
  if (!placed && !place_with_least_slack(parts, plans, options, machine, placed.emplace(), diag, misfits))
    return std::nullopt;
  placed->lacks_buffers = lacks_room;
  if (placed->interval > 0) return placed;
  if (const auto interval = network_interval(placed->parts, {}, machine, true))
    placed->interval = interval->cycles;
  return placed;
}

// With the PEs with which kernels keep pace, or with fewer if the network is faster so; nothing if they have
// no room.
std::optional<Placed> place_in_pace(const Parts& parts, const PlanLists& plans, const MapOptions& options,
                                    const Machine& machine) {
  if (options.pace >= 1) return std::nullopt;
  PlanLists in_pace = plans;
  const bool fewer = keep_pace(in_pace, options.pace);
  Diag no_room;
  std::vector<Misfit> ignored;
  std::optional<Placed> placed = place_best(parts, in_pace, options, machine, no_room, ignored);
  constexpr double kNear = 1.05;      // as good, by all that an estimate can tell
  constexpr size_t kMostTwice = 200;  // kernels: more take too long to be placed twice
  if (!placed || !fewer || placed->interval <= least_interval(plans) * kNear ||
      (parts.instances.size() > kMostTwice && !placed->lacks_buffers))
    return placed;
  std::optional<Placed> other = place_best(parts, plans, options, machine, no_room, ignored);
  return other && other->interval * kNear < placed->interval ? std::move(other) : std::move(placed);
}

// Where streams that share a link take longer than any kernel: free rows and columns beside the rectangles have more
// links, and more of the fabric's edge. What is placed stays; its streams are routed again.
Placed with_more_links(Placed placed, const MapOptions& options, const Machine& machine) {
  constexpr double kWorth = 1.07;      // else the same network on fewer PEs
  constexpr size_t kMostKernels = 400;  // more take too long to be routed so often
  if (has_extent(options) || options.copies.count > 1 || placed.parts.instances.size() > kMostKernels) return placed;
  const Extent limit = fabric_limit(options, machine), packed = placed.fabric;
  NetworkEstimate estimate = estimate_network(placed, machine, PlansBy::formulas);
  for (int margin = 1; margin <= kMaxMargin && !estimate.link.empty(); ++margin) {
    Placed wider = placed;
    wider.fabric = with_margin(packed, margin, limit);
    wider.flows = {};
    Diag ignored;
    if (route_and_color(wider.parts, machine, wider.fabric, wider.flows, ignored) != Routed::yes ||
        !verify_flows(wider.flows, wider.parts, wider.fabric, machine, ignored))
      continue;
    const NetworkEstimate other = estimate_network(wider, machine, PlansBy::formulas);
    if (other.interval_cycles * kWorth < estimate.interval_cycles) placed = std::move(wider), estimate = other;
  }
  return placed;
}

}  // namespace

std::optional<Placed> place_network(const Parts& parts, const PlanLists& plans, const MapOptions& options,
                                    const Machine& machine, Diag& diag, std::vector<Misfit>& misfits) {
  std::optional<Placed> placed = place_in_pace(parts, plans, options, machine);
  if (!placed) placed = place_best(parts, plans, options, machine, diag, misfits);
  if (placed) placed = with_more_links(std::move(*placed), options, machine);
  return placed;
}

std::optional<Placed> route_for_band(const Placed& other, const MapOptions& options, const Machine& machine) {
  Placed placed = other;
  placed.parts.copies = options.copies;
  placed.flows = {};
  Diag ignored;
  if (route_with_room(placed.parts, options, machine, placed.fabric, placed.flows, ignored) != Routed::yes ||
      !verify_flows(placed.flows, placed.parts, placed.fabric, machine, ignored))
    return std::nullopt;
  return placed;
}

}  // namespace cs::mapping
