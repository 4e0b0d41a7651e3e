// Contractions: rows × (y[m] = W[m,n] x[n] + b) with a constant matrix. Output rows lie over PE rows, the
// reduction runs over PE columns; the library's is gemv.csl, its generator autogen/contraction.h.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "compiler/kernels/byte_weights.h"
#include "compiler/kernels/contraction_roles.h"
#include "compiler/kernels/library.h"
#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

class Contraction final : public Kind {
 public:
  std::string_view name() const override { return "contraction"; }
  std::string_view generated() const override { return "dtg-contraction"; }

  std::span<const Row> library() const override {
    static const Row list[] = {
        {"gemv",
         "gemv.csl",
         this,
         {"gemm", "matmul"},
         "matrix × vector with bias on a rectangle, double-buffered input, chain reduction along rows"},
        {"gemm",
         "gemv.csl",
         this,
         {"gemm", "matmul"},
         "matrix × matrix with bias: rows stream one after another through the rectangle of gemv"}};
    return list;
  }

  // ---- match

  bool takes(const graph::Graph& g, graph::NodeId id) const override {
    return g.op(id).kind == ops::OpKind::contraction;
  }

  // The second operand must be a constant matrix; the first is a stack of vectors.
  std::optional<Work> match(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    const graph::Node& node = g.node(id);
    const graph::Value& x = operand(g, node, 0);
    const graph::Value& w = operand(g, node, 1);
    const graph::Value& y = g.value(node.outputs[0]);
    if (x.is_constant() || !w.is_constant()) {
      why = "the second operand must be the only constant one";
      return std::nullopt;
    }
    if (w.type.rank() != 2 || x.type.rank() < 1) {
      why = fmt::format("the constant operand must be a matrix, it has {} dimensions", w.type.rank());
      return std::nullopt;
    }
    const ops::OpDef& op = g.op(id);
    bool trans_b = false;
    if (node.op == "gemm") {
      if (ops::attr_int(op, node.attrs, "trans_a") != 0) {
        why = "the first operand is transposed";
        return std::nullopt;
      }
      trans_b = ops::attr_int(op, node.attrs, "trans_b") != 0;
    }
    Work work;
    work.kind = this;
    work.n = w.type.shape[trans_b ? 1 : 0];
    work.m = w.type.shape[trans_b ? 0 : 1];
    work.rows = work.m > 0 ? y.type.elements() / work.m : 0;
    work.flops_per_element = 0;
    if (!bias_fits(g, node, work.m, why)) return std::nullopt;
    work.bytes = w.quantised && byte_scales(weights_of(g, node, work).floats(), work.m, work.n).has_value();
    work.native = !work.bytes && data_type_bytes(y.type.dtype) == 2 && x.type.dtype == y.type.dtype &&
                  w.type.dtype == y.type.dtype && (node.op != "gemm" || ops::attr_real(op, node.attrs, "alpha") == 1);
    return work;
  }

  const Row* choose(const graph::Graph& g, graph::NodeId id, std::string& why) const override {
    const std::optional<Work> work = work_of(g, id, why);
    if (!work) return nullptr;
    const Row& row = library()[work->rows > 1 ? 1 : 0];
    const Library& all = kernels::library();
    std::string lack = work->half ? all.lacks(row.name, "half") : "";
    if (work->bytes && lack.empty()) lack = all.lacks(row.name, "bytes");
    if (lack.empty()) return &row;
    why = lack;
    return nullptr;
  }

  // The epilogue.
  void add_nodes(const graph::Graph& g, std::span<const graph::NodeId> nodes, const Machine& machine,
                 Work& work) const override {
    if (nodes.size() > 1) add_chain_work(g, nodes.subspan(1), machine, work);
  }

  // The library's stages are tasks (gemv and gemm in configs/suites/autogen.table.yaml, 1x1 and 8x8 PEs).
  double library_cycles(const Work& work, bool several_pes) const override {
    constexpr double kOnePe = 9, kSeveral = 40;
    return double(work.rows) * (several_pes ? kSeveral : kOnePe);
  }

  // ---- footprints

  bool several_rows() const override { return true; }

  Footprint footprint(const Work& work, const Cut& cut) const override {
    Footprint f = Kind::footprint(work, cut);
    f.out = {{.distribution = Distribution::slices, .turns = cut.h > 1, .down = true}};
    f.partial_sums = true;
    return f;
  }

  // ---- costs

  PeCycles pe_cycles(const Work& work, const Cut& cut, const Machine& m) const override {
    const double sums = cut.w > 1 ? vector_cycles(cut.m_slice, 1, m) : 0;
    const double inner = column_cycles(work, cut, cut.n_slice, m) + sums;
    const double last = column_cycles(work, cut, cut.n_last, m) + sums + epilogue_cycles(work, cut);
    return {(cut.w > 1 ? std::max(inner, last) : last) + vector_cycles(cut.m_slice, 1, m), 0};
  }

  // The last column, which has the epilogue, has as many elements fewer as that takes the time of. Equal
  // slices stay where that gains little: they are as long as the streams of other kernels like them.
  void balance(const Work& work, const Machine& m, Cut& cut) const override {
    constexpr double kLeastGain = 0.1;
    if (cut.w == 1 || work.flops_per_element == 0) return;
    const double element = element_cycles(work, cut, m), epilogue = epilogue_cycles(work, cut);
    const auto n = int64_t(std::ceil((double(work.n) + epilogue / element) / cut.w));
    const int64_t most = std::min<int64_t>(kMostInSlice, (work.n - 1) / (cut.w - 1));
    if (most < cut.n_slice) return;
    Cut other = cut;
    other.n_slice = int(std::clamp<int64_t>(n, cut.n_slice, most));
    other.n_last = int(work.n - int64_t(other.n_slice) * (cut.w - 1));
    if (pe_cycles(work, other, m).alone() <= (1 - kLeastGain) * pe_cycles(work, cut, m).alone()) cut = other;
  }

  // The last slice is there, then the PE computes, and rows of PEs send one after the other.
  double last_row_cycles(const Work& work, const Cut& cut, double feed, double pe,
                         const Machine&) const override {
    return feed + pe + double(work.m - cut.m_slice);
  }

  void add_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    const int64_t padded = column_rows(work, cut.m_slice);
    add_user(memory, "weights", (work.bytes ? 1 : work.native ? 2 : 4) * padded * cut.n_slice);
    if (work.bytes) {
      add_user(memory, "weights as floats", 8 * padded * columns_at_a_time(cut));
      add_user(memory, "scales and sums", 8 * padded);
    }
    add_user(memory, "input buffers", (work.native ? 4 : 8) * int64_t(cut.n_slice));
    add_user(memory, "output and bias", 4 * (2 * padded + 1));
    add_user(memory, "epilogue",
             4 * (work.constants * (cut.m_slice + 1) + chain_words(work.chain, cut.m_slice)) *
                 (work.flops_per_element > 0));
  }

  // ---- text

  void fill(const graph::Graph& g, const graph::Group& group, const Machine& machine,
            Choice& choice) const override {
    const graph::Node& node = g.node(group.nodes.front());
    ConstantView weights = weights_of(g, node, choice.work);
    if (choice.work.bytes)
      choice.constants.push_back({"s", *byte_scales(weights.floats(), choice.work.m, choice.work.n)});
    choice.constants.push_back({"w", std::move(weights), choice.work.bytes || choice.work.native});
    choice.constants.push_back({"b", bias_of(g, node, choice.work.m)});
    const bool library_kernel = node.assignment.origin == Origin::handwritten;
    if (library_kernel) choice.row = &library()[choice.work.rows > 1 ? 1 : 0];
    choice.kernel = library_kernel ? choice.row->name : generated();
    if (group.nodes.size() == 1) return;
    attach_expression(g, group, std::span(group.nodes).subspan(1), true, machine, choice);
    const graph::Assignment& next = g.node(group.nodes[1]).assignment;
    const Row* row = next.origin == Origin::handwritten ? row_for(g.node(group.nodes[1]).op) : nullptr;
    if (library_kernel && group.nodes.size() == 2 && row != nullptr && !row->epilogue.empty())
      choice.epilogue = row;
    if (library_kernel)
      choice.kernel +=
          "+" + std::string(choice.epilogue != nullptr ? row->name : elementwise_kind()->generated());
  }
  void write_roles(const Choice& choice, const Setting& at, InstanceRoles& out) const override {
    contraction_roles(choice, at, out);
  }
  std::vector<PackedPart> pack(const Choice& choice, const Cut& cut, const Layout*) const override {
    return pack_contraction(choice, cut);
  }
  std::string sharding(const Work& work, const Cut& cut) const override {
    return fmt::format("{} x {} on {} x {} PEs, at most {} x {} each", work.m, work.n, cut.h, cut.w,
                       cut.m_slice, cut.n_slice);
  }

  // ---- bound

  int64_t flops(const Work& work) const override {
    return work.rows * work.m * (2 * work.n) + int64_t(double(work.rows * work.m) * work.flops_per_element);
  }
  double constant_words(const Work& work) const override {
    return double(work.n) * double(work.m) / (work.bytes ? 4 : 1);
  }

 private:
  // Of a block of byte_columns.csl.
  static int columns_at_a_time(const Cut& cut) {
    constexpr int kMost = 256, kUnrolled = 8;
    const int fit = std::max(1, kMost / (cut.m_slice + cut.m_slice % 2));
    if (fit > cut.n_slice) return cut.n_slice;
    return fit > kUnrolled ? fit / kUnrolled * kUnrolled : fit;
  }

  // An element of the operand: its column of the weights.
  static double element_cycles(const Work& work, const Cut& cut, const Machine& m) {
    const double rows = column_rows(work, cut.m_slice);
    const double add = rows / rate(work.native ? "fmachs" : "fmacs", 2, m);
    return add + 1 + m.core.load_result_cycles + (m.core.jump_taken_cycles + 5.0) / 8;
  }
  // So many of them, from the bias on.
  static double column_cycles(const Work& work, const Cut& cut, int elements, const Machine& m) {
    const double rows = column_rows(work, cut.m_slice);
    const double cycles = m.core.task_start_cycles + 8 + vector_cycles(rows, m.simd("fmovs"), m) +
                          m.core.dsr_load_use_cycles + 3 + elements * element_cycles(work, cut, m);
    return cycles + (work.bytes ? byte_cycles(cut, rows, m) : 0);
  }
  static double epilogue_cycles(const Work& work, const Cut& cut) {
    return work.flops_per_element > 0 ? chain_cycles(work.chain, cut.m_slice).alone() : 0;
  }

  // What byte_columns.csl does beside its multiply-adds, if there are several blocks: two masks and two
  // subtractions for each; sums are cleared, scaled and added.
  static double byte_cycles(const Cut& cut, double rows, const Machine& m) {
    if (columns_at_a_time(cut) == cut.n_slice) return 0;
    const double blocks = double(ceil_div(cut.n_slice, columns_at_a_time(cut)));
    const double words = rows * cut.n_slice;
    const double start = vector_cycles(0, 1, m);
    return words * (1.0 / m.simd("and16") + 1 / rate("fsubs", 1, m)) + blocks * (6 * start + 8) + 3 * start +
           rows / m.simd("fmovs") + rows / rate("fmuls", 2, m) + rows / rate("fadds", 2, m);
  }

  // Weight of output i and input j of a gemm or matmul, with alpha and a possible transposition.
  static ConstantView weights_of(const graph::Graph& g, const graph::Node& node, const Work& work) {
    const ops::OpDef& op = *ops::find_op(node.op);
    const bool gemm = node.op == "gemm";
    const bool transposed = gemm && ops::attr_int(op, node.attrs, "trans_b") != 0;
    const double alpha = gemm ? ops::attr_real(op, node.attrs, "alpha") : 1.0;
    const ConstantView w(g.shared_constant_of(graph::source_of(g, node.inputs[1])), float(alpha));
    return transposed ? w : w.turned(work.m, work.n);
  }
};

}  // namespace

const Kind* contraction_kind() {
  static const Contraction kind;
  return &kind;
}

}  // namespace cs::kernels
