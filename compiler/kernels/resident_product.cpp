// Products on operands that lie on the PEs: Y = X W + b on a square of PEs, W constant or an operand, by
// SUMMA (resident_product.csl) or by shifts (resident_shift.csl), whichever is estimated to be faster. No
// stream brings operands in this form, so no node is matched; a group of nodes is taken where the program is
// for resident operands.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/resident_chain.h"
#include "compiler/kernels/resident_kind.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

using graph::Graph;
using graph::NodeId;
using graph::ValueId;

class ResidentProduct : public ResidentProductKind {
 public:
  std::string_view name() const override { return "resident product"; }
  std::span<const Row> library() const override {
    static const Row list[] = {{"summa",
                                "resident_product.csl",
                                this,
                                {"gemm", "matmul"},
                                "matrix × matrix on operands that lie on a square of PEs, by SUMMA"}};
    return list;
  }

  // ---- match

  // A product of two matrices, of which the second may be constant, with a constant bias; behind it a chain
  // that needs nothing else.
  bool take_resident(const Graph& g, const graph::Group& group, const Machine& machine, Choice& choice,
                     std::string& why) const override {
    const NodeId id = group.nodes.front();
    const graph::Node& node = g.node(id);
    if (node.op != "gemm" && node.op != "matmul") return false;
    Work work;
    if (!matrices(g, id, work, why) || !bias_fits(g, node, work.m, why)) return false;
    take_group(g, group, work, choice);
    if (operand(g, node, 1).is_constant()) {
      choice.constants.push_back({"w", matrix_of(g, node, work)});
    } else {
      choice.operands.push_back(graph::source_of(g, node.inputs[1]));
    }
    if (has_bias(node)) choice.constants.push_back({"b", bias_of(g, node, work.m)});
    return group.nodes.size() == 1 || add_resident_chain(g, group, machine, choice, why);
  }

  // ---- costs

  // Tiles as even as the square allows; of W an even number of columns, so that two words are read in a
  // cycle.
  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine&) const override {
    Cut cut;
    cut.w = w;
    cut.h = h;
    const int64_t k = ceil_div(work.n, w), m = ceil_div(work.m, w), rows = ceil_div(work.rows, h);
    const int64_t most = std::max({k * (m + 1), rows * k, rows * (m + 1)});
    if (w != h || most > kMostInSlice) return std::nullopt;
    cut.n_slice = cut.n_last = int(k);
    cut.m_slice = cut.m_last = int(m + m % 2);
    return cut;
  }

  std::string resident_limits(const Work&) const override { return "a product takes a square"; }

  void add_resident_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    const int64_t k = cut.n_slice, m = cut.m_slice, rows = tile_rows(work, cut);
    add_user(memory, "tiles of the constant or second operand", 3 * 4 * (k * m + 1));
    add_user(memory, "tiles of the first operand", first_buffers() * 4 * rows * k);
    add_user(memory, "result", 4 * rows * m);
    add_user(memory, "bias", 4 * m * work.constants);
    add_user(memory, "temporaries", 4 * chain_words(work.chain, int(rows * m)));
  }

  double launch_cycles(const Work& work, const Cut& cut, const Machine& m) const override {
    const double M = cut.m_slice, N = tile_rows(work, cut);
    const double clear = M * N / rate("fmovs", 1, m) + N * 12 * work.constants;
    const double chain =
        work.flops_per_element > 0 ? chain_cycles(work.chain, int(M * N)).alone() : 0;
    return product_cycles(work, cut) + clear + chain;
  }

  // ---- text

  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    const Work& work = choice.work;
    const int k = cut.n_slice, m = cut.m_slice, rows = tile_rows(work, cut);
    ResidentArrays list;
    list.operands = {{"x0", work.rows * work.n, work.n, rows, k, cut.w, cut.h}};
    ResidentArray second = {"x1", work.n * work.m, work.m, k, m, cut.w, cut.h};
    second.odd_word = true;
    for (const PackedConstant& c : choice.constants) {
      if (c.name == "w") {
        second.name = c.name;
        list.constants.push_back(second);
      } else {  // the bias: every row of PEs has the same
        list.constants.push_back({c.name, work.m, work.m, 1, m, cut.w, cut.h, false});
      }
    }
    if (second.name == "x1") list.operands.push_back(second);
    list.result = {"y", work.rows * work.m, work.m, rows, m, cut.w, cut.h};
    list.result.half = work.half;
    for (ResidentArray& x : list.operands) x.half = work.half;
    return list;
  }

  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    ResidentText text = text_of_square(at.cut.w);
    text.gives_back = true;
    const int rows = tile_rows(choice.work, at.cut), m = at.cut.m_slice;
    const bool biased = choice.work.constants > 0;
    const std::string places = std::exchange(text.import, {});
    text.import = write_resident_chain(choice, at, rows * m, text.files);
    text.import += fmt::format(
        "fn done() void {{\n{}  {};\n}}\n"
        "const kernel = @import_module(\"{}\", .{{\n"
        "  .P = {}, .rows = {}, .k = {}, .m = {}, {},\n"
        "  .x = &x0, .w = @ptrcast([*]f32, &{}[1]), .y = &y, .biased = {}, .bias = {}, .done = done }});\n",
        text.import.empty() ? "" : "  epilogue.run();\n", give_back(choice), choice.row->file, at.cut.w, rows,
        at.cut.n_slice, m, places, choice.operands.size() > 1 ? "x1" : "w", biased, biased ? "&b" : "&y");
    return text;
  }

  // With W, as if it were an operand.
  double resident_words(const Work& work, const Cut& cut) const override {
    const double k = cut.n_slice, m = cut.m_slice, rows = tile_rows(work, cut);
    return rows * k + k * m + rows * m;
  }

  std::string resident_sharding(const Work& work, const Cut& cut) const override {
    const int rows = tile_rows(work, cut);
    return fmt::format("tiles of {} x {}, {} x {} and {} x {}; the result is in y.", rows, cut.n_slice,
                       cut.n_slice, cut.m_slice, rows, cut.m_slice);
  }

 protected:
  // The closed form of summa.csl.
  virtual double product_cycles(const Work& work, const Cut& cut) const {
    const double K = cut.n_slice, M = cut.m_slice, N = tile_rows(work, cut), P = cut.w;
    const double product = K * (N * (M + 2) + 26), busy = K * N * M / product;
    const double step =
        std::max(product + 1.5 * busy * busy * K * (M + N) + 130 + 12 * P, 3.15 * K * (M + N) + 200);
    return P * step + std::max(M * K, K * N) + 2 * P + 30;
  }
  // Tiles of the first operand in a PE's memory.
  virtual int64_t first_buffers() const { return 3; }
  // Layout, tile and parameters; as import the kernel's parameters for its place.
  virtual ResidentText text_of_square(int side) const {
    ResidentText text;
    text.layout = "const colors = [4]color{ @get_color(0), @get_color(1), @get_color(4), @get_color(5) };\n" +
                  fmt::format("const routes = @import_module(\"summa_layout.csl\", .{{ .P = {} }});\n", side);
    text.tile = fmt::format(
        "      @set_tile_code(x, y, \"pe.csl\", .{{\n"
        "        .memcpy_params = memcpy.get_params(x), .colors = colors,\n"
        "        .place = .{{ .west = x == 0, .east = x == {0}, .north = y == 0, .south = y == {0} }} }});\n"
        "      routes.configure(x, y, colors[0], colors[1], NORTH, SOUTH, y);\n"
        "      routes.configure(x, y, colors[2], colors[3], WEST, EAST, x);\n",
        side - 1);
    text.parameters = "param place: comptime_struct;\nparam colors: [4]color;\n";
    text.import = ".place = place, .colors = colors";
    return text;
  }
  static int tile_rows(const Work& work, const Cut& cut) { return int(ceil_div(work.rows, cut.h)); }

 private:
  bool matrices(const Graph& g, NodeId id, Work& work, std::string& why) const {
    const graph::Node& node = g.node(id);
    const graph::Value &x = operand(g, node, 0), &w = operand(g, node, 1), &y = g.value(node.outputs[0]);
    const bool alike = x.type.dtype == y.type.dtype && (w.is_constant() || w.type.dtype == y.type.dtype);
    if (!alike || !is_computed(g, y)) {
      why = "its operands and result are not floats of one type";
    } else if (x.is_constant() || w.type.rank() != 2 || x.type.rank() < 1) {
      why = "the second operand must be a matrix, and the first not constant";
    } else if (is_transposed(node, 0) || (is_transposed(node, 1) && !w.is_constant())) {
      why = "an operand is transposed";
    } else if (!w.is_constant() && factor_of(node) != 1) {
      why = "alpha is not 1";
    }
    if (!why.empty()) return false;
    const bool transposed = is_transposed(node, 1);
    work.kind = this;
    work.resident = true;
    work.half = y.type.dtype != DataType::f32;
    work.n = w.type.shape[transposed ? 1 : 0];
    work.m = w.type.shape[transposed ? 0 : 1];
    work.rows = work.m > 0 ? y.type.elements() / work.m : 0;
    work.constants = has_bias(node) ? 1 : 0;
    work.flops_per_element = 0;
    if (work.rows < 1 || work.n < 1) why = "a tensor is empty";
    return why.empty();
  }

  // W row by row, n x m.
  static ConstantView matrix_of(const Graph& g, const graph::Node& node, const Work& work) {
    const ConstantView w(g.shared_constant_of(graph::source_of(g, node.inputs[1])), float(factor_of(node)));
    return is_transposed(node, 1) ? w.turned(work.n, work.m) : w;
  }
};

// The same tiles, in the order in which shift_gemm.csl wants them.
class ShiftedProduct final : public ResidentProduct {
 public:
  std::string_view name() const override { return "resident product by shifts"; }
  std::span<const Row> library() const override {
    static const Row list[] = {{"shift_gemm",
                                "resident_shift.csl",
                                this,
                                {"gemm", "matmul"},
                                "matrix × matrix on operands that lie on a square of PEs, by shifts"}};
    return list;
  }

  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine& m) const override {
    if (w == 1) return std::nullopt;  // nothing moves
    return ResidentProduct::cut_resident(work, w, h, m);
  }

  std::string resident_limits(const Work&) const override { return {}; }  // those of the other form

  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    ResidentArrays list = ResidentProduct::resident_arrays(choice, cut);
    for (std::vector<ResidentArray>* arrays : {&list.operands, &list.constants})
      for (ResidentArray& x : *arrays) x.order = x.name == "b" ? TileOrder::ring : TileOrder::skewed_rows;
    list.operands.front().order = TileOrder::skewed_columns;
    list.result.order = TileOrder::ring;
    return list;
  }

 protected:
  // The closed form of shift_gemm.csl.
  double product_cycles(const Work& work, const Cut& cut) const override {
    const double K = cut.n_slice, M = cut.m_slice, N = tile_rows(work, cut), P = cut.w;
    const double product = K * (N * (M + 2) + 26);
    return (P - 1) * std::max(product + 230, K * (N * M + 2 * (M + N)) + 100) + product + 60;
  }
  int64_t first_buffers() const override { return 2; }
  ResidentText text_of_square(int side) const override {
    ResidentText text;
    const auto line = [&](const char* name, const char* up, const char* down, int first) {
      text.layout += fmt::format(
          "const {} = @import_module(\"shift_layout.csl\", .{{ .P = {}, .up = {}, .down = {}, .colors = "
          "[4]color{{\n"
          "  @get_color({}), @get_color({}), @get_color({}), @get_color({}) }} }});\n",
          name, side, up, down, first, first + 1, first + 2, first + 3);
    };
    line("rows", "EAST", "WEST", 0);
    line("columns", "SOUTH", "NORTH", 4);
    text.tile =
        "      @set_tile_code(x, y, \"pe.csl\", .{\n"
        "        .memcpy_params = memcpy.get_params(x), .x_colors = [2]color{ rows.in_color(x), "
        "rows.out_color(x) },\n"
        "        .w_colors = [2]color{ columns.in_color(y), columns.out_color(y) } });\n"
        "      rows.configure(x, y, x);\n"
        "      columns.configure(x, y, y);\n";
    text.parameters = "param x_colors: [2]color;\nparam w_colors: [2]color;\n";
    text.import = ".x_colors = x_colors, .w_colors = w_colors";
    return text;
  }
};

}  // namespace

const Kind* resident_product_kind() {
  static const ResidentProduct kind;
  return &kind;
}

const Kind* resident_shift_kind() {
  static const ShiftedProduct kind;
  return &kind;
}

}  // namespace cs::kernels
