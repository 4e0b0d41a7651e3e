// Reductions: rows × (n elements to one), by a sum or a maximum. Streamed along a row of PEs by
// row_reduce.csl or its generated form (autogen/reduction.h); with resident operands whole rows on every PE,
// or pieces that meet along a line (reduce.csl).
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/autogen/expression.h"
#include "compiler/autogen/reduction.h"
#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/resident_reduction.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

// Beside the elements in reduce_rows.csl: four starts of instructions, the call of the line.
constexpr double kSumCycles = 60;

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

// From the last word of a row until words of the next one are taken: the task starts, finds the free set of
// accumulators, sets them to the neutral element and asks for the row.
double ask_cycles(const Machine& m) {
  const double jump = (m.core.jump_taken_cycles + m.core.jump_not_taken_cycles) / 2.0;
  return m.core.task_start_cycles + 1 + jump + vector_cycles(4, 2, m) + vector_cycles(0, 1, m) +
         m.core.dsd_start_cycles;
}

// What follows a slice: up to four accumulators are added up and leave as one word.
double tail_cycles(const Machine& m) {
  return m.core.task_start_cycles + 8 + 2 * vector_cycles(0, 1, m) +
         4 * (1 + m.core.reduction_cycles_per_element) + vector_cycles(1, 1, m) + 4;
}

class Reduction final : public Kind {
 public:
  std::string_view name() const override { return "reduction"; }
  std::string_view generated() const override { return "dtg-reduction"; }

  std::span<const Row> library() const override {
    static const Row list[] = {{"row_reduce",
                                "row_reduce.csl",
                                this,
                                {"reduce_sum", "reduce_max", "reduce_mean"},
                                "sum, maximum or mean of the innermost dimensions along a row of PEs"}};
    return list;
  }

  // ---- match

  bool takes(const graph::Graph& g, graph::NodeId id) const override {
    return g.op(id).kind == ops::OpKind::reduction;
  }

  std::optional<Work> match(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    const graph::Node& node = g.node(id);
    const graph::Value& x = operand(g, node, 0);
    std::vector<int64_t> axes = ops::attr_ints(g.op(id), node.attrs, "axes");
    int rank = x.type.rank();
    if (axes.empty()) {
      if (ops::attr_int(g.op(id), node.attrs, "noop_with_empty_axes") != 0) {
        why = "nothing is reduced (noop_with_empty_axes)";
        return std::nullopt;
      }
      for (int a = 0; a < rank; ++a) axes.push_back(a);
    }
    std::vector<bool> reduced(size_t(rank), false);
    for (int64_t a : axes) {
      int64_t at = a < 0 ? a + rank : a;
      if (at >= 0 && at < rank) reduced[size_t(at)] = true;
    }
    Work work;
    work.kind = this;
    bool inner = true;  // going outwards, still in the reduced part; extents of 1 belong to either
    for (int d = rank - 1; d >= 0; --d) {
      int64_t extent = x.type.shape[size_t(d)];
      if (extent == 1) continue;
      if (!reduced[size_t(d)]) inner = false;
      if (reduced[size_t(d)] && !inner) {
        why = "only the innermost dimensions can be reduced";
        return std::nullopt;
      }
      (reduced[size_t(d)] ? work.n : work.rows) *= extent;
    }
    return work;
  }

  // ---- footprints

  Footprint footprint(const Work& work, const Cut& cut) const override {
    Footprint f = Kind::footprint(work, cut);
    f.partial_sums = true;
    return f;
  }

  // ---- costs of streamed operands

  // Elements are combined as they arrive, on a microthread; what follows a slice overlaps with the next one.
  PeCycles pe_cycles(const Work&, const Cut& cut, const Machine& m) const override {
    return {std::max(cut.n_slice + ask_cycles(m), tail_cycles(m)), 0};
  }
  // What is left is the sum of the accumulators and its way out.
  double last_row_cycles(const Work&, const Cut&, double feed, double, const Machine& m) const override {
    return feed + tail_cycles(m);
  }
  void add_memory(const Work&, const Cut&, Memory& memory) const override {
    add_user(memory, "accumulators", 64);
  }

  // ---- costs of resident operands

  bool has_resident_form() const override { return true; }
  // Of 16-bit floats, whose streams are those of regions.
  bool take_resident(const graph::Graph& g, const graph::Group& group, const Machine& machine, Choice& choice,
                     std::string& why) const override {
    const graph::NodeId id = group.nodes.front();
    const auto& ops = library()[0].ops;
    if (group.nodes.size() > 1 || std::find(ops.begin(), ops.end(), g.node(id).op) == ops.end()) return false;
    const std::optional<Work> work = work_of(g, id, why);
    if (!work) return false;
    choice.work = *work;
    choice.region.reset();
    choice.constants.clear();
    choice.operands = {graph::source_of(g, g.node(id).inputs[0])};
    fill(g, group, machine, choice);
    return true;
  }
  // Rows, whole or in pieces; the results on every PE, or on those of the first column.
  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    const Work& work = choice.work;
    const int rows = cut.m_slice, n = cut.n_slice, words = rows * n;
    const bool line = cut.line > 1;
    ResidentArray x{"x0", work.rows * work.n, int64_t(words) * cut.w, 1, words, cut.w, cut.h};
    if (line) x = {"x0", work.rows * work.n, work.n, rows, n, cut.w, cut.h};
    const int columns = line ? 1 : cut.w;
    ResidentArrays list{{x}, {}, {"y", work.rows, int64_t(rows) * columns, 1, rows, columns, cut.h}};
    list.operands.front().half = list.result.half = work.half;
    return list;
  }
  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    return resident_reduction(choice, at, Kind::write_resident(choice, at));
  }
  std::string resident_sharding(const Work& work, const Cut& cut) const override {
    const bool line = cut.line > 1;
    return fmt::format("{} rows of {}, {} elements of each{}; the results are in y{}.", cut.m_slice,
                       work.rows, cut.n_slice, line ? fmt::format(" of {}", work.n) : "",
                       line ? " of the first column" : "");
  }
  // Every PE has whole rows, or the PEs of a row of the rectangle a piece of each.
  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine& m) const override {
    if (work.rows < 1 || work.n < 1) return std::nullopt;
    const Cut cut = quickest(work, w, h, m);
    if (cut.n_slice > kMostInSlice || cut.m_slice > kMostInSlice) return std::nullopt;
    return cut;
  }
  void add_resident_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    const int64_t words = int64_t(cut.n_slice) * cut.m_slice;
    add_user(memory, "operands", 4 * words * work.operands);
    add_user(memory, "results", 4 * int64_t(cut.m_slice) * (1 + accumulators(cut.n_slice)));
    add_user(memory, "constants", 4 * work.constants * words);
  }
  double launch_cycles(const Work& work, const Cut& cut, const Machine& m) const override {
    return sum_cycles(work, cut.m_slice, cut.n_slice, m) +
           (cut.line > 1 ? line_reduce_cost(cut.m_slice, cut.line, m).cycles : 0);
  }

  double resident_words(const Work&, const Cut& cut) const override {
    return double(cut.m_slice) * (double(cut.n_slice) + 1);
  }

  // ---- text

  void fill(const graph::Graph& g, const graph::Group& group, const Machine&, Choice& choice) const override {
    const graph::Node& node = g.node(group.nodes.front());
    if (node.assignment.origin == Origin::handwritten) choice.row = &library()[0];
    choice.kernel = choice.row != nullptr ? choice.row->name : generated();
    choice.maximum = choice.work.maximum = node.op == "reduce_max";
    choice.scale = node.op == "reduce_mean" ? 1.0F / float(choice.work.n) : 1.0F;
  }

  void write_roles(const Choice& choice, const Setting& at, InstanceRoles& out) const override {
    const auto module = [&](const Place& p, Role& role, InstanceRoles& made) {
      add_module(choice, at, p, role, made);
    };
    row_roles(choice, at, false, out, module);
  }

  // ---- bound

  int64_t flops(const Work& work) const override { return work.rows * work.n; }
  double least_cycles(const Work& work, const Machine& m) const override {
    return double(work.rows * work.n) / rate(work.maximum ? "fmaxs" : "fadds", 2, m);
  }

 private:
  void add_module(const Choice& choice, const Setting& at, const Place& p, Role& role,
                  InstanceRoles& out) const {
    const bool by_library = choice.row != nullptr;
    const int n = n_here(p, at.cut);
    ModuleUse use{by_library ? std::string(choice.row->file) : role.name + "_kernel.csl", "kernel", {}, {}};
    if (by_library) {
      use.parameters = {{"maximum", flag(choice.maximum)},
                        {"scale", autogen::float_literal(choice.scale)},
                        {"n", number(n)},
                        {"first", flag(p.first)},
                        {"last", flag(p.last)}};
    } else {
      out.files[use.file] = autogen::reduction_module(
          {choice.title, sharding(choice.work, at.cut), n, choice.maximum, choice.scale, p.first, p.last});
    }
    add_chain_queues(at, p, by_library, use);
    role.modules.push_back(use);
  }

  Cut quickest(const Work& work, int w, int h, const Machine& m) const {
    Cut whole, pieces;
    whole.w = pieces.w = w;
    whole.h = pieces.h = h;
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
};

}  // namespace

LineCost line_reduce_cost(int64_t n, int P, const Machine& m) {
  const double hop = m.router.hop_cycles, words = double(n);
  // Through a core: up, down, and the addition.
  const double core = m.ramp.up_cycles + m.ramp.fp_cycles + m.ramp.down_cycles + 1;
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

const Kind* reduction_kind() {
  static const Reduction kind;
  return &kind;
}

}  // namespace cs::kernels
