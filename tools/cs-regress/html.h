// The HTML summary of a suite: one file, no scripts, for a reviewer or a CI page.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace cs {

// `run` is what --json prints: rows with name, ok, message, and any of figures, measured, expect. Columns
// that no row has are left out; failures come first.
std::string html_summary(const std::string& title, const nlohmann::json& run);

}  // namespace cs
