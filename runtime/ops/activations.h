// Activations of recurrent layers, which nodes name in a text: "Sigmoid Tanh Tanh".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/ops/ops.h"

namespace cs::ops {

// Expressions in the operand "_", one per gate function and direction, with alpha and beta in place. Defaults
// are repeated for a second direction. Nothing (and an error) if a name is unknown or the number is wrong.
std::optional<std::vector<std::string>> activations_of(const ShapeContext&, std::string& error);
// Such an expression of `x`, in brackets.
std::string activation_text(const std::string& activation, const std::string& x);

}  // namespace cs::ops
