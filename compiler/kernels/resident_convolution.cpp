// Convolutions on operands that lie on the PEs (resident_conv.csl): a row of PEs has some of the output
// channels, a column of PEs some rows of the result; the host copies to each column the windows that these
// need, with those rows that the neighbours have too and with the padding. Convolutions of streams are
// regions; a group of nodes is taken where the program is for resident operands.
#include <fmt/format.h>

#include "compiler/kernels/match_parts.h"
#include "compiler/kernels/resident_chain.h"
#include "compiler/kernels/resident_kind.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

bool add_windows(const ops::Window& window, Convolution& c, std::string& why) {
  if (window.size() > c.extents.size()) {
    why = fmt::format("it has {} dimensions, PEs take rows and columns", window.size());
    return false;
  }
  for (size_t d = 0; d < window.size(); ++d) {
    const ops::WindowAxis& a = window[d];
    if (std::max({a.in, a.need(), a.begin, a.stride, a.reach()}) > kMostInSlice) {
      why = fmt::format("dimension {} of its operand has {} elements, a PE takes {}", d + 2, a.in,
                        kMostInSlice);
      return false;
    }
    c.extents[d] = int(a.in);
    c.kernel[d] = int(a.kernel);
    c.strides[d] = int(a.stride);
    c.dilations[d] = int(a.dilation);
    c.before[d] = int(a.begin);
    c.results[d] = int(a.out);
  }
  return true;
}

namespace {

using graph::Graph;
using graph::NodeId;

class ResidentConvolution final : public ResidentKind {
 public:
  std::string_view name() const override { return "resident convolution"; }
  std::span<const Row> library() const override {
    static const Row list[] = {
        {"conv_windows",
         "resident_conv.csl",
         this,
         {"conv"},
         "convolution on operands that lie on the PEs, channels and rows of the result cut"}};
    return list;
  }

  // ---- match

  // With constant weights and bias; behind it a chain that needs nothing else.
  bool take_resident(const Graph& g, const graph::Group& group, const Machine& machine, Choice& choice,
                     std::string& why) const override {
    const NodeId id = group.nodes.front();
    const graph::Node& node = g.node(id);
    if (std::string_view(node.op) != library()[0].ops.front()) return false;
    Work work;
    if (!convolution(g, id, work, why)) return false;
    take_group(g, group, work, choice);
    choice.constants = {{"w", ConstantView(g.shared_constant_of(graph::source_of(g, node.inputs[1])))}};
    if (work.constants > 0)
      choice.constants.push_back(
          {"b", ConstantView(g.shared_constant_of(graph::source_of(g, node.inputs[2])))});
    return group.nodes.size() == 1 || add_resident_chain(g, group, machine, choice, why);
  }

  // ---- costs

  std::optional<Cut> cut_resident(const Work& work, int w, int h, const Machine&) const override {
    const Convolution& c = work.convolution;
    Cut cut;
    cut.w = w;
    cut.h = h;
    cut.n_slice = cut.n_last = int(ceil_div(c.results[0], w));
    cut.m_slice = cut.m_last = int(ceil_div(c.out, h));
    const int64_t weights = int64_t(cut.m_slice) * c.taps();
    if (std::max({words_in(c, cut), words_out(c, cut), weights}) > kMostInSlice) return std::nullopt;
    return cut;
  }
  std::string resident_limits(const Work& work) const override {
    return fmt::format(
        "columns of PEs have rows of the result, rows of PEs output channels; a PE takes no more than {} "
        "words of the "
        "windows of all {} channels",
        kMostInSlice, work.convolution.in);
  }
  void add_resident_memory(const Work& work, const Cut& cut, Memory& memory) const override {
    const Convolution& c = work.convolution;
    add_user(memory, "windows of the operand", 4 * words_in(c, cut));
    add_user(memory, "weights", int64_t(4) * cut.m_slice * (c.taps() + work.constants));
    add_user(memory, "result", 4 * words_out(c, cut));
    add_user(memory, "temporaries", 4 * chain_words(work.chain, int(words_out(c, cut))));
    add_user(memory, "code of the taps", 24 * int64_t(c.kernel[1]));
  }
  // The closed form of resident_conv.csl, every other tap with both sources in one bank.
  double launch_cycles(const Work& work, const Cut& cut, const Machine& m) const override {
    const Convolution& c = work.convolution;
    const double n = double(cut.n_slice) * c.results[1];
    const double chain =
        work.flops_per_element > 0 ? chain_cycles(work.chain, int(words_out(c, cut))).alone() : 0;
    return cut.m_slice * (c.taps() * (n / rate("fmacs", 2, m) * 1.5 + 15) + n / rate("fmovs", 1, m) + 60) +
           chain;
  }
  double resident_words(const Work& work, const Cut& cut) const override {
    return double(words_in(work.convolution, cut) + words_out(work.convolution, cut));
  }

  // ---- text

  ResidentArrays resident_arrays(const Choice& choice, const Cut& cut) const override {
    const Convolution& c = choice.work.convolution;
    const int columns = c.results[1];
    ResidentArray x{"x0",
                    int64_t(c.in) * c.extents[0] * c.extents[1],
                    c.extents[1],
                    c.need(0, cut.n_slice),
                    c.need(1, columns),
                    cut.w,
                    cut.h};
    x.windows = {uint32_t(c.in), c.extents[0], -c.before[0], -c.before[1],
                 int64_t(cut.n_slice) * c.strides[0]};
    const ResidentArray weights{
        "w", int64_t(c.out) * c.taps(), c.taps(), cut.m_slice, c.taps(), cut.w, cut.h, true, false};
    const ResidentArray bias{"b", c.out, 1, cut.m_slice, 1, cut.w, cut.h, true, false};
    ResidentArrays list{{x},
                        {weights},
                        {"y", int64_t(c.out) * c.results[0] * columns, int64_t(c.results[0]) * columns,
                         cut.m_slice, cut.n_slice * columns, cut.w, cut.h}};
    if (choice.work.constants > 0) list.constants.push_back(bias);
    list.operands.front().half = list.result.half = choice.work.half;
    return list;
  }

  ResidentText write_resident(const Choice& choice, const Setting& at) const override {
    const Convolution& c = choice.work.convolution;
    const Cut& cut = at.cut;
    const int x_row = c.need(1, c.results[1]);
    ResidentText text;
    text.tile = fmt::format(
        "      @set_tile_code(x, y, \"pe.csl\", .{{ .memcpy_params = memcpy.get_params(x), .first = y * {} "
        "}});\n",
        cut.m_slice);
    text.parameters = "param first: u16;\n";
    text.import = write_resident_chain(choice, at, int(words_out(c, cut)), text.files);
    const bool biased = choice.work.constants > 0;
    const char* behind = text.import.empty() ? "" : "  epilogue.run();\n";
    text.import += fmt::format(
        "const kernel = @import_module(\"{}\", .{{\n"
        "  .first = first, .out_channels = {}, .all_channels = {}, .out_of_group = {}, .in_of_group = {},\n"
        "  .rows = {}, .columns = {}, .down = {}, .across = {}, .x_plane = {}, .x_row = {}, .x_column = {},\n"
        "  .x_down = {}, .x_across = {}, .x = &x0, .w = &w, .y = &y, .bias = {}, .biased = {} }});\n"
        "fn convolve() void {{\n  kernel.run();\n{}}}\n",
        choice.row->file, cut.m_slice, c.out, c.out / c.groups, c.in / c.groups, cut.n_slice, c.results[1],
        c.kernel[0], c.kernel[1], c.need(0, cut.n_slice) * x_row, c.strides[0] * x_row, c.strides[1],
        c.dilations[0] * x_row, c.dilations[1], biased ? "&b" : "&y", biased, behind);
    text.call = "convolve()";
    return text;
  }

  std::string resident_sharding(const Work& work, const Cut& cut) const override {
    const Convolution& c = work.convolution;
    return fmt::format("{} of {} output channels, {} of {} rows; the result is in y.", cut.m_slice, c.out,
                       cut.n_slice, c.results[0]);
  }

  // ---- bound

  int64_t flops(const Work& work) const override {
    return work.m * 2 * work.convolution.taps() + int64_t(double(work.m) * work.flops_per_element);
  }
  double constant_words(const Work& work) const override {
    return double(work.convolution.out) * (work.convolution.taps() + work.constants);
  }

 private:
  static int64_t words_in(const Convolution& c, const Cut& cut) {
    return int64_t(c.in) * c.need(0, cut.n_slice) * c.need(1, c.results[1]);
  }
  static int64_t words_out(const Convolution& c, const Cut& cut) {
    return int64_t(cut.m_slice) * cut.n_slice * c.results[1];
  }

  bool convolution(const Graph& g, NodeId id, Work& work, std::string& why) const {
    const graph::Node& node = g.node(id);
    const graph::Value &x = operand(g, node, 0), &w = operand(g, node, 1), &y = g.value(node.outputs[0]);
    const bool biased = node.inputs.size() > 2 && node.inputs[2].valid();
    if (!is_computed(g, y) || x.type.dtype != y.type.dtype || x.is_constant() || x.type.elements() < 1) {
      why = "it convolves no floats of one type that come from the host";
    } else if (!w.is_constant() || (biased && !operand(g, node, 2).is_constant())) {
      why = "its weights and bias are not constant";
    } else if (x.type.shape[0] != 1) {
      why = fmt::format("it has {} pictures at once, PEs take one", x.type.shape[0]);
    }
    if (!why.empty()) return false;
    Convolution& c = work.convolution;
    const ops::TensorType* types[] = {&x.type, &w.type};
    const ops::Shape kernel(w.type.shape.begin() + 2, w.type.shape.end());
    const auto window = ops::window_of({g.op(id), node.attrs, types}, kernel, why);
    if (!window || !add_windows(*window, c, why)) return false;
    c.in = int(x.type.shape[1]);
    c.out = int(w.type.shape[0]);
    c.groups = int(x.type.shape[1] / w.type.shape[1]);
    work.kind = this;
    work.resident = true;
    work.half = y.type.dtype != DataType::f32;
    work.n = x.type.elements();
    work.m = y.type.elements();
    work.constants = biased ? 1 : 0;
    work.flops_per_element = 0;
    return true;
  }
};

}  // namespace

const Kind* resident_convolution_kind() {
  static const ResidentConvolution kind;
  return &kind;
}

}  // namespace cs::kernels
