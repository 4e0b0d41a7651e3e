// Transposed matrices on operands that lie on the PEs (transpose.csl): one matrix in tiles on a square of
// PEs, which exchange them; of several matrices every PE has some whole ones, and nothing moves. Streams of
// words have walks instead; a group of nodes is taken where the program is for resident operands.
//
// In numbers: `rows` of all matrices, `row` of them of each one, n = m columns.
#include <fmt/format.h>

#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/resident_kind.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

using graph::Graph;
using graph::NodeId;

// Axes of the operand that stay neighbours in the result, as one; in the order of the operand, and where they
// go.
struct Merged {
  std::vector<int64_t> extents;
  std::vector<size_t> order;  // of the result
};

Merged merged_axes(const ops::Shape& shape, const std::vector<int64_t>& order) {
  std::vector<size_t> number(shape.size(), 0);  // without axes of one element
  for (size_t d = 1; d < shape.size(); ++d) number[d] = number[d - 1] + (shape[d - 1] == 1 ? 0 : 1);
  std::vector<std::vector<size_t>> groups;  // in the order of the result
  for (const int64_t at : order) {
    const auto axis = size_t(at);
    if (shape[axis] == 1) continue;
    if (groups.empty() || number[groups.back().back()] + 1 != number[axis]) groups.emplace_back();
    groups.back().push_back(axis);
  }
  Merged merged;
  merged.extents.assign(groups.size(), 1);
  for (const auto& group : groups) {
    size_t before = 0;  // groups that come earlier in the operand
    for (const auto& other : groups) before += other.front() < group.front() ? 1 : 0;
    for (const size_t axis : group) merged.extents[before] *= shape[axis];
    merged.order.push_back(before);
  }
  return merged;
}

class ResidentTranspose final : public ResidentKind {
 public:
  std::string_view name() const override { return "resident transpose"; }
  std::span<const Row> library() const override {
    static const Row list[] = {{"transpose_tiles",
                                "transpose.csl",
                                this,
                                {"transpose"},
                                "transposed matrices on operands that lie on the PEs"}};
    return list;
  }

  // ---- match

  bool take_resident(const Graph& g, const graph::Group& group, const Machine&, Choice& choice,
                     std::string& why) const override {
    const NodeId id = group.nodes.front();
    const graph::Node& node = g.node(id);
    if (group.nodes.size() > 1 || node.op != "transpose") return false;
    Work work;
    if (!matrices(g, id, work, why)) return false;
    take_group(g, group, work, choice);
    return true;
  }

  // ---- costs

  // Tiles of the only matrix on a square, or whole matrices.
  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine&) const override {
    const int64_t matrices = work.rows / work.row, pes = int64_t(w) * h;
    Cut cut;
    cut.w = w;
    cut.h = h;
    int64_t rows = ceil_div(matrices, pes) * work.row, columns = work.n;
    if (matrices == 1 && pes > 1) {
      if (w != h) return std::nullopt;
      cut.line = w;
      rows = ceil_div(work.row, h);
      columns = ceil_div(work.n, w);
    }
    if (rows * columns > kMostInSlice) return std::nullopt;
    cut.n_slice = cut.n_last = int(columns);
    cut.m_slice = cut.m_last = int(rows);
    return cut;
  }
  std::string resident_limits(const Work&) const override { return "one matrix takes a square"; }
  void add_resident_memory(const Work&, const Cut& cut, Memory& memory) const override {
    add_user(memory, "operands", int64_t(4) * words(cut));
    add_user(memory, "result", int64_t(4) * words(cut));
  }
  // The closed form of transpose.csl.
  double launch_cycles(const Work&, const Cut& cut, const Machine& m) const override {
    if (cut.line == 1) return vector_cycles(words(cut), rate("mov32", 1, m), m);
    return double(cut.line) * (words(cut) + 5) + 2.0 * (cut.line - 1) * m.router.hop_cycles + 45;
  }
  double resident_words(const Work&, const Cut& cut) const override { return 2.0 * words(cut); }

  // ---- text

  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    const Work& work = choice.work;
    const int64_t all = work.rows * work.n;
    ResidentArrays list;
    if (cut.line > 1) {
      list.operands = {{"x0", all, work.n, cut.m_slice, cut.n_slice, cut.w, cut.h}};
      list.result = {"y", all, work.row, cut.n_slice, cut.m_slice, cut.w, cut.h};
    } else {
      list.operands = {{"x0", all, int64_t(words(cut)) * cut.w, 1, words(cut), cut.w, cut.h}};
      list.result = list.operands.front();
      list.result.name = "y";
    }
    list.operands.front().half = list.result.half = work.half;
    return list;
  }

  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    const Cut& cut = at.cut;
    const int rows = cut.line > 1 ? cut.m_slice : int(choice.work.row), matrices = cut.m_slice / rows;
    ResidentText text = cut.line > 1 ? on_square(cut.w) : Kind::write_resident(choice, at);
    if (cut.line == 1)
      text.import =
          "const diagonal = true;\nconst east = false;\nconst far = false;\n"
          "const out_color = @get_color(0);\nconst in_color = @get_color(0);\n";
    text.call = "kernel.start()";
    text.gives_back = true;
    text.import += fmt::format(
        "fn done() void {{ {}; }}\n"
        "const kernel = @import_module(\"{}\", .{{\n"
        "  .n = {}, .diagonal = diagonal, .east = east, .far = far, .out_color = out_color, .in_color = "
        "in_color,\n"
        "  .tile = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{}}} -> x0[i] }}),\n"
        "  .transposed = @get_dsd(mem4d_dsd, .{{ .tensor_access = |b, r, c|{{{}, {}, {}}} -> y[b * {} + c * "
        "{} + r] }}),\n"
        "  .in_queue = @get_input_queue(2), .out_queue = @get_output_queue(3),\n"
        "  .threads = [2]ut_id{{ @get_ut_id(3), @get_ut_id(2) }},\n"
        "  .sent_id = @get_local_task_id(9), .received_id = @get_local_task_id(10), .done = done }});\n",
        give_back(choice), choice.row->file, words(cut), words(cut), matrices, rows, cut.n_slice,
        rows * cut.n_slice, rows);
    return text;
  }

  std::string resident_sharding(const Work& work, const Cut& cut) const override {
    if (cut.line > 1)
      return fmt::format("tiles of {} x {} and {} x {}; the result is in y.", cut.m_slice, cut.n_slice,
                         cut.n_slice, cut.m_slice);
    return fmt::format("{} of {} matrices of {} x {}; the result is in y.", cut.m_slice / work.row,
                       work.rows / work.row, work.row, work.n);
  }

 private:
  static int words(const Cut& cut) { return cut.m_slice * cut.n_slice; }

  bool matrices(const Graph& g, NodeId id, Work& work, std::string& why) const {
    const graph::Node& node = g.node(id);
    const graph::Value &x = operand(g, node, 0), &y = g.value(node.outputs[0]);
    if (!is_computed(g, y) || x.is_constant() || y.type.elements() < 1) {
      why = "it transposes no floats that come from the host";
      return false;
    }
    std::vector<int64_t> order = ops::attr_ints(g.op(id), node.attrs, "perm");
    for (int64_t d = order.empty() ? x.type.rank() : 0; d-- > 0;) order.push_back(d);
    const Merged merged = merged_axes(x.type.shape, order);
    const auto& e = merged.extents;
    const bool stays = merged.order.size() < 2,  // all in one order: matrices of one element
        one = merged.order == std::vector<size_t>{1, 0},
               several = merged.order == std::vector<size_t>{0, 2, 1};
    if (!stays && !one && !several) {
      why = fmt::format(
          "its {} groups of dimensions change places otherwise than rows and columns of matrices", e.size());
      return false;
    }
    work.kind = this;
    work.resident = true;
    work.half = y.type.dtype != DataType::f32;
    work.row = stays ? 1 : e[e.size() - 2];
    work.n = work.m = stays ? 1 : e.back();
    work.rows = x.type.elements() / work.n;
    work.flops_per_element = 0;
    return true;
  }

  // Routes of the square, and which part of it a PE is.
  static ResidentText on_square(int side) {
    ResidentText text;
    text.layout =
        "const lower = @get_color(0);\nconst upper = @get_color(1);\n"
        "const routes = @import_module(\"transpose_layout.csl\", .{ .lower = lower, .upper = upper });\n";
    text.tile = fmt::format(
        "      const west = x < y;\n"
        "      @set_tile_code(x, y, \"pe.csl\", .{{\n"
        "        .memcpy_params = memcpy.get_params(x), .diagonal = x == y, .east = x > y,\n"
        "        .far = if (west) x == 0 else x == {}, .out_color = if (west) lower else upper,\n"
        "        .in_color = if (west) upper else lower }});\n"
        "      routes.configure(x, y, {});\n",
        side - 1, side);
    text.parameters =
        "param diagonal: bool;\nparam east: bool;\nparam far: bool;\nparam out_color: color;\nparam "
        "in_color: color;\n";
    return text;
  }
};

}  // namespace

const Kind* resident_transpose_kind() {
  static const ResidentTranspose kind;
  return &kind;
}

}  // namespace cs::kernels
