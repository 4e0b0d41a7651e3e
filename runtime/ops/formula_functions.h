// What may be called in a formula, and how: read by the parser, which checks calls, and by the lowering.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ops/ops.h"

namespace cs::ops {

struct FormulaFunction {
  enum class Kind : uint8_t {
    elementwise,  // row
    reduction,    // row with axes and keepdims
    along,        // row of one result with numbers as attributes, maybe an axis
    built_in,     // `name` says which
  };
  Kind kind = Kind::built_in;
  std::string_view name;
  const OpDef* row = nullptr;
  size_t least = 1, most = 1;  // operands
  bool takes_axis = false;
  std::vector<std::string> named;  // attributes
};

// A function of this name with so many operands: max of two is elementwise, of one a reduction. Nothing if
// there is none of this name.
std::optional<FormulaFunction> formula_function(std::string_view name, size_t operands);
std::vector<std::string> formula_function_names();

}  // namespace cs::ops
