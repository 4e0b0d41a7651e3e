// Costs of work whose operands and results lie on the PEs, beside what its kind says: nothing is streamed,
// what PEs have to exchange is the sums of a reduction.
#include "compiler/kernels/kind.h"

namespace cs::kernels {

namespace {

// Code, descriptors and frames of a PE beside <memcpy>, measured and rounded up; with a loop that calls
// <math>.
constexpr uint32_t kCodeBytes = 1400, kMathCodeBytes = 3600;
// From the start of the function to that of the kernel, and from its end to that of the function.
constexpr double kCallCycles = 20;

}  // namespace

Memory resident_memory(const Work& work, const Cut& cut, const Machine& m) {
  Memory memory;
  work.kind->add_resident_memory(work, cut, memory);
  add_user(memory, "code", work.chain.by_scalars > 0 || work.chain.loop ? kMathCodeBytes : kCodeBytes);
  add_user(memory, "<memcpy>", m.memcpy.memcpy_bytes);
  finish_memory(memory);
  return memory;
}

std::optional<Cut> cut_evenly(const Work& work, int w, int h) {
  const int64_t slice = ceil_div(work.n / work.row, int64_t(w) * h) * work.row;
  if (slice < 1 || slice > kMostInSlice) return std::nullopt;
  Cut cut;
  cut.w = w;
  cut.h = h;
  cut.n_slice = cut.n_last = cut.m_slice = cut.m_last = int(slice);
  return cut;
}

std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine& m) {
  return work.kind->cut_resident(work, w, h, m);
}

std::optional<Plan> plan_resident(const Work& work, int w, int h, const Machine& machine) {
  const std::optional<Cut> cut = cut_resident(work, w, h, machine);
  if (!cut) return std::nullopt;
  Plan plan;
  plan.cut = *cut;
  plan.memory = resident_memory(work, *cut, machine);
  plan.latency_cycles = kCallCycles + work.kind->launch_cycles(work, *cut, machine);
  if (work.half) plan.latency_cycles += work.kind->resident_words(work, *cut) / rate("fh2s", 1, machine);
  plan.interval_cycles = plan.latency_cycles;
  return plan;
}

}  // namespace cs::kernels
