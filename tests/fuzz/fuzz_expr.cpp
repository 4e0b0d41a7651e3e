// Any text as an expression: refused, or parsed to an expression whose text parses back to itself.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "runtime/ops/expr.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::vector<std::string_view> operands = {"x", "y"}, attrs = {"alpha"};
  const std::vector<std::string> names = {"x", "y"};
  std::string error;
  const auto e = cs::ops::parse_expr({reinterpret_cast<const char*>(data), size}, operands, attrs, error);
  if (e.has_value() != error.empty()) std::abort();
  if (!e) return 0;
  const auto back = cs::ops::parse_expr(cs::ops::expr_text(*e, names), operands, attrs, error);
  if (back && cs::ops::expr_text(*back, names) != cs::ops::expr_text(*e, names)) std::abort();
  return 0;
}
