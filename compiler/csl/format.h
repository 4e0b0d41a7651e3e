// The formatter of CSL: the same tokens and comments with the white space of docs/csl-style.md.
//
// Where lines break is the author's choice as long as the rules allow it, so laid-out tables stay tables;
// statements begin lines of their own, and a line that is too long is broken. Formatting what was formatted
// changes nothing.
#pragma once

#include <optional>
#include <string>

#include "runtime/support/diag.h"

namespace cs::csl {

struct FormatOptions {
  int width = 120;  // longest line, unless a token or comment alone is longer
};

// Null: the text has syntax errors, which were reported.
std::optional<std::string> format(uint32_t source, Diag&, const FormatOptions& = {});

}  // namespace cs::csl
