// MIR as text: what passes read and change of one tile program, that is its functions and variables. Queues,
// routes and other settings stand in the Program's text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "compiler/csl/mir.h"

namespace cs::csl::mir {

std::string print(const MirTile&);
// Reads what print wrote; print(read(text)) == text. Reports every line that is wrong.
std::optional<MirTile> read(std::string text, const std::string& path, Diag&);

}  // namespace cs::csl::mir
