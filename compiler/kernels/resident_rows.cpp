// Rows in pieces, of operands that lie on the PEs: softmax, norms and other groups over rows of which every
// PE of a row of the rectangle has a piece. Their sums and maxima are those of pieces, which meet along the
// row of PEs and go back to all of them (the all-reduce of reduce.csl); everything else is what a PE does
// with whole rows (rows.cpp). So a row may be longer than a PE's memory, and few rows may have many PEs.
//
// Of a Work, `row` counts the numbers of a row that its PEs exchange.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/autogen.h"
#include "compiler/autogen/row_code.h"
#include "compiler/graph/expand.h"
#include "compiler/kernels/resident_kind.h"
#include "compiler/kernels/resident_reduction.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

using graph::Graph;
using graph::NodeId;

constexpr int kMostOfTree = 32;  // PEs: a tree of more needs a sixth queue, which is the way back's

class ResidentRows final : public ResidentKind {
 public:
  std::string_view name() const override { return "resident rows in pieces"; }

  // ---- choice

  bool take_resident(const Graph& g, const graph::Group& group, const Machine& machine, Choice& choice,
                     std::string&) const override {
    if (choice.results.size() != 1) return false;
    Graph trial;
    autogen::RowGroup rows;
    const Graph* from = make_rows(g, group, trial, rows);
    if (from == nullptr) return false;
    const auto exchanged = std::count_if(rows.inputs.begin(), rows.inputs.end(),
                                         [](const autogen::RowInput& in) { return in.of >= 0; });
    if (exchanged == 0) return false;
    take_group(g, group, work_of_rows(rows, exchanged, machine), choice, rows_kind()->generated());
    choice.work.half = from->value(rows.result).type.dtype != DataType::f32;
    if (from == &g) choice.operands = {graph::source_of(g, rows.operand)};
    for (graph::ValueId v : rows.constants())
      choice.constants.push_back(
          {fmt::format("c{}", choice.constants.size()), ConstantView(from->shared_constant_of(v))});
    choice.kernel += "+reduce";
    choice.rows = std::move(rows);
    return true;
  }

  // A piece of each row, and of each constant.
  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    const Work& work = choice.work;
    ResidentArrays list;
    list.operands = {{"x0", work.rows * work.n, work.n, cut.m_slice, cut.n_slice, cut.w, cut.h}};
    list.operands.front().half = work.half;
    for (const PackedConstant& c : choice.constants)
      list.constants.push_back({c.name, work.n, work.n, 1, cut.n_slice, cut.w, cut.h, false, true});
    list.result = list.operands.front();
    return list;
  }

  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    ResidentText text = Kind::write_resident(choice, at);
    add_numbers_of_line(at, text);
    const std::string file = at.name + "_kernel.csl";
    text.import += fmt::format(
        "const kernel = @import_module(\"{}\", .{{\n  .resident = true, .rows = {}, .x0 = &x0, .x1 = &x0, "
        ".x_color = in_colors[0],\n  .sum_of_line = "
        "sum_of_line, .largest_of_line = largest_of_line",
        file, at.cut.m_slice);
    for (const PackedConstant& c : choice.constants) text.import += fmt::format(", .{0} = &{0}", c.name);
    text.import += " });\n";
    text.call = "kernel.buffers.all_rows(&x0)";
    autogen::RowGroup piece = *choice.rows;
    piece.n = at.cut.n_slice;
    autogen::RowSpec spec{choice.title, resident_sharding(choice.work, at.cut), true};
    spec.pieces = true;
    text.files[file] = autogen::row_module(piece, spec, at.machine);
    return text;
  }

  std::string resident_sharding(const Work& work, const Cut& cut) const override {
    return fmt::format("{} of {} rows, {} of {} elements of each; the result takes the place of x0",
                       cut.m_slice, work.rows, cut.n_slice, work.n);
  }

  // ---- costs

  // Zeros beyond the end of a row would be among its elements.
  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine& m) const override {
    if (w < 2 || h > work.rows || work.n % w != 0) return std::nullopt;
    const int64_t piece = work.n / w, rows = ceil_div(work.rows, h);
    if (piece % 2 != 0 || piece * rows > kMostInSlice) return std::nullopt;
    const LineCost line = line_reduce_cost(1, w, m);
    if (line.how == LineReduce::tree && w > kMostOfTree) return std::nullopt;
    Cut cut;
    cut.w = cut.line = w;
    cut.h = h;
    cut.n_slice = cut.n_last = int(piece);
    cut.m_slice = cut.m_last = int(rows);
    cut.line_reduce = line.how;
    cut.group = line.group;
    return cut;
  }
  std::string resident_limits(const Work&) const override {
    return "pieces of rows have an even number of elements, all the same";
  }
  void add_resident_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    add_user(memory, "operands", 4 * int64_t(cut.n_slice) * cut.m_slice);
    add_user(memory, "temporaries", 4 * (int64_t(cut.n_slice) + 1) * work.row_cost.temporaries);
    add_user(memory, "constants", 4 * int64_t(cut.n_slice) * work.constants);
  }
  // An exchange: a number to the first PE of the row and back.
  double launch_cycles(const Work& work, const Cut& cut, const Machine& m) const override {
    const double there = line_reduce_cost(1, cut.line, m).cycles;
    const double back = m.ramp.up_cycles + m.ramp.down_cycles + 1 + double(m.router.hop_cycles) * cut.line;
    const double row = work.row_cost.per_row + cut.n_slice * work.row_cost.resident;
    return double(cut.m_slice) * (row + double(work.row) * (there + back));
  }
  double resident_words(const Work&, const Cut& cut) const override {
    return 2.0 * double(cut.m_slice) * double(cut.n_slice);
  }

  // ---- bound

  int64_t flops(const Work& work) const override {
    return int64_t(double(work.rows * work.n) * work.flops_per_element);
  }
  double least_cycles(const Work& work, const Machine&) const override {
    return double(work.rows * work.n) * work.row_cost.least;
  }

 private:
  // The graph that the rows are of: this one, or `trial` with the primitives of its only node.
  static const Graph* make_rows(const Graph& g, const graph::Group& group, Graph& trial,
                                autogen::RowGroup& rows) {
    std::string why;
    if (autogen::make_row_group(g, group.nodes, rows, why, true)) return &g;
    if (group.nodes.size() > 1 || g.op(group.nodes.front()).kind != ops::OpKind::compound) return nullptr;
    Diag diag;
    const std::optional<NodeId> node = graph::alone(g, group.nodes.front(), trial, diag);
    if (!node || !graph::expand_all(trial, *node, diag)) return nullptr;
    return autogen::make_row_group(trial, trial.topological(), rows, why, true) ? &trial : nullptr;
  }

  Work work_of_rows(const autogen::RowGroup& rows, int64_t exchanged, const Machine& machine) const {
    Work work = rows.work(autogen::row_cost(rows, machine));
    work.kind = this;
    work.rows = rows.rows;
    work.n = work.m = rows.n;
    work.row = exchanged;
    return work;
  }
};

}  // namespace

const Kind* resident_rows_kind() {
  static const ResidentRows kind;
  return &kind;
}

}  // namespace cs::kernels
