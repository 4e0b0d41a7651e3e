// Warnings have names: -W NAME, -W no-NAME and -Werror=NAME choose, and every one says its name at its end.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/support/diag.h"

namespace cs::csl {

struct WarningRow {
  std::string_view name, text;
};

// The table that --list-warnings prints.
std::span<const WarningRow> warning_rows();
bool is_warning(std::string_view name);

// What the user chose; an entry is a name, "no-NAME" or "error=NAME" ("error" alone: all of them).
struct WarningChoice {
  std::vector<std::string> entries;
  // Entries that name no warning.
  std::vector<std::string> unknown() const;
};

// The message with its name behind it.
std::string named(std::string_view warning, std::string message);

// Moves what was reported into `to`: each cause once with the number of tile programs that it holds for,
// warnings as chosen, errors before warnings.
void settle(const Diag& from, const WarningChoice& choice, Diag& to);

}  // namespace cs::csl
