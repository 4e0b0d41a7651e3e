// What is behind a Tensor.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "compiler/graph/ids.h"
#include "compiler/graph/graph.h"
#include "tools/api/trace/errors.h"

namespace cs::tracing {

struct TensorData {
  enum class Kind : uint8_t { value, weight, hyper };

  ops::TensorType type;
  // Of the host: never changed in place, so that equal pointers are equal values.
  std::shared_ptr<const ops::Tensor> value;
  // Traced: which trace, from 1, and which value of its graph.
  uint64_t trace = 0;
  graph::ValueId id;
  Place made;  // the line that made it

  Kind kind = Kind::value;
  std::string name;  // weights and hypers
  bool requires_grad = true;
  std::optional<ops::Tensor> gradient;
};

}  // namespace cs::tracing
