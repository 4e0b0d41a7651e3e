// One text for all tools that take it.
#include "tools/cli/copies.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include <fmt/format.h>

#include "runtime/program/host_part.h"

namespace cs::cli {

std::string copies_of_text(const std::string& text) {
  if (text == "auto") return "0";
  int copies = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, copies);
  if (error == std::errc{} && end == last && copies >= 1 && copies <= kMostCopies) return text;
  throw CLI::ValidationError("--copies",
                             fmt::format("'{}' is neither auto nor a number from 1 to {}", text, kMostCopies));
}

}  // namespace cs::cli
