// What parses can be formatted at any width: tokens and comments stay (format checks that itself), a second
// time changes nothing, and the result parses to the same tree.
#include <cstddef>
#include <cstdint>
#include <string>

#include "compiler/csl/ast.h"
#include "compiler/csl/format.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cs::Diag diag;
  const uint32_t source =
      diag.sources.add("input.csl", std::string(reinterpret_cast<const char*>(data), size));
  const auto tree = cs::csl::parse(source, diag);
  if (!tree) {
    cs::Diag again;
    const uint32_t same = again.sources.add("input.csl", diag.sources.text(source));
    if (cs::csl::format(same, again) || again.ok()) __builtin_trap();
    return 0;
  }
  for (const int width : {40, 120}) {
    cs::Diag once, twice;
    const auto text =
        cs::csl::format(once.sources.add("input.csl", diag.sources.text(source)), once, {width});
    if (!text) __builtin_trap();
    const uint32_t result = twice.sources.add("formatted.csl", *text);
    const auto formatted = cs::csl::parse(result, twice);
    if (!formatted || cs::csl::ast::print(*formatted) != cs::csl::ast::print(*tree)) __builtin_trap();
    if (cs::csl::format(result, twice, {width}) != text) __builtin_trap();
  }
  return 0;
}
