// Sizing: rectangles that minimise the interval of the pipeline, then PEs.
//
//   1. candidates: every rectangle that cuts the work differently, within the fabric and 48 KB
//   2. the interval to reach is the best one of the slowest instance (times the slack placement asks for)
//   3. each instance takes the fewest PEs that reach it, and of these the fastest
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "compiler/mapping/plan.h"

namespace cs::mapping {

namespace {

constexpr int64_t kMaxRelayWords = 16384;  // what one vector instruction passes on

std::vector<RegionPlan> candidates(const Instance& inst, const MapOptions& options, const Machine& machine) {
  if (inst.region)
    return region_plans(*inst.region, inst.work.rows, fabric_limit(options, machine),
                        {options.force_width, options.force_height}, machine);
  std::vector<RegionPlan> list;
  Extent limit = fabric_limit(options, machine);
  int max_w = limit.width - inst.work.operands - 1;
  bool contraction = inst.work.pattern == kernels::Pattern::contraction;
  std::vector<int> widths = extents(inst.work.n, std::max(1, max_w));
  std::vector<int> heights = contraction ? extents(inst.work.m, limit.height) : std::vector<int>{1};
  bool forced = options.force_width > 0 && !inst.infrastructure;
  if (forced) widths = {options.force_width}, heights = {std::max(1, options.force_height)};
  for (int w : widths) {
    for (int h : heights) {
      if (!forced && int64_t(w) * h > options.max_pes_per_kernel) break;
      std::optional<kernels::Plan> plan = kernels::plan_kernel(inst.work, w, h, machine);
      if (plan) list.push_back({*plan, {}});
    }
  }
  return list;
}

bool fits(const kernels::Plan& plan, const Machine& machine) {
  return plan.memory.total <= uint32_t(machine.core.memory_bytes);
}

void report_memory(const Instance& inst, const std::vector<RegionPlan>& plans, const Machine& machine,
                   Diag& diag) {
  if (plans.empty()) {
    diag.error_at(inst.title, "no rectangle of the fabric can hold this kernel", "use a larger --fabric");
    return;
  }
  auto less = [](const auto& a, const auto& b) { return a.plan.memory.total < b.plan.memory.total; };
  const kernels::Plan* least = &std::min_element(plans.begin(), plans.end(), less)->plan;
  std::string users;
  for (size_t i = 0; i < least->memory.users.size() && i < 3; ++i) {
    users += fmt::format("{}{} {} B", i > 0 ? ", " : "", least->memory.users[i].first,
                         least->memory.users[i].second);
  }
  double factor = double(least->memory.total) / machine.core.memory_bytes;
  diag.error_at(
      inst.title,
      fmt::format("needs {} B per PE on {} x {} PEs, a PE has {} B; largest: {}", least->memory.total,
                  least->cut.w, least->cut.h, machine.core.memory_bytes, users),
      fmt::format("use a --fabric with {:.1f} times as many PEs, or make the operator smaller by that much",
                  factor));
}

}  // namespace

std::vector<int> extents(int64_t n, int limit) {
  std::vector<int> list;
  int64_t top = std::min<int64_t>(n, limit);
  for (int64_t k = 1; k <= top;) {
    list.push_back(int(k));
    int64_t slice = (n + k - 1) / k;
    if (slice == 1) break;
    k = std::max(k + 1, (n + slice - 2) / (slice - 1));
  }
  return list;
}

Extent fabric_limit(const MapOptions& options, const Machine& machine) {
  Extent e;
  e.width = options.fabric_width > 0 ? options.fabric_width : machine.fabric.user_width;
  e.height = options.fabric_height > 0 ? options.fabric_height : machine.fabric.user_height;
  return e;
}

bool size_instances(std::vector<Instance>& instances, const MapOptions& options, const Machine& machine,
                    double slack, Diag& diag) {
  std::vector<std::vector<RegionPlan>> plans;
  double target = 0;
  bool ok = true;
  for (const Instance& inst : instances) {
    std::vector<RegionPlan> all = candidates(inst, options, machine), fitting;
    double best = std::numeric_limits<double>::infinity();
    for (const RegionPlan& p : all) {
      if (!fits(p.plan, machine)) continue;
      fitting.push_back(p);
      best = std::min(best, p.plan.interval_cycles);
    }
    if (fitting.empty()) {
      report_memory(inst, all, machine, diag);
      ok = false;
    } else {
      target = std::max(target, best);
    }
    plans.push_back(std::move(fitting));
  }
  if (!ok) return false;
  for (size_t i = 0; i < instances.size(); ++i) {
    auto cost = [&](const kernels::Plan& p) {
      bool slow = p.interval_cycles > target * slack;
      return std::tuple(slow, slow ? p.interval_cycles : double(p.cut.w) * p.cut.h, p.interval_cycles);
    };
    auto less = [&](const auto& a, const auto& b) { return cost(a.plan) < cost(b.plan); };
    const RegionPlan& best = *std::min_element(plans[i].begin(), plans[i].end(), less);
    instances[i].plan = best.plan;
    instances[i].cut = best.cut;
  }
  return true;
}

void add_relays(Parts& parts) {
  size_t streams = parts.streams.size();
  for (size_t s = 0; s < streams; ++s) {
    Stream& stream = parts.streams[s];
    bool to_host = !stream.port_out.empty();
    if (stream.producer < 0 || !to_host || !parts.instances[size_t(stream.producer)].in_turns()) continue;
    const Instance& producer = parts.instances[size_t(stream.producer)];
    Instance relay;
    relay.name = producer.name + "_relay" + (stream.result > 0 ? std::to_string(stream.result) : "");
    relay.op = "relay";
    relay.kernel = "relay";
    relay.origin = Origin::handwritten;
    relay.reason = "the host counts wavelets, so control wavelets stay on the wafer";
    relay.title = relay.name;
    relay.infrastructure = true;
    relay.work.pattern = kernels::Pattern::relay;
    // Words pass as they come, so that the relay's own rounds need not be samples.
    relay.work.n = relay.work.m = std::min<int64_t>(stream.words, kMaxRelayWords);
    relay.plan.cut = *kernels::cut_work(relay.work, 1, 1);
    Stream out;
    out.producer = int(parts.instances.size());
    out.words = stream.words;
    out.name = relay.name + " -> host";
    out.tensor = stream.tensor;
    out.port_out = stream.port_out;
    out.takers = {{-1, 0}};
    std::erase_if(stream.takers, [](const Taker& t) { return t.instance < 0; });
    stream.takers.push_back({out.producer, 0});
    stream.tensor.clear();
    stream.port_out.clear();
    parts.instances.push_back(relay);
    parts.streams.push_back(out);
  }
}

}  // namespace cs::mapping
