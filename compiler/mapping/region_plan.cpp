// Planning of regions: for every number of PEs the axis along which the busiest of them has least to do.
#include <algorithm>
#include <limits>

#include "compiler/autogen/region_module.h"
#include "compiler/mapping/plan.h"

namespace cs::mapping {

namespace {

using autogen::Region;
using autogen::ShardAxis;

constexpr int kMaxPes = 64;  // a role per PE: beyond that, hundreds of programs would be compiled

// What the code of the busiest PE takes and holds.
kernels::Plan plan_axis(const Region& r, const ShardAxis& axis, int w, const Machine& machine) {
  kernels::Plan plan;
  plan.cut.w = w;
  double compute = 0;
  uint32_t code = 0;
  int64_t words = 0, rounds = 0;
  // The first, one from the middle and the last PE stand for all of them.
  for (int p : {0, w / 2, w - 1}) {
    autogen::RegionShare share = autogen::shard_region(r, axis, w, p);
    autogen::RegionModule m = autogen::region_module(r, share, {}, machine);
    compute = std::max(compute, m.compute_cycles);
    code = std::max(code, m.code_bytes);
    words = std::max(words, m.words);
    rounds = 0;
    for (const autogen::Runs& sent : share.sent) rounds += sent.count;
  }
  plan.memory.users = {{"tensors", uint32_t(std::min<int64_t>(words * 4, INT32_MAX))}, {"code", code}};
  plan.memory.total = plan.memory.users[0].second + code;
  double in = 0, out = double(r.words_out());
  for (int b : r.operand_buffer) in = std::max(in, double(r.program.buffers[size_t(b)].type.elements()));
  double overhead = 60.0 + 20.0 * double(r.operands.size()) + 20.0 * double(rounds);
  // A PE receives the next sample while others still send; it computes alone.
  plan.interval_cycles = std::max(in + compute + out / w + overhead, out + double(rounds) * w);
  plan.latency_cycles = in + compute + out + overhead + double(rounds) * w;
  return plan;
}

std::pair<kernels::Plan, ShardAxis> best_axis(const Region& r, int w, const Machine& machine) {
  std::optional<std::pair<kernels::Plan, ShardAxis>> best;
  auto cost = [&](const kernels::Plan& p) {
    bool fits = p.memory.total <= uint32_t(machine.core.memory_bytes);
    return std::tuple(!fits, fits ? p.interval_cycles : double(p.memory.total));
  };
  std::vector<ShardAxis> axes = autogen::shard_axes(r);
  if (w == 1) axes.resize(1);  // nothing is cut
  for (const ShardAxis& axis : axes) {
    int64_t chunk = (axis.extent + w - 1) / w;
    if (w > axis.extent || chunk * (w - 1) >= axis.extent) continue;  // a PE would have nothing to do
    kernels::Plan plan = plan_axis(r, axis, w, machine);
    if (!best || cost(plan) < cost(best->first)) best = {plan, axis};
  }
  return best ? *best : std::pair{kernels::Plan{}, ShardAxis{}};
}

}  // namespace

std::vector<kernels::Plan> region_plans(const Region& r, int64_t rounds, int width, int force_width,
                                        const Machine& machine) {
  std::vector<int> widths;
  for (const ShardAxis& axis : autogen::shard_axes(r)) {
    std::vector<int> more = extents(axis.extent, std::min(width, kMaxPes));
    widths.insert(widths.end(), more.begin(), more.end());
  }
  std::sort(widths.begin(), widths.end());
  widths.erase(std::unique(widths.begin(), widths.end()), widths.end());
  if (force_width > 0) widths = {force_width};
  std::vector<kernels::Plan> list;
  for (int w : widths) {
    kernels::Plan plan = best_axis(r, w, machine).first;
    plan.latency_cycles += plan.interval_cycles * double(rounds - 1);
    plan.interval_cycles *= double(rounds);
    if (plan.memory.total > 0) list.push_back(plan);
  }
  return list;
}

double region_interval(const Region& whole, const Machine& machine) {
  Region r = whole;
  double rounds = double(autogen::slice_region(r));
  double best = std::numeric_limits<double>::infinity();
  for (int w : {1, 2, 4, 8, 16, 32, 64}) {
    kernels::Plan plan = best_axis(r, w, machine).first;
    bool fits = plan.memory.total > 0 && plan.memory.total <= uint32_t(machine.core.memory_bytes);
    if (fits) best = std::min(best, plan.interval_cycles * rounds);
  }
  return best;
}

void share_region(Instance& inst, const Machine& machine) {
  int w = inst.plan.cut.w;
  ShardAxis axis = best_axis(*inst.region, w, machine).second;
  inst.shares.clear();
  for (int p = 0; p < w; ++p) inst.shares.push_back(autogen::shard_region(*inst.region, axis, w, p));
}

}  // namespace cs::mapping
