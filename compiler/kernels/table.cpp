// The table of handwritten kernels, and what a node of the graph means in their terms.
//
//   1. work_of reads shapes and constants of a node: contraction, reduction or elementwise, with its extents.
//   2. match_handwritten looks for a row that lists the operator and checks what that kernel cannot do.
#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "compiler/kernels/kernels.h"

namespace cs {
const std::vector<std::pair<std::string_view, std::string_view>>& embedded_kernel_csl_files();
}

namespace cs::kernels {

namespace {

const graph::Value& operand(const graph::Graph& g, const graph::Node& node, size_t i) {
  return g.value(node.inputs[i]);
}

// PEs compute in f32; streams may be 16-bit floats.
bool is_computed(const graph::Graph& g, const graph::Value& v) {
  if (!v.typed) return false;
  return v.type.dtype == DataType::f32 || v.type.dtype == DataType::f16 ||
         (v.type.dtype == DataType::bf16 && graph::bf16_is_half(g));
}

// gemm and matmul: the second operand must be a constant matrix; the first is a stack of vectors.
std::optional<Work> contraction(const graph::Graph& g, const graph::Node& node, std::string& why) {
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
  const ops::OpDef& op = g.op(*g.find_node(node.name));
  bool trans_b = false;
  if (node.op == "gemm") {
    if (ops::attr_int(op, node.attrs, "trans_a") != 0) {
      why = "the first operand is transposed";
      return std::nullopt;
    }
    trans_b = ops::attr_int(op, node.attrs, "trans_b") != 0;
  }
  Work work;
  work.pattern = Pattern::contraction;
  work.n = w.type.shape[trans_b ? 1 : 0];
  work.m = w.type.shape[trans_b ? 0 : 1];
  work.rows = work.m > 0 ? y.type.elements() / work.m : 0;
  work.flops_per_element = 0;
  if (node.op == "gemm" && node.inputs.size() > 2 && node.inputs[2].valid()) {
    const graph::Value& bias = operand(g, node, 2);
    if (!bias.is_constant()) {
      why = "the bias is not constant";
      return std::nullopt;
    }
    // As many elements as columns, in a column: one per row.
    const bool per_column = bias.type.elements() == work.m && bias.type.shape.back() == work.m;
    if (bias.type.elements() != 1 && !per_column) {
      why = "the bias differs from row to row";
      return std::nullopt;
    }
  }
  return work;
}

std::optional<Work> reduction(const graph::Graph& g, const graph::Node& node, std::string& why) {
  const graph::Value& x = operand(g, node, 0);
  std::vector<int64_t> axes = ops::attr_ints(g.op(*g.find_node(node.name)), node.attrs, "axes");
  int rank = x.type.rank();
  if (axes.empty()) {
    if (ops::attr_int(g.op(*g.find_node(node.name)), node.attrs, "noop_with_empty_axes") != 0) {
      why = "nothing is reduced (noop_with_empty_axes)";
      return std::nullopt;
    }
    for (int a = 0; a < rank; ++a) axes.push_back(a);
  }
  std::vector<bool> reduced(size_t(rank), false);
  for (int64_t a : axes) {
    int64_t at = a < 0 ? a + rank : a;
    if (at >= 0 && at < rank) reduced[size_t(at)] = true;
  }
  Work work;
  work.pattern = Pattern::reduction;
  bool inner = true;  // going outwards, still in the reduced part; extents of 1 belong to either
  for (int d = rank - 1; d >= 0; --d) {
    int64_t extent = x.type.shape[size_t(d)];
    if (extent == 1) continue;
    if (!reduced[size_t(d)]) inner = false;
    if (reduced[size_t(d)] && !inner) {
      why = "only the innermost dimensions can be reduced";
      return std::nullopt;
    }
    (reduced[size_t(d)] ? work.n : work.rows) *= extent;
  }
  return work;
}

std::optional<Work> elementwise(const graph::Graph& g, const graph::Node& node, std::string& why) {
  const graph::Value& y = g.value(node.outputs[0]);
  Work work;
  work.operands = 0;
  for (graph::ValueId id : node.inputs) {
    if (!id.valid()) continue;
    const graph::Value& v = g.value(id);
    if (v.is_constant()) {
      if (v.type.elements() != 1) ++work.constants;
    } else {
      ++work.operands;
    }
  }
  if (work.operands == 0) {
    why = "all its operands are constant";
    return std::nullopt;
  }
  work.n = work.m = y.type.elements();
  work.flops_per_element = g.op(*g.find_node(node.name)).flops;
  work.chain.per_element = work.flops_per_element;
  return work;
}

// Whole rows of the last dimensions: softmax, and norms with constant scale and bias.
std::optional<Work> whole_rows(const graph::Graph& g, const graph::Node& node, std::string& why) {
  const graph::Value& x = operand(g, node, 0);
  const ops::OpDef& op = g.op(*g.find_node(node.name));
  const int rank = x.type.rank();
  int64_t axis = ops::attr_int(op, node.attrs, "axis");
  if (axis < 0) axis += rank;
  Work work;
  work.pattern = Pattern::rows;
  bool softmax = node.op == "softmax";
  for (int64_t d = axis; d < rank; ++d) {
    int64_t extent = x.type.shape[size_t(d)];
    if (softmax && d > axis && extent != 1) {
      why = "only the innermost dimension can be normalized";
      return std::nullopt;
    }
    work.row *= extent;
  }
  if (x.is_constant()) {
    why = "all its operands are constant";
    return std::nullopt;
  }
  for (size_t k = 1; k < node.inputs.size(); ++k) {
    const graph::Value& v = operand(g, node, k);
    if (!v.is_constant() || v.type.elements() != work.row) {
      why = fmt::format("operand '{}' is not one constant per element of a row", v.name);
      return std::nullopt;
    }
    ++work.constants;
  }
  if (node.op == "layer_norm" && work.constants != 2) {
    why = "it has no bias";
    return std::nullopt;
  }
  work.n = work.m = x.type.elements();
  work.flops_per_element = double(g.flops(*g.find_node(node.name))) / double(std::max<int64_t>(1, work.m));
  return work;
}

// A picture and a constant kernel, which moves by one row or column at a time. What conv.csl does beside its
// multiply-adds pays for many channels and large pictures only; others are better generated.
bool is_convolution(const graph::Graph& g, const graph::Node& node, std::string& why) {
  constexpr int64_t kLeastChannels = 8, kLeastPicture = 64;
  why.clear();
  const graph::Value &x = operand(g, node, 0), &w = operand(g, node, 1), &y = g.value(node.outputs[0]);
  const ops::OpDef& op = g.op(*g.find_node(node.name));
  auto ones = [&](const char* name) {
    const std::vector<int64_t> list = ops::attr_ints(op, node.attrs, name);
    return std::all_of(list.begin(), list.end(), [](int64_t n) { return n == 1; });
  };
  if (!is_computed(g, x) || !is_computed(g, w)) {
    why = "kernels compute in f32";
  } else if (x.type.rank() != 4) {
    why = fmt::format("the library's conv is for pictures of 4 dimensions, it has {}", x.type.rank());
  } else if (x.is_constant() || !w.is_constant()) {
    why = "the second operand must be the only constant one";
  } else if (ops::attr_int(op, node.attrs, "group") != 1 || !ones("strides") || !ones("dilations")) {
    why = "the library's conv has one group, and strides and dilations of 1";
  } else if (x.type.shape[1] < kLeastChannels || y.type.shape[2] * y.type.shape[3] < kLeastPicture) {
    why =
        fmt::format("the library's conv is for {} channels and {} elements of each or more, it has {} and {}",
                    kLeastChannels, kLeastPicture, x.type.shape[1], y.type.shape[2] * y.type.shape[3]);
  }
  return why.empty();
}

const std::array<Row, 9>& rows() {
  static const std::array<Row, 9> table = {{
      {"gemv",
       "gemv.csl",
       Pattern::contraction,
       {"gemm", "matmul"},
       "matrix × vector with bias on a rectangle, double-buffered input, chain reduction along rows"},
      {"gemm",
       "gemv.csl",
       Pattern::contraction,
       {"gemm", "matmul"},
       "matrix × matrix with bias: rows stream one after another through the rectangle of gemv"},
      {"relu", "relu.csl", Pattern::elementwise, {"relu"}, "max(x, 0) on a row of PEs"},
      {"row_reduce",
       "row_reduce.csl",
       Pattern::reduction,
       {"reduce_sum", "reduce_max", "reduce_mean"},
       "sum, maximum or mean of the innermost dimensions along a row of PEs"},
      {"softmax",
       "softmax.csl",
       Pattern::rows,
       {"softmax"},
       "softmax of the innermost dimension, whole rows per PE"},
      {"layer_norm",
       "layer_norm.csl",
       Pattern::rows,
       {"layer_norm"},
       "layer norm over the innermost dimensions with constant scale and bias, whole rows per PE"},
      {"rms_norm",
       "layer_norm.csl",
       Pattern::rows,
       {"rms_norm"},
       "RMS norm over the innermost dimensions with a constant scale, whole rows per PE"},
      {"conv",
       "conv.csl",
       Pattern::region,
       {"conv"},
       "convolution of pictures with a constant kernel, stride 1, in the layout of a region"},
      {"broadcast", "broadcast.csl", Pattern::broadcast, {"expand"}, "every element n times, on one PE"},
  }};
  return table;
}

}  // namespace

std::string_view pattern_name(Pattern p) {
  switch (p) {
    case Pattern::contraction:
      return "contraction";
    case Pattern::elementwise:
      return "elementwise";
    case Pattern::rows:
      return "rows";
    case Pattern::reduction:
      return "reduction";
    case Pattern::broadcast:
      return "broadcast";
    case Pattern::relay:
      return "relay";
    case Pattern::region:
      return "region";
  }
  return "unknown";
}

std::span<const Row> table() { return rows(); }

const Row* find_row(std::string_view name) {
  for (const Row& row : rows()) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

std::vector<std::string_view> files() {
  std::vector<std::string_view> list;
  for (const auto& [name, text] : embedded_kernel_csl_files()) list.push_back(name);
  return list;
}

std::string_view source(std::string_view file) {
  for (const auto& [name, text] : embedded_kernel_csl_files()) {
    if (name == file) return text;
  }
  return {};
}

std::vector<std::string_view> imports_of(std::string_view text) {
  std::vector<std::string_view> list;
  const auto add = [&](std::string_view of) {
    for (const auto& [name, ignored] : embedded_kernel_csl_files()) {
      const bool imported = of.find(fmt::format("@import_module(\"{}\"", name)) != std::string_view::npos;
      if (imported && std::find(list.begin(), list.end(), name) == list.end()) list.push_back(name);
    }
  };
  add(text);
  for (size_t i = 0; i < list.size(); ++i) add(source(list[i]));
  return list;
}

std::optional<Work> work_of(const graph::Graph& g, graph::NodeId id, std::string& why) {
  const graph::Node& node = g.node(id);
  const ops::OpDef& op = g.op(id);
  if (node.outputs.size() != 1) {
    why = "it has more than one result";
    return std::nullopt;
  }
  const graph::Value& result = g.value(node.outputs[0]);
  for (graph::ValueId v : node.inputs) {
    if (!v.valid()) continue;
    const graph::Value& value = g.value(v);
    const bool streams_alike = value.is_constant() || value.type.dtype == result.type.dtype;
    if (is_computed(g, value) && streams_alike) continue;
    why = fmt::format("operand '{}' is {}, kernels compute in f32", value.name, ops::type_text(value.type));
    return std::nullopt;
  }
  if (!is_computed(g, result)) {
    why = "its result is not a float that PEs compute with";
    return std::nullopt;
  }
  std::optional<Work> work;
  if (op.kind == ops::OpKind::contraction) {
    work = contraction(g, node, why);
  } else if (op.kind == ops::OpKind::reduction) {
    work = reduction(g, node, why);
  } else if (op.kind == ops::OpKind::elementwise) {
    work = elementwise(g, node, why);
  } else if (node.op == "softmax" || node.op == "layer_norm" || node.op == "rms_norm") {
    work = whole_rows(g, node, why);
  } else {
    why = fmt::format("no kernel pattern for operators of kind {}", ops::op_kind_name(op.kind));
  }
  if (work) work->half = result.type.dtype != DataType::f32;
  if (work && (work->n < 1 || work->m < 1 || work->rows < 1)) {
    why = "a tensor is empty";
    return std::nullopt;
  }
  return work;
}

const Row* match_handwritten(const graph::Graph& g, graph::NodeId id, std::string& why) {
  const graph::Node& node = g.node(id);
  auto lists = [&](const Row& row) {
    return std::find(row.ops.begin(), row.ops.end(), node.op) != row.ops.end();
  };
  if (std::none_of(rows().begin(), rows().end(), lists)) {
    why = fmt::format("no library kernel computes {}", node.op);
    return nullptr;
  }
  if (node.op == "conv") return is_convolution(g, node, why) ? find_row("conv") : nullptr;
  std::optional<Work> work = work_of(g, id, why);
  if (!work) return nullptr;
  if (work->pattern == Pattern::contraction) return find_row(work->rows > 1 ? "gemm" : "gemv");
  if (work->half && work->pattern != Pattern::rows) {
    why = fmt::format("the library's {} takes f32 streams", node.op);
    return nullptr;
  }
  for (const Row& row : rows()) {
    if (lists(row)) return &row;
  }
  return nullptr;
}

}  // namespace cs::kernels
