// Products on operands that lie on the PEs: Y = X W + b on a square of PEs by SUMMA (resident_product.csl), W
// constant or an operand. No stream brings operands in this form, so no node is matched; a group of nodes is
// taken where the program is for resident operands.
#include <cmath>

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

class ResidentProduct final : public ResidentKind {
 public:
  std::string_view name() const override { return "resident product"; }
  std::span<const Row> library() const override {
    static const Row list[] = {{"summa",
                                "resident_product.csl",
                                this,
                                {"gemm", "matmul"},
                                "matrix × matrix on operands that lie on a square of PEs"}};
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
      choice.constants.push_back({"w", matrix_of(g, node)});
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
    add_user(memory, "tiles of the first operand", 3 * 4 * rows * k);
    add_user(memory, "result", 4 * rows * m);
    add_user(memory, "bias", 4 * m * work.constants);
    add_user(memory, "temporaries", 4 * chain_words(work.chain, int(rows * m)));
  }

  // The closed form of summa.csl, what clears the result, and what is behind the product.
  double launch_cycles(const Work& work, const Cut& cut, const Machine& m) const override {
    const double K = cut.n_slice, M = cut.m_slice, N = tile_rows(work, cut), P = cut.w;
    const double step = K * (N * (M + 2) + 3.2 * std::floor(N / 8) + 32) + 140;
    const double first = std::max(M * K, K * N) + 2 * P + 30;
    const double clear = M * N / rate("fmovs", 1, m) + N * 12 * work.constants;
    const double chain =
        work.flops_per_element > 0 ? chain_cycles(work.chain, int(M * N)).alone() : 0;
    return P * step + first + clear + chain;
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
    ResidentText text;
    text.layout =
        "const colors = [4]color{ @get_color(0), @get_color(1), @get_color(4), @get_color(5) };\n" +
        fmt::format("const routes = @import_module(\"summa_layout.csl\", .{{ .P = {} }});\n", at.cut.w);
    text.tile = fmt::format(
        "      @set_tile_code(x, y, \"pe.csl\", .{{\n"
        "        .memcpy_params = memcpy.get_params(x), .colors = colors,\n"
        "        .place = .{{ .west = x == 0, .east = x == {0}, .north = y == 0, .south = y == {0} }} }});\n"
        "      routes.configure(x, y, colors[0], colors[1], NORTH, SOUTH, y);\n"
        "      routes.configure(x, y, colors[2], colors[3], WEST, EAST, x);\n",
        at.cut.w - 1);
    text.parameters = "param place: comptime_struct;\nparam colors: [4]color;\n";
    text.gives_back = true;
    const int rows = tile_rows(choice.work, at.cut), m = at.cut.m_slice;
    const bool biased = choice.work.constants > 0;
    text.import = write_resident_chain(choice, at, rows * m, text.files);
    text.import += fmt::format(
        "fn done() void {{\n{}  {};\n}}\n"
        "const kernel = @import_module(\"resident_product.csl\", .{{\n"
        "  .P = {}, .rows = {}, .k = {}, .m = {}, .place = place, .colors = colors,\n"
        "  .x = &x0, .w = @ptrcast([*]f32, &{}[1]), .y = &y, .biased = {}, .bias = {}, .done = done }});\n",
        text.import.empty() ? "" : "  epilogue.run();\n", give_back(choice), at.cut.w, rows, at.cut.n_slice,
        m, choice.operands.size() > 1 ? "x1" : "w", biased, biased ? "&b" : "&y");
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

  // ---- bound

  int64_t flops(const Work& work) const override {
    return work.rows * work.m * 2 * work.n + int64_t(double(work.rows * work.m) * work.flops_per_element);
  }
  double constant_words(const Work& work) const override {
    return double(work.n) * double(work.m) / double(work.rows);  // read once, not for every row
  }

 private:
  static int tile_rows(const Work& work, const Cut& cut) { return int(ceil_div(work.rows, cut.h)); }
  static bool has_bias(const graph::Node& n) {
    return n.op == "gemm" && n.inputs.size() > 2 && n.inputs[2].valid();
  }
  static bool flagged(const graph::Node& node, const char* attribute) {
    return node.op == "gemm" && ops::attr_int(*ops::find_op(node.op), node.attrs, attribute) != 0;
  }

  bool matrices(const Graph& g, NodeId id, Work& work, std::string& why) const {
    const graph::Node& node = g.node(id);
    const graph::Value &x = operand(g, node, 0), &w = operand(g, node, 1), &y = g.value(node.outputs[0]);
    const bool alike = x.type.dtype == y.type.dtype && (w.is_constant() || w.type.dtype == y.type.dtype);
    if (!alike || !is_computed(g, y)) {
      why = "its operands and result are not floats of one type";
    } else if (x.is_constant() || w.type.rank() != 2 || x.type.rank() < 1) {
      why = "the second operand must be a matrix, and the first not constant";
    } else if (flagged(node, "trans_a") || (flagged(node, "trans_b") && !w.is_constant())) {
      why = "an operand is transposed";
    } else if (!w.is_constant() && node.op == "gemm" && attr(node, "alpha") != 1) {
      why = "alpha is not 1";
    }
    if (!why.empty()) return false;
    const bool transposed = flagged(node, "trans_b");
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
  static double attr(const graph::Node& node, const char* name) {
    return ops::attr_real(*ops::find_op(node.op), node.attrs, name);
  }

  // W row by row, n x m.
  static std::vector<float> matrix_of(const Graph& g, const graph::Node& node) {
    const ops::Tensor& w = *g.constant_of(graph::source_of(g, node.inputs[1]));
    const bool transposed = flagged(node, "trans_b");
    const float alpha = node.op == "gemm" ? float(attr(node, "alpha")) : 1;
    const int64_t n = w.type.shape[transposed ? 1 : 0], m = w.type.shape[transposed ? 0 : 1];
    std::vector<float> list;
    for (int64_t j = 0; j < n; ++j)
      for (int64_t i = 0; i < m; ++i)
        list.push_back(alpha * float(w.get(transposed ? i * n + j : j * m + i)));
    return list;
  }
};

}  // namespace

const Kind* resident_product_kind() {
  static const ResidentProduct kind;
  return &kind;
}

}  // namespace cs::kernels
