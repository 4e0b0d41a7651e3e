// Costs of work whose operands and results lie on the PEs: nothing is streamed, what PEs have to exchange is
// the sums of a reduction.
#include <algorithm>
#include <cmath>

#include "compiler/kernels/cost_parts.h"

namespace cs::kernels {

namespace {

// Code, descriptors and frames of a PE beside <memcpy>, measured and rounded up; with a loop that calls
// <math>.
constexpr uint32_t kCodeBytes = 1400, kMathCodeBytes = 3600;
// From the start of the function to that of the kernel, and from its end to that of the function.
constexpr double kCallCycles = 20;
// Beside the elements in reduce_rows.csl: four starts of instructions, the call of the line.
constexpr double kSumCycles = 60;
constexpr int kMostInSlice = 0x7fff;

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The accumulators of a row: as many, up to four, as divide it.
int64_t accumulators(int64_t n) {
  int64_t k = 4;
  while (n % k != 0) --k;
  return k;
}

// Elements join the accumulators of their row, which are then added up.
double sum_cycles(const Work& work, int64_t rows, int64_t n, const Machine& m) {
  const double at_once = accumulators(n) > 1 ? rate(work.maximum ? "fmaxs" : "fadds", 2, m) : 1;
  return double(rows) * (double(n) / at_once + double(accumulators(n))) + kSumCycles;
}

Memory memory_of(const Work& work, const Cut& cut, const Machine& m) {
  Memory memory;
  const int64_t words = int64_t(cut.n_slice) * (work.pattern == Pattern::reduction ? cut.m_slice : 1);
  add_user(memory, "operands", 4 * words * work.operands);
  if (work.pattern == Pattern::reduction)
    add_user(memory, "results", 4 * int64_t(cut.m_slice) * (1 + accumulators(cut.n_slice)));
  if (work.pattern == Pattern::rows)
    add_user(memory, "temporaries", 4 * (work.row + 1) * work.row_cost.temporaries);
  if (work.pattern == Pattern::elementwise)
    add_user(memory, "temporaries", 4 * chain_words(work.chain, cut.n_slice));
  add_user(memory, "constants", 4 * work.constants * (work.pattern == Pattern::rows ? work.row : words));
  add_user(memory, "code", work.chain.by_scalars > 0 || work.chain.loop ? kMathCodeBytes : kCodeBytes);
  add_user(memory, "<memcpy>", m.memcpy.memcpy_bytes);
  finish_memory(memory);
  return memory;
}

double launch_cycles(const Work& work, const Cut& cut, const Machine& m) {
  switch (work.pattern) {
    case Pattern::elementwise:
      return chain_cycles(work.chain, cut.n_slice).alone();
    case Pattern::rows: {
      const int64_t rows = cut.n_slice / work.row;
      return cut.n_slice * work.row_cost.resident + double(rows) * work.row_cost.per_row;
    }
    case Pattern::reduction:
      return sum_cycles(work, cut.m_slice, cut.n_slice, m) +
             (cut.line > 1 ? line_reduce_cost(cut.m_slice, cut.line, m).cycles : 0);
    default:
      return 0;
  }
}

Cut uncut(int w, int h) {
  Cut cut;
  cut.w = w;
  cut.h = h;
  return cut;
}

// Every PE has whole rows, or the PEs of a row of the rectangle a piece of each.
Cut cut_reduction(const Work& work, int w, int h, const Machine& m) {
  Cut whole = uncut(w, h), pieces = uncut(w, h);
  whole.n_slice = int(std::min<int64_t>(work.n, INT32_MAX));
  whole.m_slice = int(ceil_div(work.rows, int64_t(w) * h));
  pieces.n_slice = int(ceil_div(work.n, w));
  pieces.m_slice = int(ceil_div(work.rows, h));
  pieces.line = w;
  const LineCost line = line_reduce_cost(pieces.m_slice, w, m);
  pieces.line_reduce = line.how;
  pieces.group = line.group;
  // Zeros beyond the end of a row would be among its elements, harmless for a sum only.
  const bool divides = work.n % w == 0 && pieces.n_slice % 2 == 0;
  const auto fits = [&](const Cut& c) {
    return int64_t(c.n_slice) * c.m_slice * 4 + m.memcpy.memcpy_bytes < m.core.memory_bytes;
  };
  if (w == 1 || !divides) return whole;
  if (!fits(whole)) return pieces;
  return launch_cycles(work, pieces, m) < launch_cycles(work, whole, m) ? pieces : whole;
}

}  // namespace

LineCost line_reduce_cost(int64_t n, int P, const Machine& m) {
  const double hop = m.router.hop_cycles, words = double(n);
  // Through a core: up, down, and the addition.
  const double core = m.ramp.up_cycles + m.ramp.down_cycles + 1;
  constexpr double kAround = 20;  // to begin and end
  LineCost best{LineReduce::chain, P, words + (core + hop) * (P - 1)};
  for (int s = 2; s < P; ++s) {
    if (P % s != 0) continue;
    const double cycles = 2 * words + (core + hop) * (s - 1) + (core + s * hop) * (double(P) / s - 1);
    if (cycles < best.cycles) best = {LineReduce::two_phase, s, cycles};
  }
  const double rounds = std::ceil(std::log2(P));
  const double tree = words * rounds + hop * P + core * rounds;
  if (rounds <= 6 && tree < best.cycles) best = {LineReduce::tree, P, tree};
  best.cycles += kAround;
  return best;
}

std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine& m) {
  if (work.pattern == Pattern::reduction) {
    if (work.rows < 1 || work.n < 1) return std::nullopt;
    const Cut cut = cut_reduction(work, w, h, m);
    if (cut.n_slice > kMostInSlice || cut.m_slice > kMostInSlice) return std::nullopt;
    return cut;
  }
  if (work.pattern != Pattern::elementwise && work.pattern != Pattern::rows) return std::nullopt;
  Cut cut = uncut(w, h);
  const int64_t slice = ceil_div(work.n / work.row, int64_t(w) * h) * work.row;
  if (slice < 1 || slice > kMostInSlice) return std::nullopt;
  cut.n_slice = cut.n_last = cut.m_slice = cut.m_last = int(slice);
  return cut;
}

std::optional<Plan> plan_resident(const Work& work, int w, int h, const Machine& machine) {
  const std::optional<Cut> cut = cut_resident(work, w, h, machine);
  if (!cut) return std::nullopt;
  Plan plan;
  plan.cut = *cut;
  plan.memory = memory_of(work, *cut, machine);
  plan.latency_cycles = plan.interval_cycles = kCallCycles + launch_cycles(work, *cut, machine);
  return plan;
}

}  // namespace cs::kernels
