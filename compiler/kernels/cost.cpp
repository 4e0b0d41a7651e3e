// Costs: how a work is cut for a rectangle, what it needs there, how long it takes, and the bound it cannot
// beat.
//
// The estimates add up what docs/timing.md says for the instructions of the library kernels, with the
// machine's numbers; generated kernels use the same formulas, their inner loops being of the same kind.
#include <algorithm>
#include <cmath>

#include "compiler/kernels/kind.h"
#include "compiler/kernels/measured.h"
#include "runtime/isa/scalar_cycles.h"

namespace cs::kernels {

double vector_cycles(double elements, double rate, const Machine& m) {
  return 2 * m.core.dsr_load_cycles + m.core.dsr_load_use_cycles + elements / rate;
}

PeCycles chain_cycles(const ChainCost& chain, int n) {
  const double parts = std::ceil(double(n) / part_of(n));
  const PeCycles vectors = {n * chain.per_element, parts * chain.per_part};
  const bool scalars = chain.by_scalars > 0 && n * chain.by_scalars < vectors.alone();
  return scalars ? PeCycles{0, n * chain.by_scalars} : vectors;
}

double rate(const char* mnemonic, int sources, const Machine& m) {
  const double bytes =
      std::min(m.core.read_bytes_per_cycle / (4.0 * sources), m.core.write_bytes_per_cycle / 4.0);
  return std::max(1.0, std::min(double(m.simd(mnemonic)), bytes));
}

int64_t chain_words(const ChainCost& chain, int n) {
  return int64_t(chain.temporaries) * (chain.loop ? n : part_of(n) + 1);
}

void add_user(Memory& memory, std::string name, int64_t bytes) {
  if (bytes <= 0) return;
  memory.users.emplace_back(std::move(name), uint32_t(std::min<int64_t>(bytes, UINT32_MAX / 8)));
}

void finish_memory(Memory& memory) {
  std::stable_sort(memory.users.begin(), memory.users.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  int64_t total = 0;
  for (const auto& [name, bytes] : memory.users) total += bytes;
  memory.total = uint32_t(std::min<int64_t>(total, UINT32_MAX / 2));
}

namespace {

// Code, descriptors and frames of one kernel role, measured and rounded up; with a loop that calls <math>.
constexpr uint32_t kCodeBytes = 640, kMathCodeBytes = 2560;
constexpr int kMostInPart = 512;  // more would need memory, less would be starts of instructions

// Cycles in which feeder.csl sends nothing of a vector, by its instructions: from the last word of a vector
// to the first one of the next (seven instructions, the start of a vector operation), between slices whenever
// a loop goes round, and while the descriptors of the last slice are loaded.
double feeder_idle_cycles(int slices, const Machine& m) {
  const Machine::Core& t = m.core;
  const double wait = isa::condition_wait(t), again = 2 + wait + t.jump_taken_cycles,
               leave = 2 + wait + t.jump_not_taken_cycles;
  const auto loop = [&](int rounds) { return rounds > 0 ? (rounds - 1) * again + leave : 0; };
  const auto enter = [&](int rounds) {
    return wait + (rounds > 0 ? t.jump_not_taken_cycles : t.jump_taken_cycles);
  };
  const double load = 1 + t.dsr_load_use_cycles, start = t.dsd_start_cycles - 1;
  if (slices == 1) return 2 + t.dsr_load_use_cycles + start;
  const int fours = (slices - 1) / 4, rest = (slices - 1) % 4;
  return 6 + enter(fours) + start + loop(fours) + 1 + enter(rest) + loop(rest) + load;
}

// Per sample and row of the matrix: words, and a control wavelet behind every slice.
double feed_cycles(const Work& work, const Cut& cut, const Machine& m) {
  if (cut.w * cut.h == 1) return double(work.n);
  return double(work.n) + (cut.w > 1 ? cut.w : 0) + feeder_idle_cycles(cut.w, m);
}

// Until all slices are fed, where results go the way of operands: from the moment at which the first PE
// sends, every link to the east of it carries one more stream, and all have an equal share; that of a feeder
// that is idle goes to the others.
double shared_feed_cycles(const Work& work, const Cut& cut, double feed, double pe) {
  if (cut.w == 1 || work.kind->words_kept(work, cut) == 0) return feed;
  const double streams = work.operands, words = streams * double(work.n);
  const double alone = std::min(words, (streams - 1) * cut.n_slice + pe);
  return std::max(feed, alone + (words - alone) * (streams + 1) / streams);
}

// Partial sums leave a column when it has computed, over the link that brings slices to the columns behind
// it: if these are still fed then, sums and words share the link, each with at least half of it.
double summed_feed_cycles(const Work& work, const Cut& cut, double feed, double pe) {
  if (cut.w == 1 || !work.kind->footprint(work, cut).partial_sums) return feed;
  const double column = feed / cut.w, words = cut.n_slice + 1;
  const double meet = std::max(0.0, cut.w - pe / column);
  return feed + meet * std::max(0.0, words + std::min(words, double(cut.m_slice)) - column);
}

Memory memory_of(const Work& work, const Cut& cut) {
  Memory memory;
  work.kind->add_memory(work, cut, memory);
  const bool functions = work.chain.by_scalars > 0 || work.chain.loop;
  add_user(memory, "code", functions ? kMathCodeBytes : kCodeBytes);
  finish_memory(memory);
  return memory;
}

}  // namespace

int part_of(int n) {
  if (n <= kMostInPart) return n;
  const int parts = (n + kMostInPart - 1) / kMostInPart;
  const int part = (n + parts - 1) / parts;
  return part + part % 2;
}

int64_t Work::flops() const { return kind->flops(*this); }

Work Work::in_rounds(int64_t rounds) const {
  Work round = *this;
  round.rows *= rounds;
  round.n /= rounds;
  round.m /= rounds;
  return round;
}

std::optional<Cut> cut_work(const Work& work, int w, int h) {
  const bool one_row = !work.kind->several_rows(), one_column = !work.kind->several_columns();
  if (w < 1 || h < 1 || (one_row && h != 1) || (one_column && w != 1)) return std::nullopt;
  Cut cut;
  cut.w = w;
  cut.h = h;
  int64_t n_slice = ceil_div(work.n / work.row, w) * work.row, n_last = work.n - n_slice * (w - 1);
  int64_t m_slice = ceil_div(work.m, h), m_last = work.m - m_slice * (h - 1);
  if (work.kind->same_slices()) m_slice = n_slice, m_last = n_last;
  if (n_last < 1 || m_last < 1 || n_slice > kMostInSlice || m_slice > kMostInSlice) return std::nullopt;
  cut.n_slice = int(n_slice);
  cut.n_last = int(n_last);
  cut.m_slice = int(m_slice);
  cut.m_last = int(m_last);
  return cut;
}

Plan plan_measured(const Work& work, const Cut& cut, const PeRound& pe, const Machine& machine) {
  const int w = cut.w, h = cut.h;
  Plan plan;
  plan.cut = cut;
  plan.memory = memory_of(work, cut);
  double feed = pe.feed > 0 ? pe.feed : feed_cycles(work, cut, machine);
  feed = shared_feed_cycles(work, cut, feed, pe.alone);
  feed = summed_feed_cycles(work, cut, feed, pe.alone);
  double out = double(work.m) + (w * h > 1 ? h : 0);
  double row = std::max({feed, pe.steady, out});
  plan.interval_cycles = double(work.rows) * row;
  double stage = machine.ramp.up_cycles + machine.ramp.fp_cycles + machine.ramp.down_cycles + 1 +
                 machine.router.hop_cycles;
  plan.latency_cycles = double(work.rows - 1) * row +
                        work.kind->last_row_cycles(work, cut, feed, pe.alone, machine) + stage * (w - 1) +
                        machine.router.hop_cycles * (h - 1);
  return plan;
}

std::optional<Plan> plan_kernel(const Work& work, int w, int h, const Machine& machine) {
  std::optional<Cut> cut = cut_work(work, w, h);
  if (!cut) return std::nullopt;
  work.kind->balance(work, machine, *cut);
  const PeCycles pe = work.kind->pe_cycles(work, *cut, machine);
  const double steady = pe.steady(work.kind->words_kept(work, *cut));
  return plan_measured(work, *cut, {.alone = pe.alone(), .steady = steady}, machine);
}

double Bound::cycles() const { return std::max({compute, memory, ramp, link}) + hops; }

std::string_view Bound::largest() const {
  double most = std::max({compute, memory, ramp, link});
  return most == compute ? "compute" : most == memory ? "memory" : most == ramp ? "ramp" : "link";
}

Bound ideal_bound(const Work& work, int element_bytes, int w, int h, const Machine& m) {
  double pes = double(w) * h;
  const double weights = work.kind->constant_words(work);
  double words = weights * double(work.rows) + double(work.words_in()) + double(work.words_out());
  double streamed = work.resident ? 0 : double(std::max(work.words_in(), work.words_out()));
  Bound bound;
  const double peak = m.peak_flops_per_cycle(element_bytes == 2);
  const double least = work.kind->least_cycles(work, m);
  bound.compute = least > 0 ? least / pes : double(work.flops()) / (pes * peak);
  bound.memory = words * element_bytes / (pes * m.core.read_bytes_per_cycle);
  if (work.resident) {  // operands are read, results written, beside each other
    const double read = (weights * double(work.rows) + double(work.words_in())) / m.core.read_bytes_per_cycle;
    bound.memory =
        std::max(read, double(work.words_out()) / m.core.write_bytes_per_cycle) * element_bytes / pes;
  }
  bound.ramp = streamed / (pes * m.ramp.wavelets_per_cycle);
  bound.link = streamed / (2.0 * (w + h));
  bound.hops = work.resident ? 0 : double(m.router.hop_cycles) * (w + h - 2);
  return bound;
}

double ideal_cycles(const Work& work, int element_bytes, int w, int h, const Machine& m) {
  return ideal_bound(work, element_bytes, w, h, m).cycles();
}

}  // namespace cs::kernels
