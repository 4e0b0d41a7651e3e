// Tensors in the text form of a graph: small ones in the text, others in the file of weights beside it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ops/tensor.h"
#include "runtime/support/yaml.h"

namespace cs::graph {

// From the key 'value' or 'offset' of a map; `what` and `name` are for messages ("constant 'w'").
std::optional<ops::Tensor> read_tensor(YamlMap&, const std::string& what, const std::string& name,
                                       const ops::TensorType&, const std::vector<uint8_t>& weights, Diag&);

}  // namespace cs::graph
