// Sizes that are worth trying, and the best of them.
#include <algorithm>
#include <limits>

#include "compiler/autogen/statement_costs.h"
#include "compiler/kernels/kernels.h"

namespace cs::kernels {

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

Cost least_cost(const std::vector<Plan>& plans, const Machine& machine) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  constexpr double kNear = 1.25;  // intervals that are about the same
  const auto fits = [&](const Plan& p) {
    return p.memory.total > 0 && p.memory.total <= uint32_t(machine.core.memory_bytes);
  };
  Cost best{kNone, kNone, kNone};
  for (const Plan& p : plans) {
    if (fits(p)) best.interval_cycles = std::min(best.interval_cycles, p.interval_cycles);
  }
  for (const Plan& p : plans) {
    const bool near = p.interval_cycles <= kNear * best.interval_cycles;
    const double pes = double(p.cut.w) * p.cut.h;
    if (!fits(p) || !near || pes >= best.pes) continue;
    best.pes = pes;
    best.latency_cycles = p.latency_cycles;
  }
  return best;
}

std::shared_ptr<autogen::StatementCosts> statement_costs(const Machine& machine) {
  return std::make_shared<autogen::StatementCosts>(machine);
}

}  // namespace cs::kernels
