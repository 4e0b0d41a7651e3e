// Costs: how a work is cut for a rectangle, what it needs there, how long it takes, and the bound it cannot
// beat.
//
// The estimates add up what docs/timing.md says for the instructions of the library kernels, with the
// machine's numbers; generated kernels use the same formulas, their inner loops being of the same kind.
#include <algorithm>
#include <cmath>

#include "compiler/kernels/cost_parts.h"

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

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The result is sent by an instruction of its own: the last one of the chain cannot, or would wait with the
// first part until it is the PE's turn.
bool sent_apart(const ChainCost& chain, const Cut& cut) {
  return !chain.to_fabric || (cut.w > 1 && cut.n_slice > part_of(cut.n_slice));
}

// Per sample and row of the matrix: what the feeder, one PE and the exit take.
double feed_cycles(const Work& work, const Cut& cut, const Machine& m) {
  if (cut.w * cut.h == 1) return double(work.n);
  double loop = (m.core.jump_taken_cycles + 2.0) / 4 + 1;  // unrolled by four, one control wavelet per slice
  return double(work.n) + cut.w * loop + 2 * m.core.task_start_cycles + 8;
}

double contraction_cycles(const Work& work, const Cut& cut, const Machine& m) {
  double rows = cut.m_slice + cut.m_slice % 2;
  double per_column =
      rows / m.simd("fmacs") + 1 + m.core.load_result_cycles + (m.core.jump_taken_cycles + 5.0) / 8;
  double cycles = m.core.task_start_cycles + 8 + vector_cycles(rows, m.simd("fmovs"), m) +
                  m.core.dsr_load_use_cycles + 3 + cut.n_slice * per_column;
  cycles += cut.w > 1 ? vector_cycles(cut.m_slice, 1, m) : 0;
  if (work.flops_per_element > 0) cycles += chain_cycles(work.chain, cut.m_slice).alone();
  return cycles + vector_cycles(cut.m_slice, 1, m);
}

// What follows a slice: up to four accumulators are added up and leave as one word.
double reduction_tail(const Machine& m) {
  return m.core.task_start_cycles + 8 + 2 * vector_cycles(0, 1, m) +
         4 * (1 + m.core.reduction_cycles_per_element) + vector_cycles(1, 1, m) + 4;
}

PeCycles pe_cycles(const Work& work, const Cut& cut, const Machine& m) {
  double start = m.core.task_start_cycles + 8;
  switch (work.pattern) {
    case Pattern::contraction:
      return {contraction_cycles(work, cut, m), 0};
    case Pattern::elementwise: {
      if (work.through)
        return {m.core.task_start_cycles + vector_cycles(cut.n_slice, 1, m) + (cut.w > 1 ? 2 : 0), 0};
      PeCycles c = chain_cycles(work.chain, cut.n_slice);
      c.free += start + vector_cycles(0, 1, m);
      if (sent_apart(work.chain, cut)) c.busy += cut.n_slice;
      if (cut.w > 1) c.free += vector_cycles(1, 1, m);
      return c;
    }
    case Pattern::rows: {
      // DSR loads, calls and scalars come to each row; rows of several PEs are sent when all are done.
      const int64_t rows = cut.n_slice / work.row;
      const double per_element = work.row_cost.per_element + (cut.w > 1 || work.half ? 1 : 0);
      return {cut.n_slice * per_element, start + double(rows) * work.row_cost.per_row};
    }
    case Pattern::reduction:
      // Elements are combined as they arrive, on a microthread; what follows a slice overlaps with the next
      // one.
      return {std::max(double(cut.n_slice), reduction_tail(m)), 0};
    case Pattern::broadcast:
      return {start + vector_cycles(double(work.m), 1, m), 0};
    case Pattern::relay:
      return {start + vector_cycles(double(work.n), 1, m), 0};
    case Pattern::region:  // planned from its code, see mapping/size.cpp
      break;
  }
  return {};
}

// Words that a PE keeps of a sample's streams.
double words_kept(const Work& work, const Cut& cut) {
  const bool kept = (work.pattern == Pattern::elementwise && !work.through) || work.pattern == Pattern::rows;
  return kept ? double(cut.n_slice) * work.operands : 0;
}

// Until all slices are fed, where results go the way of operands: from the moment at which the first PE
// sends, every link to the east of it carries one more stream, and all have an equal share.
double shared_feed_cycles(const Work& work, const Cut& cut, double feed, double pe) {
  if (cut.w == 1 || words_kept(work, cut) == 0) return feed;
  const double streams = work.operands, overhead = feed - double(work.n), words = streams * double(work.n);
  const double alone = std::min(words, (streams - 1) * cut.n_slice + pe);
  return overhead + alone + (words - alone) * (streams + 1) / streams;
}

// The last row of a sample, from its first word in to its last word out.
double last_row_cycles(const Work& work, const Cut& cut, double feed, double pe, const Machine& m) {
  // Results leave while operands arrive.
  if (work.pattern == Pattern::relay || work.through) return std::max(feed, pe);
  // Elements are combined on the way; what is left is the sum of the accumulators and its way out.
  if (work.pattern == Pattern::reduction) return feed + reduction_tail(m);
  // The last slice is there, then the PE computes, and rows of PEs send one after the other.
  return feed + pe + double(work.pattern == Pattern::contraction ? work.m - cut.m_slice : 0);
}

Memory memory_of(const Work& work, const Cut& cut) {
  Memory memory;
  int64_t padded = cut.m_slice + cut.m_slice % 2;
  switch (work.pattern) {
    case Pattern::contraction:
      add_user(memory, "weights", 4 * padded * cut.n_slice);
      add_user(memory, "input buffers", 8 * int64_t(cut.n_slice));
      add_user(memory, "output and bias", 4 * (2 * padded + 1));
      add_user(memory, "epilogue",
               4 * (work.constants * cut.m_slice + chain_words(work.chain, cut.m_slice)) *
                   (work.flops_per_element > 0));
      break;
    case Pattern::elementwise:
      add_user(memory, "input buffers", 8 * int64_t(cut.n_slice) * work.operands * !work.through);
      add_user(memory, "temporaries and output",
               4 * (chain_words(work.chain, cut.n_slice) + (work.chain.to_fabric ? 0 : cut.n_slice)) *
                   !work.through);
      add_user(memory, "constants", 4 * int64_t(cut.n_slice) * work.constants);
      break;
    case Pattern::rows:
      add_user(memory, "input buffers", 8 * int64_t(cut.n_slice));
      add_user(memory, "temporaries", 4 * (work.row + 1) * work.row_cost.temporaries);
      add_user(memory, "constants", 4 * work.row * work.constants);
      break;
    case Pattern::reduction:
      add_user(memory, "accumulators", 64);
      break;
    case Pattern::broadcast:
    case Pattern::relay:
    case Pattern::region:
      add_user(memory, "input buffers", 4);
      break;
  }
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

int64_t Work::flops() const {
  if (pattern == Pattern::contraction)
    return rows * m * (2 * n) + int64_t(double(rows * m) * flops_per_element);
  if (pattern == Pattern::reduction) return rows * n;
  if (pattern == Pattern::elementwise || pattern == Pattern::rows || pattern == Pattern::region) {
    return int64_t(double(rows * m) * flops_per_element);
  }
  return 0;
}

Work Work::in_rounds(int64_t rounds) const {
  Work round = *this;
  round.rows *= rounds;
  round.n /= rounds;
  round.m /= rounds;
  return round;
}

std::optional<Cut> cut_work(const Work& work, int w, int h) {
  bool one_row = work.pattern != Pattern::contraction;
  bool one_pe = work.pattern == Pattern::broadcast || work.pattern == Pattern::relay;
  if (w < 1 || h < 1 || (one_row && h != 1) || (one_pe && w != 1)) return std::nullopt;
  Cut cut;
  cut.w = w;
  cut.h = h;
  int64_t n_slice = ceil_div(work.n / work.row, w) * work.row, n_last = work.n - n_slice * (w - 1);
  int64_t m_slice = ceil_div(work.m, h), m_last = work.m - m_slice * (h - 1);
  if (work.pattern == Pattern::elementwise || work.pattern == Pattern::rows)
    m_slice = n_slice, m_last = n_last;
  if (n_last < 1 || m_last < 1 || n_slice > 0x7fff || m_slice > 0x7fff) return std::nullopt;
  cut.n_slice = int(n_slice);
  cut.n_last = int(n_last);
  cut.m_slice = int(m_slice);
  cut.m_last = int(m_last);
  return cut;
}

std::optional<Plan> plan_kernel(const Work& work, int w, int h, const Machine& machine) {
  std::optional<Cut> cut = cut_work(work, w, h);
  if (!cut) return std::nullopt;
  Plan plan;
  plan.cut = *cut;
  plan.memory = memory_of(work, *cut);
  const PeCycles pe = pe_cycles(work, *cut, machine);
  const double feed = shared_feed_cycles(work, *cut, feed_cycles(work, *cut, machine), pe.alone());
  double out = double(work.m) + (w * h > 1 ? h : 0);
  double row = std::max({feed, pe.steady(words_kept(work, *cut)), out});
  plan.interval_cycles = double(work.rows) * row;
  double stage = machine.ramp.up_cycles + machine.ramp.down_cycles + 1 + machine.router.hop_cycles;
  plan.latency_cycles = double(work.rows - 1) * row + last_row_cycles(work, *cut, feed, pe.alone(), machine) +
                        stage * (w - 1) + machine.router.hop_cycles * (h - 1);
  return plan;
}

double Bound::cycles() const { return std::max({compute, memory, ramp, link}) + hops; }

std::string_view Bound::largest() const {
  double most = std::max({compute, memory, ramp, link});
  return most == compute ? "compute" : most == memory ? "memory" : most == ramp ? "ramp" : "link";
}

namespace {

// Cycles of one PE for all operations of a sample, each by the fastest instruction that does it
// (decisions/0009); 0 for multiply-adds, which run at the peak.
double least_cycles(const Work& work, const Machine& m) {
  if (work.pattern == Pattern::elementwise) return double(work.rows * work.m) * work.least_cycles;
  if (work.pattern == Pattern::rows) return double(work.rows * work.m) * work.row_cost.least;
  if (work.pattern != Pattern::reduction) return 0;
  return double(work.rows * work.n) / rate(work.maximum ? "fmaxs" : "fadds", 2, m);
}

}  // namespace

Bound ideal_bound(const Work& work, int element_bytes, int w, int h, const Machine& m) {
  double pes = double(w) * h;
  double weights = work.pattern == Pattern::contraction ? double(work.n) * double(work.m)
                                                        : double(work.constants) * double(work.m);
  double words = weights * double(work.rows) + double(work.words_in()) + double(work.words_out());
  double streamed = work.resident ? 0 : double(std::max(work.words_in(), work.words_out()));
  Bound bound;
  const double peak = m.peak_flops_per_cycle(element_bytes == 2);
  const double least = least_cycles(work, m);
  bound.compute = least > 0 ? least / pes : double(work.flops()) / (pes * peak);
  bound.memory = words * element_bytes / (pes * m.core.read_bytes_per_cycle);
  if (work.resident) {  // operands are read, results written, beside each other
    const double read = (weights * double(work.rows) + double(work.words_in())) / m.core.read_bytes_per_cycle;
    bound.memory =
        std::max(read, double(work.words_out()) / m.core.write_bytes_per_cycle) * element_bytes / pes;
  }
  bound.ramp = streamed / (pes * m.ramp.wavelets_per_cycle);
  bound.link = streamed / (2.0 * (w + h) * m.router.link_wavelets_per_cycle);
  bound.hops = work.resident ? 0 : double(m.router.hop_cycles) * (w + h - 2);
  return bound;
}

double ideal_cycles(const Work& work, int element_bytes, int w, int h, const Machine& m) {
  return ideal_bound(work, element_bytes, w, h, m).cycles();
}

}  // namespace cs::kernels
