// The table from golden operations to graphs of our rows, with the tolerance class of each.
#pragma once

#include <string_view>

#include "tools/cs-regress/golden_graph.h"

namespace cs::golden {

// Classes of the format's tolerance table (golden_check.h says what they allow).
enum class Accuracy : uint8_t { elementwise, products, norm, transformer, loss, optimizer };

struct Operation {
  std::string_view name;
  Accuracy accuracy;
  ValueId (*build)(CaseGraph&);    // null: `row` of one operand x
  std::string_view row = {};       // the row of that name
  bool nan_input_is_free = false;  // what the vectors say about NaN operands is a quirk of their source
  bool may_use_host = false;       // too large for kernels in one pass or the other
};

const Operation* find_operation(std::string_view name);
// The operation, and the gradients that the case expects, as a graph. In 16 bits gradients have f32 between
// their nodes; `wide_between`: the operation too, as nodes need it that are kernels or host steps each.
// False: the graph's error() says why.
bool build_case(const Operation&, CaseGraph&, bool wide_between);

}  // namespace cs::golden
