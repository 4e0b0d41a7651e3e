// Rows of a constant table by numbers that the host copies in (embedding.csl): the PEs of a line have the
// rows of the table and all of the numbers, the first one of the line gets the result. Streams of numbers are
// lookups (lookup.cpp) or regions; a group of nodes is taken where the program is for resident operands.
//
// In numbers: n numbers, m words of all their rows, `row` of each; `rows` is 1, `constants` rows in the
// table.
#include <fmt/format.h>

#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/resident_kind.h"

namespace cs::kernels {

namespace {

using graph::Graph;
using graph::NodeId;

class ResidentLookup final : public ResidentKind {
 public:
  std::string_view name() const override { return "resident lookup"; }
  std::span<const Row> library() const override {
    static const Row list[] = {{"embedding",
                                "embedding.csl",
                                this,
                                {"gather"},
                                "rows of a table that lies on the PEs of a line, by their numbers"}};
    return list;
  }

  // ---- match

  bool take_resident(const Graph& g, const graph::Group& group, const Machine&, Choice& choice,
                     std::string& why) const override {
    const NodeId id = group.nodes.front();
    const graph::Node& node = g.node(id);
    if (group.nodes.size() > 1 || std::string_view(node.op) != library()[0].ops.front()) return false;
    Work work;
    if (!rows_of_table(g, id, work, why)) return false;
    take_group(g, group, work, choice);
    choice.operands = {graph::source_of(g, node.inputs[1])};
    choice.constants = {{"table", ConstantView(g.shared_constant_of(graph::source_of(g, node.inputs[0])))}};
    return true;
  }

  // ---- costs

  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine&) const override {
    const int64_t rows = ceil_div(work.constants, w);
    if (h > 1 || std::max(rows * work.row, work.m) > kMostInSlice) return std::nullopt;
    Cut cut;
    cut.w = cut.line = w;
    cut.n_slice = cut.n_last = int(work.n);
    cut.m_slice = cut.m_last = int(rows);
    return cut;
  }
  std::string resident_limits(const Work& work) const override {
    return fmt::format(
        "its table lies on one row of PEs, W x 1; a PE takes no more than {} words of it and of the "
        "{} of the result",
        kMostInSlice, work.m);
  }
  void add_resident_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    add_user(memory, "rows of the table", 4 * work.row * cut.m_slice);
    add_user(memory, "numbers", 4 * work.n);
    add_user(memory, "result", 4 * work.m);
  }
  // By the instructions of embedding.csl: the search for a row, longer where it is found, while the row
  // before it passes; then a row on its way along the line.
  double launch_cycles(const Work& work, const Cut& cut, const Machine& m) const override {
    const auto count = double(work.n), width = double(work.row);
    if (cut.w == 1) return count * (73 + width / rate("fmovs", 1, m));
    const auto with_rows = double(ceil_div(work.constants, cut.m_slice));
    const double stage = m.ramp.up_cycles + m.ramp.down_cycles + 1 + m.router.hop_cycles;
    return (count - 1) * std::max(width + 25, 66 + 9 / with_rows) + width + stage * cut.w + 45;
  }
  // The numbers stay as they are.
  double resident_words(const Work& work, const Cut&) const override { return double(work.m); }

  // ---- text

  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    const Work& work = choice.work;
    ResidentArrays list;
    ResidentArray numbers{"x0", work.n, work.n, 1, int(work.n), cut.w, 1};
    numbers.windows = {1, 1, 0, 0, 0};  // on every PE
    list.operands = {numbers};
    const int words = int(work.row) * cut.m_slice;
    list.constants = {{"table", work.row * work.constants, int64_t(words) * cut.w, 1, words, cut.w, 1}};
    list.result = {"y", work.m, work.m, 1, int(work.m)};
    list.result.half = work.half;
    return list;
  }

  // Rows go towards the host's end of the line, where the result is.
  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    const Work& work = choice.work;
    ResidentText text;
    text.layout = "const even = @get_color(0);  // sent by even PEs\nconst odd = @get_color(1);\n";
    text.tile = fmt::format(
        "      const sends = if (x % 2 == 0) even else odd;\n"
        "      const receives = if (x % 2 == 0) odd else even;\n"
        "      @set_tile_code(x, y, \"pe.csl\", .{{\n"
        "        .memcpy_params = memcpy.get_params(x), .base = @as(u32, x) * {}, .first = x == {}, .last = "
        "x == 0,\n"
        "        .sends = sends, .receives = receives }});\n"
        "      if (x > 0) @set_color_config(x, y, sends, .{{ .routes = .{{ .rx = .{{ RAMP }}, .tx = .{{ WEST "
        "}} }} }});\n"
        "      if (x < {}) @set_color_config(x, y, receives, .{{ .routes = .{{ .rx = .{{ EAST }}, .tx = .{{ "
        "RAMP }} }} }});\n",
        at.cut.m_slice, at.cut.w - 1, at.cut.w - 1);
    text.parameters =
        "param base: u32;\nparam first: bool;\nparam last: bool;\nparam sends: color;\nparam receives: "
        "color;\n";
    text.call = "kernel.start()";
    text.gives_back = true;
    text.import = fmt::format(
        "fn done() void {{ {}; }}\n"
        "const kernel = @import_module(\"{}\", .{{\n"
        "  .base = base, .rows = {}, .all = {}, .width = {}, .count = {}, .table = &table,\n"
        "  .ids = @ptrcast([*]u32, &x0), .result = &y, .first = first, .last = last,\n"
        "  .in_color = receives, .out_color = sends, .in_queue = @get_input_queue(2), .out_queue = "
        "@get_output_queue(3),\n"
        "  .passed_id = @get_local_task_id(9), .done = done }});\n",
        give_back(choice), choice.row->file, at.cut.m_slice, work.constants, work.row, work.n);
    return text;
  }

  std::string resident_sharding(const Work& work, const Cut& cut) const override {
    return fmt::format("{} of {} rows of {} words, all {} numbers; the result is in y of the first PE.",
                       cut.m_slice, work.constants, work.row, work.n);
  }

  // ---- bound

  // The rows that are asked for.
  double constant_words(const Work& work) const override { return double(work.m); }

 private:
  bool rows_of_table(const Graph& g, NodeId id, Work& work, std::string& why) const {
    const graph::Node& node = g.node(id);
    const graph::Value &table = operand(g, node, 0), &numbers = operand(g, node, 1),
                       &y = g.value(node.outputs[0]);
    const int64_t axis = ops::attr_int(g.op(id), node.attrs, "axis");
    if (!is_computed(g, y) || !table.is_constant() || numbers.is_constant()) {
      why = "it takes no rows of a constant table of floats by numbers that come from the host";
    } else if (axis != 0 && axis != -table.type.rank()) {
      why = "its rows are not whole along all dimensions but the first";
    } else if (y.type.elements() < 1) {
      why = "a tensor is empty";
    } else if (table.type.elements() > INT32_MAX) {
      why = fmt::format("its table has {} elements", table.type.elements());
    }
    if (!why.empty()) return false;
    work.kind = this;
    work.resident = true;
    work.half = y.type.dtype != DataType::f32;
    work.n = numbers.type.elements();
    work.m = y.type.elements();
    work.row = work.m / work.n;
    work.constants = int(table.type.shape[0]);
    work.flops_per_element = 0;
    return true;
  }
};

}  // namespace

const Kind* resident_lookup_kind() {
  static const ResidentLookup kind;
  return &kind;
}

}  // namespace cs::kernels
