// Any bytes are a syntax tree or a diagnostic; what is printed from a tree parses to the same tree.
#include <cstddef>
#include <cstdint>
#include <string>

#include "compiler/csl/ast.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cs::Diag diag;
  uint32_t source = diag.sources.add("input.csl", std::string(reinterpret_cast<const char*>(data), size));
  auto file = cs::csl::parse(source, diag);
  if (!file) {
    if (diag.ok()) __builtin_trap();  // refused without saying why
    diag.to_string();
    return 0;
  }
  std::string text = cs::csl::ast::print(*file);
  auto again = cs::csl::parse(diag.sources.add("printed.csl", text), diag);
  if (!again || cs::csl::ast::print(*again) != text) __builtin_trap();
  return 0;
}
