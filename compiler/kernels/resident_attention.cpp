// Attention on operands that lie on the PEs: O = softmax(scale Q K^T) V, a head on each row of PEs, whose
// tiles of K and V go round (resident_attention.csl). No stream brings operands in this form, so no node is
// matched; what is taken is a whole graph of two products, the softmax between them and factors anywhere
// before that.
//
// In numbers: `rows` heads of `row` elements; n of them in the keys of a head, m in its queries.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include "compiler/autogen/vector_code.h"
#include "compiler/kernels/attention_graph.h"
#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/resident_kind.h"

namespace cs::kernels {

namespace {

using graph::Graph;

constexpr int64_t kMostRows = 0xffff;  // of all PEs of a line, as the modules count them
// Of two products, powers and a ring beyond what any kernel has, measured and rounded up.
constexpr int64_t kCodeBytes = 900;

class ResidentAttention final : public ResidentKind {
 public:
  std::string_view name() const override { return "resident attention"; }
  std::span<const Row> library() const override {
    static const Row list[] = {{"attention",
                                "attention.csl",
                                this,
                                {"softmax", "matmul"},
                                "softmax(Q Kᵀ) V of a head on a row of PEs that have the scores of all keys"},
                               {"attention_online",
                                "attention_online.csl",
                                this,
                                {"softmax", "matmul"},
                                "the same from block to block, where a PE has scores of one block"}};
    return list;
  }

  // ---- match

  bool take_resident(const Graph& g, const graph::Group& group, const Machine&, Choice& choice,
                     std::string& why) const override {
    const std::optional<Heads> heads = read_heads(g, group, why);
    if (!heads) return false;
    if (heads->mask) {
      why = "as an attention: its scores have a mask";
      return false;
    }
    Work work;
    work.kind = this;
    work.resident = true;
    work.half = g.value(heads->q).type.dtype != DataType::f32;
    work.rows = heads->count;
    work.row = heads->depth;
    work.n = heads->keys * heads->depth;
    work.m = heads->queries * heads->depth;
    work.operands = 3;
    work.flops_per_element = 0;
    take_group(g, group, work, choice);
    choice.origin = Origin::handwritten;
    choice.operands = {heads->q, heads->k, heads->v};
    choice.scale = float(heads->scale);
    choice.keys_by_columns = heads->keys_by_columns;
    return true;
  }

  // ---- costs

  // Even tiles. Scores of all keys where they fit and that is no slower.
  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine& m) const override {
    int64_t rows = ceil_div(std::max(work.n, work.m) / work.row, w);
    rows += rows % 2;
    if (h < work.rows || rows * w > kMostRows || rows * std::max(rows, work.row) > kMostInSlice)
      return std::nullopt;
    Cut online;
    online.w = w;
    online.h = h;
    online.n_slice = online.n_last = online.m_slice = online.m_last = int(rows);
    if (rows * rows * w > kMostInSlice) return online;
    Cut all = online;
    all.m_slice = all.m_last = int(rows * w);
    const bool fits = resident_memory(work, all, m).total <= uint32_t(m.core.memory_bytes);
    const bool faster = launch_cycles(work, all, m) <= launch_cycles(work, online, m);
    return fits && faster ? all : online;
  }
  std::string resident_limits(const Work& work) const override {
    return fmt::format(
        "a head takes a row of PEs and there are {}; a PE takes an even number of rows, of no more than "
        "{} words, and all of them {} rows",
        work.rows, kMostInSlice, kMostRows);
  }
  void settle_resident(const Cut& cut, Choice& choice) const override {
    choice.row = &library()[has_all(cut) ? 0 : 1];
    choice.kernel = std::string(choice.row->name);
  }

  void add_resident_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    const int64_t rows = cut.n_slice, tile = rows * work.row;
    add_user(memory, "queries and result", 2 * 4 * tile);
    add_user(memory, "tiles of keys and values", 4 * (cut.w > 1 ? 4 * tile : 2 * tile + 2));
    add_user(memory, "scores", 4 * (rows * cut.m_slice + 1));
    add_user(memory, "temporaries", 4 * (3 * rows * rows + (has_all(cut) ? 2 : 6) * rows + 3));
    add_user(memory, "code of the products and the ring", kCodeBytes);
  }

  // tile_product.csl as it is written, rows of A times K x N. Of an element of B its load and a multiply-add of the
  // rows; of eight of them address, count, comparison and jump; of a row of B three descriptors that are copied and
  // loaded, the loop and the pointers that go on (tests/bench/resident/run.py has the terms).
  static double product_cycles(double rows, double K, double N) {
    const double octets = std::floor(N / 8);
    return K * (N * (rows + 2) + 12 * octets + (N - 8 * octets) + 51 + (octets > 0 ? -3 : 3));
  }

  // The closed forms of the modules, of hidden_keys.csl and of resident_attention.csl. Each score passes as
  // many instructions as in a softmax of rows that neither come from a stream nor leave in one.
  double launch_cycles(const Work& work, const Cut& cut, const Machine& m) const override {
    const double P = cut.w, R = cut.n_slice, D = double(work.row);
    const double products = product_cycles(R, D, R) + product_cycles(R, R, D);
    const double softmax = (library_row_cost("softmax", m).per_element - 1) * R * R;
    const double beside = has_all(cut) ? 577 : 1.5 * D * R + 13 * R + 641;
    const double hidden = work.n < int64_t(P * R) * work.row ? 40 : 0;
    return P * (products + softmax + beside + hidden) + 65 * R + 4 * R * D - 120;
  }

  // ---- text

  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    const Work& work = choice.work;
    const int rows = cut.n_slice, depth = int(work.row);
    const auto by_rows = [&](const char* name, int64_t n) {
      return ResidentArray{name, work.rows * n, n, 1, rows * depth, cut.w, cut.h};
    };
    ResidentArrays list{
        {by_rows("x0", work.m), by_rows("x1", work.n), by_rows("x2", work.n)}, {}, by_rows("y", work.m)};
    if (choice.keys_by_columns)
      list.operands[1] = {"x1", work.rows * work.n, work.n / depth, depth, rows, cut.w, cut.h};
    for (ResidentArray& x : list.operands) x.half = work.half;
    list.result.half = work.half;
    return list;
  }

  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    const Work& work = choice.work;
    ResidentText text;
    text.layout = fmt::format(
        "const ring = @import_module(\"shift_layout.csl\", .{{ .P = {}, .up = EAST, .down = WEST,\n"
        "  .colors = [4]color{{ @get_color(0), @get_color(1), @get_color(2), @get_color(3) }} }});\n",
        at.cut.w);
    text.tile =
        "      @set_tile_code(x, y, \"pe.csl\", .{\n"
        "        .memcpy_params = memcpy.get_params(x), .number = ring.number(x), .in_color = "
        "ring.in_color(x),\n"
        "        .out_color = ring.out_color(x) });\n"
        "      ring.configure(x, y, x);\n";
    text.parameters = "param number: u16;\nparam in_color: color;\nparam out_color: color;\n";
    text.call = "kernel.start()";
    text.gives_back = true;
    text.import = fmt::format(
        "fn done() void {{ {}; }}\n"
        "const kernel = @import_module(\"resident_attention.csl\", .{{\n"
        "  .P = {}, .R = {}, .D = {}, .keys = {}, .whole = {}, .k_by_rows = {}, .scale = {},\n"
        "  .q = &x0, .k = &x1, .v = &x2, .y = &y, .number = number, .in_color = in_color, .out_color = "
        "out_color,\n"
        "  .done = done }});\n",
        give_back(choice), at.cut.w, at.cut.n_slice, work.row, work.n / work.row, has_all(at.cut),
        !choice.keys_by_columns, autogen::float_literal(double(choice.scale) * std::numbers::log2e));
    return text;
  }

  double resident_words(const Work& work, const Cut& cut) const override {
    return 4.0 * cut.n_slice * double(work.row);
  }

  std::string resident_sharding(const Work& work, const Cut& cut) const override {
    return fmt::format(
        "{} of {} queries and {} keys of {} elements, a head per row of PEs; the result is in y.",
        cut.n_slice, work.m / work.row, work.n / work.row, work.row);
  }

  // ---- bound

  // Two products, and what a softmax takes for each score.
  int64_t flops(const Work& work) const override {
    const int64_t scores = work.m / work.row * (work.n / work.row);
    return work.rows * scores * (4 * work.row + int64_t(ops::find_op("softmax")->flops));
  }

 private:
  static bool has_all(const Cut& cut) { return cut.m_slice == cut.n_slice * cut.w; }
};

}  // namespace

const Kind* resident_attention_kind() {
  static const ResidentAttention kind;
  return &kind;
}

}  // namespace cs::kernels
