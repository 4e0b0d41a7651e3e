// A matrix times a vector on operands that lie on the PEs (resident_gemv.csl), on any rectangle: every PE has
// a tile of the matrix and the elements of the vector that this needs. The matrix lies as the graph has it:
//
//   output after output   partial sums go west along the rows of PEs, the first column has the result; so lie
//                         constants, however the graph has them
//   column after column   turned by a right angle: partial sums go north, the first row has the result
//
// In numbers: work.n elements of the vector; the outputs are work.rows in the first case, in which work.m is
// 1, else work.m.
#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/resident_chain.h"
#include "compiler/kernels/resident_kind.h"
#include "compiler/kernels/resident_reduction.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

using graph::Graph;

constexpr const char* kMatrix = "a";
constexpr const char* kVector = "v";
// To begin the conversions of 16-bit floats, beside those of their words.
constexpr double kHalfCycles = 15;

class ResidentGemv final : public ResidentProductKind {
 public:
  std::string_view name() const override { return "resident gemv"; }
  std::span<const Row> library() const override {
    static const Row list[] = {{"gemv_tiles",
                                "resident_gemv.csl",
                                this,
                                {"gemm", "matmul"},
                                "matrix × vector on operands that lie on any rectangle of PEs"}};
    return list;
  }

  // ---- match

  // One of the two operands may be constant, and the bias is; behind the product a chain that needs nothing
  // else.
  bool take_resident(const Graph& g, const graph::Group& group, const Machine& machine, Choice& choice,
                     std::string& why) const override {
    const graph::Node& node = g.node(group.nodes.front());
    if (node.op != "gemm" && node.op != "matmul") return false;
    Work work;
    size_t matrix = 0;  // which operand it is
    if (!operands(g, node, work, matrix, why)) return false;
    take_group(g, group, work, choice);
    choice.operands.clear();
    const bool scaled = operand(g, node, matrix).is_constant();
    take(g, node, matrix, scaled ? factor_of(node) : 1, choice);
    take(g, node, 1 - matrix, scaled ? 1 : factor_of(node), choice);
    if (has_bias(node)) choice.constants.push_back({"b", bias_of(g, node, outputs(work))});
    return group.nodes.size() == 1 || add_resident_chain(g, group, machine, choice, why);
  }

  // ---- costs

  // Tiles as even as the rectangle allows; of an even number of outputs where the matrix lies column after
  // column.
  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine& m) const override {
    Cut cut;
    cut.w = w;
    cut.h = h;
    cut.line = by_rows(work) ? w : h;
    const int64_t n = ceil_div(work.n, cut.line), across = ceil_div(outputs(work), by_rows(work) ? h : w);
    const int64_t out = by_rows(work) ? across : across + across % 2;
    if (n * out > kMostInSlice) return std::nullopt;
    cut.n_slice = cut.n_last = int(n);
    cut.m_slice = cut.m_last = int(out);
    const LineCost line = line_reduce_cost(out, cut.line, m);
    cut.line_reduce = line.how;
    cut.group = line.group;
    return cut;
  }

  std::string resident_limits(const Work& work) const override {
    return fmt::format("a PE takes no more than {} of the {} elements of the matrix", kMostInSlice,
                       outputs(work) * work.n);
  }

  void add_resident_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    const int64_t out = cut.m_slice;
    add_user(memory, "tile of the matrix", 4 * (out * cut.n_slice + 1));
    add_user(memory, "slice of the vector", int64_t(4) * cut.n_slice);
    add_user(memory, "sums", 4 * (by_rows(work) ? 2 * out + 2 : out));
    add_user(memory, "bias", 4 * out * work.constants);
    add_user(memory, "temporaries", 4 * chain_words(work.chain, int(out)));
  }

  // The closed form of resident_gemv.csl, the line, and what is behind the product.
  double launch_cycles(const Work& work, const Cut& cut, const Machine& m) const override {
    const double out = cut.m_slice, n = cut.n_slice;
    const double begin = (by_rows(work) ? 2 * out - 6 : out - 16) + (work.half ? kHalfCycles : 0);
    const double chain = work.flops_per_element > 0 ? chain_cycles(work.chain, cut.m_slice).alone() : 0;
    return n * (out + 1) + 3 * n / 8 + begin + chain +
           (cut.line > 1 ? line_reduce_cost(cut.m_slice, cut.line, m).cycles : 0);
  }

  // ---- text

  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    const Work& work = choice.work;
    const bool rows = by_rows(work);
    const int n = cut.n_slice, out = cut.m_slice;
    ResidentArray matrix{kMatrix, work.n * outputs(work), rows ? work.n : work.m, out, n, cut.w, cut.h};
    if (!rows) std::swap(matrix.tile_rows, matrix.tile_columns);
    matrix.odd_word = true;
    // All PEs that have a slice of the vector are beside each other across the line.
    ResidentArray vector{kVector, work.n, rows ? work.n : 1, 1, n, cut.w, cut.h, !rows, rows};
    if (!rows) std::swap(vector.tile_rows, vector.tile_columns);
    ResidentArrays list;
    for (const ResidentArray& x : {matrix, vector}) {
      const bool constant = is_constant(choice, x.name);
      ResidentArray& added = (constant ? list.constants : list.operands).emplace_back(x);
      if (constant) continue;
      added.half = work.half;
      if (x.name == kVector) add_windows(cut, rows, added);
    }
    list.result = {"y", outputs(work), 1, out, 1, 1, cut.h};
    if (!rows) list.result = {"y", outputs(work), work.m, 1, out, cut.w, 1};
    if (is_constant(choice, "b")) list.constants.emplace_back(list.result).name = "b";
    list.result.half = work.half;
    return list;
  }

  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    ResidentText text = Kind::write_resident(choice, at);
    const Cut& cut = at.cut;
    const std::string epilogue = write_resident_chain(choice, at, cut.m_slice, text.files);
    const LineNames line = add_line(at, !by_rows(choice.work), cut.m_slice, false, text);
    const bool biased = is_constant(choice, "b");
    text.import += epilogue;
    text.import += fmt::format(
        "const kernel = @import_module(\"{}\", .{{\n"
        "  .m = {}, .n = {}, .by_rows = {}, .a = @ptrcast([*]f32, &{}[1]), .v = &{}, .y = &y, .bias = {}, "
        ".biased = {},\n  .along_line = {} }});\n",
        choice.row->file, cut.m_slice, cut.n_slice, by_rows(choice.work), kMatrix, kVector,
        biased ? "&b" : "&y", biased, line.reduce);
    if (!epilogue.empty())
      text.call += fmt::format(";\n  {}epilogue.run()", cut.line > 1 ? "if (root) " : "");
    return text;
  }

  double resident_words(const Work& work, const Cut& cut) const override {
    const double matrix = work.weights ? 0 : double(cut.n_slice) * cut.m_slice;
    return matrix + cut.n_slice + cut.m_slice;
  }

  std::string resident_sharding(const Work& work, const Cut& cut) const override {
    return fmt::format("{} of {} outputs, {} elements of each of {}; the result is in y of the first {}.",
                       cut.m_slice, outputs(work), cut.n_slice, work.n, by_rows(work) ? "column" : "row");
  }

 private:
  static bool by_rows(const Work& work) { return work.m == 1; }
  static int64_t outputs(const Work& work) { return work.rows * work.m; }
  static bool is_constant(const Choice& choice, const std::string& name) {
    return std::any_of(choice.constants.begin(), choice.constants.end(),
                       [&](const PackedConstant& c) { return c.name == name; });
  }

  // The host copies a slice to all PEs of a column, or of a row.
  static void add_windows(const Cut& cut, bool columns_alike, ResidentArray& vector) {
    vector.columns = vector.tile_columns = 1;
    vector.tile_rows = cut.n_slice;
    vector.windows = {1, vector.elements, 0, 0, cut.n_slice, !columns_alike};
  }

  // An operand becomes one of the choice, or a constant; a matrix with one output after the other.
  static void take(const Graph& g, const graph::Node& node, size_t k, double factor, Choice& choice) {
    const graph::ValueId source = graph::source_of(g, node.inputs[k]);
    if (!g.value(source).is_constant()) {
      choice.operands.push_back(source);
      return;
    }
    const Work& work = choice.work;
    const ConstantView values(g.shared_constant_of(source), float(factor));
    const bool is_matrix = choice.constants.empty() && choice.operands.empty();
    const bool turned = is_matrix && columns_of_operand(node, k);
    choice.constants.push_back(
        {is_matrix ? kMatrix : kVector, turned ? values.turned(work.rows, work.n) : values});
  }
  // Whether a matrix lies one column after the other, an element of the vector each.
  static bool columns_of_operand(const graph::Node& node, size_t k) {
    return (k == 1) != is_transposed(node, int(k));
  }

  // No reason is given where both operands are matrices.
  bool operands(const Graph& g, const graph::Node& node, Work& work, size_t& matrix, std::string& why) const {
    const graph::Value &x = operand(g, node, 0), &w = operand(g, node, 1), &y = g.value(node.outputs[0]);
    if (x.type.rank() < 1 || w.type.rank() < 1 || w.type.rank() > 2) return false;
    work.n = is_transposed(node, 0) ? x.type.shape[0] : x.type.shape.back();
    if (work.n < 1 || y.type.elements() < 1) return false;
    const int64_t rows = x.type.elements() / work.n, columns = w.type.elements() / work.n;
    if (rows > 1 && columns > 1) return false;
    const auto alike = [&](const graph::Value& v) { return v.is_constant() || v.type.dtype == y.type.dtype; };
    if (!alike(x) || !alike(w) || !is_computed(g, y)) {
      why = "its operands and result are not floats of one type";
    } else if (x.is_constant() && w.is_constant()) {
      why = "both operands are constant";
    } else if (!x.is_constant() && !w.is_constant() && factor_of(node) != 1) {
      why = "alpha is not 1";
    }
    if (!why.empty() || !bias_is_constant(g, node, why)) return false;
    // Of two vectors, a constant one is the matrix.
    matrix = columns > 1 || (rows == 1 && w.is_constant()) ? 1 : 0;
    const bool turned = columns_of_operand(node, matrix) && !operand(g, node, matrix).is_constant();
    work.kind = this;
    work.resident = true;
    work.half = y.type.dtype != DataType::f32;
    work.rows = turned ? 1 : rows * columns;
    work.m = turned ? rows * columns : 1;
    work.weights = operand(g, node, matrix).is_constant();
    work.constants = has_bias(node) ? 1 : 0;
    work.flops_per_element = 0;
    return true;
  }
};

}  // namespace

const Kind* resident_gemv_kind() {
  static const ResidentGemv kind;
  return &kind;
}

}  // namespace cs::kernels
