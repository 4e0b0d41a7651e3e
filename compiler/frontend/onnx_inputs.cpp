// Symbols are compared by name; unnamed ones ("?") of inputs count as one symbol.
#include "compiler/frontend/onnx_inputs.h"

#include <algorithm>

namespace cs::frontend {

namespace {

std::optional<std::string> first_symbol(const onnx::ValueInfoProto& v) {
  const auto& shape = v.type().tensor_type().shape();
  if (shape.dim_size() == 0 || !is_symbolic(shape.dim(0))) return std::nullopt;
  return symbol_of(shape.dim(0));
}

}  // namespace

std::vector<const onnx::ValueInfoProto*> runtime_inputs(const onnx::GraphProto& graph) {
  std::vector<const onnx::ValueInfoProto*> inputs;
  for (const onnx::ValueInfoProto& v : graph.input()) {
    const bool constant = std::any_of(graph.initializer().begin(), graph.initializer().end(),
                                      [&](const onnx::TensorProto& t) { return t.name() == v.name(); });
    if (!constant) inputs.push_back(&v);
  }
  return inputs;
}

std::string symbol_of(const onnx::TensorShapeProto::Dimension& d) {
  return d.has_dim_param() && !d.dim_param().empty() ? d.dim_param() : "?";
}

std::optional<int64_t> value_of(const Dims& given, const std::string& symbol) {
  for (const auto& [name, value] : given) {
    if (name == symbol) return value;
  }
  return std::nullopt;
}

std::optional<std::string> sample_symbol(const onnx::GraphProto& graph, const Dims& given) {
  std::optional<std::string> found;
  for (const onnx::ValueInfoProto* v : runtime_inputs(graph)) {
    std::optional<std::string> s = first_symbol(*v);
    if (!s || value_of(given, *s) || (found && *found != *s)) return std::nullopt;
    found = s;
  }
  if (!found) return std::nullopt;
  for (const onnx::ValueInfoProto& v : graph.output()) {
    // An output without a shape is taken to have it; propagate_samples() decides.
    if (v.type().tensor_type().has_shape() && v.type().tensor_type().shape().dim_size() > 0) {
      std::optional<std::string> s = first_symbol(v);
      if (!s || (*s != *found && *s != "?")) return std::nullopt;
    }
  }
  return found;
}

}  // namespace cs::frontend
