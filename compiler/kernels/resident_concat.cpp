// Concats on operands that lie on the PEs, where no word moves to another PE: every PE has whole rows of all
// operands and of the result or, where there is only one row, the same columns of them. Generated: a copy per
// operand.
//
// In numbers: `rows` in front of the axis, n = m words of a row of the result, `row` of them behind the axis.
#include <fmt/format.h>

#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

using graph::Graph;
using graph::NodeId;

class ResidentConcat final : public Kind {
 public:
  std::string_view name() const override { return "resident concat"; }

  // ---- match

  bool take_resident(const Graph& g, const graph::Group& group, const Machine&, Choice& choice,
                     std::string& why) const override {
    const NodeId id = group.nodes.front();
    if (group.nodes.size() > 1 || g.node(id).op != "concat") return false;
    Work work;
    if (!rows_of(g, id, work, why)) return false;
    choice.work = work;
    choice.kernel = "dtg-concat";
    choice.origin = Origin::autogen;
    choice.row = nullptr;
    choice.operands.clear();
    choice.constants.clear();
    choice.region.reset();
    choice.joined.clear();
    for (const graph::ValueId v : g.node(id).inputs) {
      const graph::ValueId source = graph::source_of(g, v);
      const int64_t width = g.value(v).type.elements() / work.rows;
      if (g.value(v).is_constant()) {
        choice.joined.push_back({fmt::format("c{}", choice.constants.size()), width});
        choice.constants.push_back({choice.joined.back().array, ConstantView(g.shared_constant_of(source))});
      } else {
        choice.joined.push_back({fmt::format("x{}", choice.operands.size()), width});
        choice.operands.push_back(source);
      }
    }
    return true;
  }

  // ---- costs

  bool has_resident_form() const override { return true; }

  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine&) const override {
    const int64_t pes = int64_t(w) * h;
    if (work.rows == 1 && pes > 1 && (h > 1 || work.row == 1)) return std::nullopt;
    Cut cut;
    cut.w = w;
    cut.h = h;
    cut.line = work.rows == 1 ? w : 1;
    const int64_t rows = ceil_div(work.rows, pes), n = work.n / work.row * ceil_div(work.row, cut.line);
    if (rows * n > kMostInSlice) return std::nullopt;
    cut.n_slice = cut.n_last = int(n);
    cut.m_slice = cut.m_last = int(rows);
    return cut;
  }
  std::string resident_limits(const Work& work) const override {
    if (work.rows > 1) return {};
    if (work.row == 1) return "beyond one PE words would have to move from PE to PE";
    return "its columns lie on one row of PEs, W x 1; otherwise words would have to move from PE to PE";
  }
  void add_resident_memory(const Work&, const Cut& cut, Memory& memory) const override {
    add_user(memory, "operands", 4 * words(cut));
    add_user(memory, "result", 4 * words(cut));
  }
  double launch_cycles(const Work&, const Cut& cut, const Machine& m) const override {
    return vector_cycles(double(words(cut)), rate("fmovs", 1, m), m);
  }
  double resident_words(const Work&, const Cut& cut) const override { return 2.0 * double(words(cut)); }

  // ---- text

  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    ResidentArrays list;
    for (const Joined& j : choice.joined) {
      ResidentArray a = array(choice.work, cut, j.array, j.width);
      const bool constant = j.array.front() == 'c';
      a.half = choice.work.half && !constant;
      (constant ? list.constants : list.operands).push_back(a);
    }
    list.result = array(choice.work, cut, "y", choice.work.n);
    list.result.half = choice.work.half;
    return list;
  }

  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    ResidentText text = Kind::write_resident(choice, at);
    const int rows = at.cut.m_slice, n = at.cut.n_slice;
    int64_t offset = 0;
    text.import = "// Each operand to its place in every row.\nfn join() void {\n";
    for (const Joined& j : choice.joined) {
      const int64_t width = here(choice.work, at.cut, j.width);
      text.import += fmt::format(
          "  @fmovs(@get_dsd(mem4d_dsd, .{{ .tensor_access = |r, i|{{{}, {}}} -> y[r * {} + i + {}] }}),\n"
          "         @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{}}} -> {}[i] }}));\n",
          rows, width, n, offset, rows * width, j.array);
      offset += width;
    }
    text.import += "}\n";
    text.call = "join()";
    return text;
  }

  std::string resident_sharding(const Work& work, const Cut& cut) const override {
    if (cut.line > 1)
      return fmt::format("{} of {} columns; the result is in y.", ceil_div(work.row, cut.line), work.row);
    return fmt::format("{} of {} rows; the result is in y.", cut.m_slice, work.rows);
  }

 private:
  static int64_t words(const Cut& cut) { return int64_t(cut.m_slice) * cut.n_slice; }
  // What a PE has of so many words of a row.
  static int64_t here(const Work& work, const Cut& cut, int64_t width) {
    return width / work.row * ceil_div(work.row, cut.line);
  }

  static ResidentArray array(const Work& work, const Cut& cut, const std::string& name, int64_t width) {
    const auto on_pe = int(here(work, cut, width));
    if (cut.line > 1) {
      const auto columns = int(ceil_div(work.row, cut.line));
      return {name, width, work.row, on_pe / columns, columns, cut.w, cut.h};
    }
    const int tile = cut.m_slice * on_pe;
    return {name, work.rows * width, int64_t(tile) * cut.w, 1, tile, cut.w, cut.h};
  }

  bool rows_of(const Graph& g, NodeId id, Work& work, std::string& why) const {
    const graph::Node& node = g.node(id);
    const graph::Value& y = g.value(node.outputs[0]);
    bool from_host = false;
    for (const graph::ValueId v : node.inputs) {
      const graph::Value& x = g.value(v);
      from_host = from_host || !x.is_constant();
      if (is_computed(g, y) && x.type.dtype == y.type.dtype && x.type.elements() > 0) continue;
      why = fmt::format("operand '{}' {} has no floats of the result's type", x.name, ops::type_text(x.type));
      return false;
    }
    if (!from_host) why = "all its operands are constant";
    if (!from_host) return false;
    int64_t axis = ops::attr_int(g.op(id), node.attrs, "axis");
    if (axis < 0) axis += y.type.rank();
    work.kind = this;
    work.resident = true;
    work.half = y.type.dtype != DataType::f32;
    for (int64_t d = 0; d < y.type.rank(); ++d) {
      const int64_t extent = y.type.shape[size_t(d)];
      if (d < axis) work.rows *= extent;
      if (d > axis) work.row *= extent;
    }
    work.n = work.m = y.type.elements() / work.rows;
    work.flops_per_element = 0;
    return true;
  }
};

}  // namespace

const Kind* resident_concat_kind() {
  static const ResidentConcat kind;
  return &kind;
}

}  // namespace cs::kernels
