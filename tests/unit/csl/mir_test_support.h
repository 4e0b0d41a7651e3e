// MIR from text, and the text after one pass.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "compiler/csl/mir_passes.h"
#include "compiler/csl/mir_text.h"

namespace cs::csl::mir::test {

inline constexpr const char* kGlobals = R"(tile "t"
global0 "x" bytes=32 align=2
global1 "n" bytes=2 align=2
  init 0400
global2 "dsd" bytes=8 align=2 dsd
  init 0100000004000100
  at 2 global0
global3 "hidden" bytes=16 align=2
export "x" global0 mutable
)";

inline MirTile parse(const std::string& text) {
  Diag diag;
  auto tile = read(text, "test.mir", diag);
  EXPECT_TRUE(tile.has_value()) << diag.to_string();
  return tile.value_or(MirTile{});
}

inline std::string refusal(const std::string& text) {
  Diag diag;
  EXPECT_FALSE(read(text, "test.mir", diag).has_value()) << text;
  return diag.to_string();
}

inline Machine machine() {
  Diag diag;
  return load_machine("wse3", diag).value();
}

// The lines of the first function after a pass. `last`: more functions behind it.
inline std::string after(PassFunction pass, const std::string& body, const std::string& last = "") {
  MirTile tile = parse(kGlobals + std::string("launch fn0\nfn0 \"f\" r64 r65 p66\n") + body + last);
  if (tile.functions.empty()) return "";
  const Machine wse3 = machine();  // which the context refers to
  Context c = context_of(tile, wse3);
  Code code = open(tile.functions[0]);
  pass(c, tile.functions[0], code);
  close(std::move(code), tile.functions[0]);
  EXPECT_EQ(verify(tile), "");
  const std::string text = print(tile);
  const size_t first = text.find('\n', text.find("fn0 \"f\"")) + 1, next = text.find("\nfn1");
  return text.substr(first, next == std::string::npos ? next : next + 1 - first);
}

}  // namespace cs::csl::mir::test
