// One text for all tools that take them.
#include "tools/cli/counts.h"

#include <CLI/CLI.hpp>
#include <charconv>

#include <fmt/format.h>

#include "compiler/passes/shards.h"
#include "runtime/program/host_part.h"

namespace cs::cli {

namespace {

std::string count_of_text(const char* option, int64_t most, const std::string& text) {
  if (text == "auto") return "0";
  int64_t count = 0;
  const char* last = text.data() + text.size();
  const auto [end, error] = std::from_chars(text.data(), last, count);
  if (error == std::errc{} && end == last && count >= 1 && count <= most) return text;
  throw CLI::ValidationError(option, fmt::format("'{}' is neither auto nor a number from 1 to {}", text, most));
}

}  // namespace

std::string copies_of_text(const std::string& text) { return count_of_text("--copies", kMostCopies, text); }
std::string shards_of_text(const std::string& text) { return count_of_text("--shards", passes::kMostShards, text); }

}  // namespace cs::cli
