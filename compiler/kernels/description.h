// A product's kernel in one line: what it multiplies, how that is cut over PEs, how operands and result come and lie,
// in which types, what is computed of the result, and the order of its parts. The report has it, and it reads back.
#pragma once

#include <optional>
#include <string>

#include "compiler/kernels/blocking.h"
#include "runtime/ops/expr.h"
#include "runtime/support/diag.h"

namespace cs::kernels {

struct Choice;
struct Cut;

struct ProductDescription {
  std::string kernel;                           // "gemv+dtg-elementwise"
  int64_t rows = 1, inputs = 1, outputs = 1;    // rows times outputs sums of inputs products each
  Blocking blocking;
  std::string x_layout, w_layout, y_layout;     // how the operands reach PEs or lie there, and the result leaves
  std::string x_type, w_type, sum_type, y_type;  // "f32", "f16", "i8"
  std::optional<ops::Expr> epilogue;            // operand 0 is the sum, the others constants, one per output
  std::string order;                            // of parts: rows, ring, ...
  bool operator==(const ProductDescription&) const = default;
};

// Nothing: the kernel is no product.
std::optional<ProductDescription> describe_product(const Choice&, const Cut&);
// "{kernel: gemv, rows: 1, …}", a YAML map in one line.
std::string description_text(const ProductDescription&);
// The same from its text; `name` stands in messages. Unknown keys and numbers below 1 are errors.
std::optional<ProductDescription> parse_description(std::string text, const std::string& name, Diag&);

}  // namespace cs::kernels
