// Pools on operands that lie on the PEs, generated: of every window the largest element or the mean. First
// along the columns of the picture, then along its rows: one instruction adds one place of the windows to all
// results. PEs have whole planes or, where there are too few, a column of PEs rows of the result and the
// windows that these need, which the host copies to it, and a row of PEs some of the planes.
//
// Places beside the picture are left out. Rows beside it that the host has copied, as zeros, are the neutral
// element of sums; where the largest elements are looked for, PEs overwrite them.
//
// In numbers: n elements that lie in windows, m results.
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "compiler/autogen/vector_code.h"
#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/pool_steps.h"
#include "compiler/kernels/resident_chain.h"
#include "compiler/kernels/resident_kind.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

namespace {

using namespace pool;
using graph::Graph;
using graph::NodeId;

// Of memory, beside operands and results: <memcpy> and code.
constexpr int64_t kBeside = 8 * 1024;
// Of an instruction, with its descriptors.
constexpr int64_t kCodeBytes = 48;
// What every launch is counted with (cost_resident.cpp) and does not take here, where no task follows; with
// 16-bit floats, beside the starts of their conversions.
constexpr double kCalled = 20, kCalledHalf = 14;

// Two sources of one instruction, of which the second may be in the bank of the first.
double step_cycles(const Work& work, const Step& s, int64_t planes, const Machine& m) {
  const double elements = double(planes * s.rows * s.columns);
  if (s.from.size() < 2) return vector_cycles(elements, rate("fmovs", 1, m), m);
  const bool slow = s.from[0].half() == s.from[1].half();
  return vector_cycles(elements * (slow ? m.core.bank_conflict_factor : 1),
                       rate(work.maximum ? "fmaxs" : "fadds", 2, m), m);
}
double steps_cycles(const Work& work, const Geometry& at, int kept_phase, int first_phase, const Machine& m) {
  double cycles = 0;
  for (const Step& s : at.steps(kept_phase, first_phase)) cycles += step_cycles(work, s, at.planes, m);
  return cycles;
}
// Rows beside the picture, of the column of PEs that has the most.
double beside_cycles(const Work& work, const Geometry& at, const Machine& m) {
  double most = 0;
  for (int64_t x = 0; work.maximum && at.padded() && x < at.columns(); ++x) {
    const int64_t row = x * at.step() - at.c.before[0];
    double cycles = 0;
    for (const int64_t rows : {-row, row + at.rows - at.c.extents[0]})
      if (rows > 0)
        cycles += vector_cycles(double(at.planes * std::min(rows, at.rows) * at.c.extents[1]),
                                rate("fmovs", 1, m), m);
    most = std::max(most, cycles);
  }
  return most;
}
int best_phase(const Work& work, const Geometry& at, const Machine& m) {
  return steps_cycles(work, at, 1, 0, m) < steps_cycles(work, at, 0, 0, m) ? 1 : 0;
}

class ResidentPool final : public ResidentKind {
 public:
  std::string_view name() const override { return "resident pool"; }

  // ---- match

  // Behind it a chain that needs nothing else.
  bool take_resident(const Graph& g, const graph::Group& group, const Machine& machine, Choice& choice,
                     std::string& why) const override {
    const NodeId id = group.nodes.front();
    const graph::Node& node = g.node(id);
    if (!is_largest(node) && !is_mean(node)) return false;
    Work work;
    std::vector<float> share;
    if (!pool(g, id, work, share, why)) return false;
    take_group(g, group, work, choice, "dtg-pool");
    if (!share.empty()) choice.constants = {{"share", ConstantView(std::move(share))}};
    return group.nodes.size() == 1 || add_resident_chain(g, group, machine, choice, why);
  }

  // ---- costs

  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine& m) const override {
    const Convolution& c = work.convolution;
    Cut whole;
    whole.w = w;
    whole.h = h;
    whole.n_slice = whole.n_last = c.results[0];
    whole.m_slice = whole.m_last = int(ceil_div(c.in, int64_t(w) * h));
    Cut windows = whole;
    windows.line = w;
    windows.n_slice = windows.n_last = int(ceil_div(c.results[0], w));
    windows.m_slice = windows.m_last = int(ceil_div(c.in, h));
    const bool room = fits(work, windows) && bytes(work, windows) + kBeside <= m.core.memory_bytes;
    const bool less = int64_t(windows.n_slice) * windows.m_slice < int64_t(whole.n_slice) * whole.m_slice;
    if (w > 1 && fits(work, windows) && (!fits(work, whole) || (less && room))) return windows;
    return fits(work, whole) ? std::optional(whole) : std::nullopt;
  }
  std::string resident_limits(const Work& work) const override {
    return fmt::format(
        "PEs have whole planes of {} x {}, or columns of PEs rows of the result of all {} planes; a PE "
        "takes no more than {} words",
        work.convolution.extents[0], work.convolution.extents[1], work.convolution.in, kMostInSlice);
  }
  void add_resident_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    const Geometry at(work, cut);
    add_user(memory, at.whole ? "planes of the operand" : "windows of the operand", 4 * at.words_in());
    add_user(memory, "rows of windows", 4 * at.words_kept());
    add_user(memory, "result", 4 * at.words_out());
    add_user(memory, "shares of a window", 4 * work.constants * (at.words_out() / at.planes));
    add_user(memory, "temporaries", 4 * chain_words(work.chain, int(at.words_out())));
    add_user(memory, "code of the places",
             kCodeBytes * (work.convolution.kernel[0] + work.convolution.kernel[1]));
  }
  double launch_cycles(const Work& work, const Cut& cut, const Machine& m) const override {
    const Geometry at(work, cut);
    const int phase = best_phase(work, at, m);
    double cycles = steps_cycles(work, at, phase, 0, m);
    const bool odd = !at.whole && cut.h > 1 && at.planes * at.plane() % 2 != 0;
    if (odd)  // the first planes of PEs begin in either half of 8 bytes
      cycles = std::max(cycles, steps_cycles(work, at, phase, 1, m));
    const auto n = double(at.words_out());
    if (!work.maximum) cycles += vector_cycles(n, rate("fmuls", 2, m), m);
    return cycles + beside_cycles(work, at, m) - (work.half ? kCalledHalf : kCalled) +
           (work.flops_per_element > 0 ? chain_cycles(work.chain, int(n)).alone() : 0);
  }
  double resident_words(const Work& work, const Cut& cut) const override {
    const Geometry at(work, cut);
    return double(at.words_in() + at.words_out());
  }

  // ---- text

  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    const Convolution& c = choice.work.convolution;
    const Geometry at(choice.work, cut);
    const int64_t elements = int64_t(c.in) * c.extents[0] * c.extents[1],
                  results = int64_t(c.results[0]) * c.results[1];
    const int in = int(at.words_in()), out = int(at.words_out()), row = int(at.results * c.results[1]);
    ResidentArray x{"x0", elements, int64_t(in) * cut.w, 1, in, cut.w, cut.h};
    ResidentArray y{"y", c.in * results, int64_t(out) * cut.w, 1, out, cut.w, cut.h};
    if (!at.whole) {
      x = {"x0", elements, c.extents[1], int(at.rows), c.extents[1], cut.w, cut.h};
      x.windows = {uint32_t(c.in), c.extents[0], -c.before[0], 0, at.step()};
      y = {"y", c.in * results, results, int(at.planes), row, cut.w, cut.h};
    }
    x.half = y.half = choice.work.half;
    ResidentArrays list{{x}, {}, y};
    if (choice.work.constants > 0) {
      ResidentArray share{"share", results, results, 1, row, cut.w, cut.h, false, !at.whole};
      share.odd_word = true;
      list.constants = {share};
    }
    return list;
  }

  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    const Work& work = choice.work;
    const Geometry here(work, at.cut);
    ResidentText text = here.whole ? Kind::write_resident(choice, at) : on_columns(work, here);
    text.import = write_resident_chain(choice, at, int(here.words_out()), text.files);
    const bool chain = !text.import.empty();
    const int phase = best_phase(work, here, at.machine);
    if (here.words_kept() > 0)
      text.import +=
          fmt::format("// The windows of a column.\nvar kept: [{0}]f32 align(8) = @zeros([{0}]f32);\n",
                      here.words_kept() + phase);
    text.import += "fn places() void {\n" + beside_the_picture(work, here);
    for (const Step& s : here.steps(phase, 0)) text.import += instruction(work, here, s);
    text.import += share_of(work, here) + "}\n";
    text.import += fmt::format("fn pool() void {{\n  {}\n{}}}\n",
                               here.whole ? "places();" : "if (planes > 0) { places(); }",
                               chain ? "  epilogue.run();\n" : "");
    text.call = "pool()";
    return text;
  }

  std::string resident_sharding(const Work& work, const Cut& cut) const override {
    const Convolution& c = work.convolution;
    return fmt::format("{} of {} planes, {} of {} rows of the result; the result is in y.", cut.m_slice, c.in,
                       cut.n_slice, c.results[0]);
  }

  // ---- bound

  // Each result joins elements at least once.
  int64_t flops(const Work& work) const override {
    const Convolution& c = work.convolution;
    return (c.kernel[0] * c.kernel[1] > 1 ? work.m : 0) + int64_t(double(work.m) * work.flops_per_element);
  }
  double constant_words(const Work&) const override { return 0; }

 private:
  static bool fits(const Work& work, const Cut& cut) {
    const Geometry at(work, cut);
    return std::max({at.words_in(), at.words_kept(), at.words_out()}) <= kMostInSlice;
  }
  int64_t bytes(const Work& work, const Cut& cut) const {
    Memory memory;
    add_resident_memory(work, cut, memory);
    finish_memory(memory);
    return memory.total;
  }

  // ---- text

  // Which planes and rows a PE has.
  static ResidentText on_columns(const Work& work, const Geometry& at) {
    const Convolution& c = work.convolution;
    ResidentText text;
    text.layout = fmt::format(
        "fn within(n: i32, most: i32) u16 {{\n"
        "  if (n < 0) {{ return 0; }}\n  return if (n < most) @as(u16, n) else @as(u16, most);\n}}\n");
    text.tile = fmt::format(
        "      const planes = if (x < {6}) within({0} - @as(i32, y) * {1}, {1}) else 0;\n"
        "      const row = @as(i32, x) * {2} - {3};  // of the picture\n"
        "      @set_tile_code(x, y, \"pe.csl\", .{{\n"
        "        .memcpy_params = memcpy.get_params(x), .planes = planes,\n"
        "        .first = if (planes > 0) y * {1} else 0, .above = within(-row, {4}), .below = within({5} - "
        "row, {4}) "
        "}});\n",
        c.in, at.planes, at.step(), c.before[0], at.rows, c.extents[0], at.columns());
    text.parameters =
        "param planes: u16;\nparam first: u16;\n"
        "param above: u16;  // rows above the picture\nparam below: u16;  // from here on they are below "
        "it\n";
    return text;
  }

  static std::string access(const Geometry& at, const View& v, const std::string& rows, int64_t columns,
                            const std::string& more = {}) {
    const std::string planes = at.whole ? std::to_string(at.planes) : "planes";
    const std::string first =
        !at.whole && v.array == "x0" ? fmt::format(" + @as(i16, first) * {}", at.plane()) : "";
    return fmt::format(
        "@get_dsd(mem4d_dsd, .{{ .tensor_access = |c, i, j|{{{}, {}, {}}} -> {}[c * {} + i * {} + j * {} + "
        "{}{}{}] }})",
        planes, rows, columns, v.array, v.plane, v.row, v.column, v.offset + v.phase, first, more);
  }
  static std::string neutral(const Work& work) {
    return work.maximum ? autogen::float_literal(-std::numeric_limits<double>::infinity()) : "0.0";
  }
  static std::string instruction(const Work& work, const Geometry& at, const Step& s) {
    const auto text = [&](const View& v) { return access(at, v, std::to_string(s.rows), s.columns); };
    if (s.from.empty()) return fmt::format("  @fmovs({}, {});\n", text(s.to), neutral(work));
    const char* how = s.from.size() == 1 ? "fmovs" : work.maximum ? "fmaxs" : "fadds";
    std::string out = fmt::format("  @{}({}", how, text(s.to));
    for (const View& v : s.from) out += ",\n         " + text(v);
    return out + ");\n";
  }

  // Rows that are zeros because the host has none.
  static std::string beside_the_picture(const Work& work, const Geometry& at) {
    if (!work.maximum || !at.padded()) return {};
    const View x{"x0", 0, at.plane(), at.c.extents[1], 1};
    return fmt::format(
        "  if (above > 0) {{\n    @fmovs({}, {});\n  }}\n  if (below < {}) {{\n    @fmovs({}, {});\n  }}\n",
        access(at, x, "above", at.c.extents[1]), neutral(work), at.rows,
        access(at, x, fmt::format("{} - below", at.rows), at.c.extents[1],
               fmt::format(" + @as(i16, below) * {}", at.c.extents[1])),
        neutral(work));
  }

  static std::string share_of(const Work& work, const Geometry& at) {
    if (work.maximum) return {};
    const View y{"y", 0, at.results * at.c.results[1], at.c.results[1], 1};
    const View share{"share", 1, 0, at.c.results[1], 1};
    const std::string rows = std::to_string(at.results), all = access(at, y, rows, at.c.results[1]);
    const double part = 1.0 / (at.c.kernel[0] * at.c.kernel[1]);
    return fmt::format(
        "  @fmuls({}, {}, {});\n", all, all,
        work.constants > 0 ? access(at, share, rows, at.c.results[1]) : autogen::float_literal(part));
  }

  static bool is_largest(const graph::Node& n) { return n.op == "max_pool" || n.op == "global_max_pool"; }
  static bool is_mean(const graph::Node& n) {
    return n.op == "average_pool" || n.op == "global_average_pool";
  }
  // Of global pools the whole planes.
  static std::optional<ops::Window> window_of(const Graph& g, NodeId id, std::string& why) {
    const graph::Node& node = g.node(id);
    const ops::TensorType& x = operand(g, node, 0).type;
    if (ops::find_attr(ops::with_defaults(g.op(id), node.attrs), "kernel_shape") != nullptr) {
      const ops::TensorType* types[] = {&x};
      return ops::window_of({g.op(id), node.attrs, types},
                            ops::attr_ints(g.op(id), node.attrs, "kernel_shape"), why);
    }
    ops::Window window;
    for (size_t d = 2; d < x.shape.size(); ++d) window.push_back({x.shape[d], x.shape[d], 1, 1, 0, 0, 1});
    return window;
  }
  // Places beside the picture are some of the mean.
  static bool pads_count(const Graph& g, NodeId id) {
    const Attrs all = ops::with_defaults(g.op(id), g.node(id).attrs);
    return ops::find_attr(all, "count_include_pad") != nullptr &&
           ops::attr_int(g.op(id), g.node(id).attrs, "count_include_pad") != 0;
  }

  bool pool(const Graph& g, NodeId id, Work& work, std::vector<float>& share, std::string& why) const {
    const graph::Node& node = g.node(id);
    const graph::Value &x = operand(g, node, 0), &y = g.value(node.outputs[0]);
    if (node.outputs.size() > 1) {
      why = "it also gives the places of the largest elements";
    } else if (!is_computed(g, y) || x.is_constant() || y.type.elements() < 1) {
      why = "it takes no windows of floats that come from the host";
    } else if (x.type.elements() > INT32_MAX) {
      why = fmt::format("its operand has {} elements", x.type.elements());
    }
    if (!why.empty()) return false;
    Convolution& c = work.convolution;
    const auto window = window_of(g, id, why);
    if (!window || !add_windows(*window, c, why)) return false;
    c.in = c.out = int(x.type.shape[0] * x.type.shape[1]);
    work.maximum = is_largest(node);
    if (!work.maximum) share = shares(*window, pads_count(g, id));
    work.kind = this;
    work.resident = true;
    work.half = y.type.dtype != DataType::f32;
    work.n = c.in;
    for (const ops::WindowAxis& a : *window) work.n *= touched(a);
    work.m = y.type.elements();
    work.constants = share.empty() ? 0 : 1;
    work.flops_per_element = 0;
    return true;
  }
};

}  // namespace

const Kind* resident_pool_kind() {
  static const ResidentPool kind;
  return &kind;
}

}  // namespace cs::kernels
