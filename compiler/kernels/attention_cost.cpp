// See attention_cost.h. Against simulation, heads of 32 and 64 elements on 4 to 32 columns, both machines:
// intervals within 4 % where a row has several blocks and what is joined does not bind, else within 18 %
// (decision page 59).
#include "compiler/kernels/attention_cost.h"

#include <algorithm>

#include "compiler/autogen/vector_code.h"
#include "compiler/kernels/cost_parts.h"
#include "compiler/kernels/kind.h"

namespace cs::kernels::attention {

namespace {

constexpr uint32_t kCodeBytes = 4200;                // of all modules together, measured and rounded up
constexpr int kFewestWaiting = 2, kMostWaiting = 4;  // blocks
constexpr int64_t kWaitingBytes = 6144;              // of them, where these are no fewer than the fewest

// Cycles from head to head, with so many of a block, `join` of them for what comes from the west. A column
// begins a head when the one west of it has its keys and values, which pass on the same links; so the last
// one is behind the first, which computes a block no earlier than that one has begun the last block but
// `waiting`.
double head_cycles(const Work& work, const Cut& cut, double block, double join) {
  const double pair = 2.0 * cut.n_slice * double(work.row), behind = (cut.w - 1) * std::max(join, pair);
  const int rounds = cut.rounds, wait = cut.waiting;
  double cycles = std::max({rounds * block + pair, 2 * double(work.n) + 100, double(work.m) + 100});
  for (int heads = wait / rounds; heads <= (rounds - 1 + wait) / rounds; ++heads)
    cycles = std::max(cycles, (behind + pair + ((heads + 1) * rounds - wait) * block) / (heads + 1));
  return cycles;
}

Memory memory_of(const Work& work, const Cut& cut) {
  Memory memory;
  work.kind->add_memory(work, cut, memory);
  add_user(memory, "code", kCodeBytes);
  finish_memory(memory);
  return memory;
}

}  // namespace

std::optional<Plan> plan(const Work& work, const Cut& cut, const Machine& m) {
  if (int64_t(cut.n_slice) * std::max<int64_t>(work.row, cut.m_slice) > kMostInSlice ||
      int64_t(cut.m_slice) * (work.row + 2) > kMostInSlice)
    return std::nullopt;
  Plan plan;
  plan.cut = cut;
  const int64_t block_bytes = element_bytes(work) * work.row * cut.m_slice;
  plan.cut.waiting = int(std::clamp<int64_t>(kWaitingBytes / block_bytes, kFewestWaiting, kMostWaiting));
  plan.memory = memory_of(work, plan.cut);
  while (plan.cut.waiting > kFewestWaiting && plan.memory.total > uint32_t(m.core.memory_bytes)) {
    --plan.cut.waiting;
    plan.memory = memory_of(work, plan.cut);
  }
  // Steps of a block as compiled, and what is not in them: the queries, zeros, calls.
  const double B = cut.m_slice, S = cut.n_slice, D = double(work.row);
  const double power = library_row_cost("softmax", m).per_element - (work.native ? 3.5 : 2.5);
  const double add = B / rate(work.native ? "fmachs" : "fmacs", 2, m) + 1.35;
  const double scores =
      D * (S * add + 20) + power * S * B + 1.6 * D * B + 900 + (work.constants > 0 ? 0.5 * S * B + 60 : 0);
  const double values = S * (D * add + 20) + 0.7 * D * B + 100;
  const double join = cut.w > 1 ? 3.5 * D * B + (D + 2) * B + 25 * B + 700 : 2 * D * B;
  plan.interval_cycles = double(work.rows) * head_cycles(work, plan.cut, scores + values + join, join);
  plan.latency_cycles = plan.interval_cycles + 2 * double(work.n) + (cut.w - 1) * join;
  return plan;
}

}  // namespace cs::kernels::attention
