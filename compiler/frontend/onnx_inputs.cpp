// Symbols are compared by name; unnamed ones ("?") of inputs count as one symbol.
#include "compiler/frontend/onnx_inputs.h"

#include <algorithm>

#include "runtime/support/workarounds.h"

namespace cs::frontend {

namespace {

// How often an input has the symbol.
int count_of(const onnx::ValueInfoProto& v, const std::string& symbol) {
  int n = 0;
  for (const auto& dim : v.type().tensor_type().shape().dim()) n += is_symbolic(dim) && symbol_of(dim) == symbol;
  return n;
}

// The first dimension of all inputs.
std::optional<std::string> first_symbol(const onnx::GraphProto& graph, const Dims& given) {
  std::optional<std::string> found;
  for (const onnx::ValueInfoProto* v : runtime_inputs(graph)) {
    const auto& shape = v->type().tensor_type().shape();
    if (shape.dim_size() == 0 || !is_symbolic(shape.dim(0))) return std::nullopt;
    const std::string s = symbol_of(shape.dim(0));
    if (value_of(given, s) || (found && *found != s)) return std::nullopt;
    found = s;
  }
  return found;
}

}  // namespace

std::vector<const onnx::ValueInfoProto*> runtime_inputs(const onnx::GraphProto& graph) {
  std::vector<const onnx::ValueInfoProto*> inputs;
  for (const onnx::ValueInfoProto& v : graph.input()) {
    const bool constant = std::any_of(graph.initializer().begin(), graph.initializer().end(),
                                      [&](const onnx::TensorProto& t) { return t.name() == v.name(); });
    if (constant)
      note_workaround(Workaround::onnx_weights_as_inputs);
    else
      inputs.push_back(&v);
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
  std::optional<std::string> found = first_symbol(graph, given);
  if (found) return found;
  for (const onnx::ValueInfoProto* v : runtime_inputs(graph)) {
    for (const auto& dim : v->type().tensor_type().shape().dim()) {
      if (!is_symbolic(dim) || value_of(given, symbol_of(dim))) continue;
      if (found && *found != symbol_of(dim)) return std::nullopt;
      found = symbol_of(dim);
    }
  }
  for (const onnx::ValueInfoProto* v : runtime_inputs(graph)) {
    if (found && count_of(*v, *found) != 1) return std::nullopt;
  }
  return found;
}

}  // namespace cs::frontend
