// What an ONNX graph is fed with at run time: its inputs without those that initializers fill, and which of
// their dimensions are symbols.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/frontend/onnx_proto.h"

namespace cs::frontend {

using Dims = std::vector<std::pair<std::string, int64_t>>;  // values given to symbols

// Initializers that are listed among the inputs (as before IR version 4) are constants, not inputs.
std::vector<const onnx::ValueInfoProto*> runtime_inputs(const onnx::GraphProto&);

inline bool is_symbolic(const onnx::TensorShapeProto::Dimension& d) {
  return !d.has_dim_value() || d.dim_value() < 0;
}
// Its name; "?" for a dimension without one.
std::string symbol_of(const onnx::TensorShapeProto::Dimension&);
std::optional<int64_t> value_of(const Dims& given, const std::string& symbol);

// What counts the samples: the symbol without a given value that is the first dimension of all inputs, else the
// only one if every input has it once. Outputs may call it by other names; whether they have it is judged by what
// the model computes.
std::optional<std::string> sample_symbol(const onnx::GraphProto&, const Dims& given);

}  // namespace cs::frontend
