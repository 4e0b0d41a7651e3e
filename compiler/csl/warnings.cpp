// What is reported for many tile programs is one cause: an entry and what follows it (its notes) are a group,
// groups that say the same of the same place are one.
#include "compiler/csl/warnings.h"

#include <algorithm>
#include <map>
#include <tuple>

#include <fmt/format.h>

namespace cs::csl {
namespace {

constexpr WarningRow kRows[] = {
    {"route-ends", "a route leads to a PE that does not take it; a wavelet on it never arrives"},
    {"queue-shared", "a queue serves several colors (programs of SDK 1.4 and before)"},
    {"queue-color", "a DSD of a module names another color than its queue has, and cannot be used"},
    {"queue-uninitialised", "a queue is used that @initialize_queue never mentions"},
    {"color-on-two-queues", "a color is bound to two input queues"},
    {"access-out-of-array", "a DSD reaches behind the end of its array"},
    {"microthread-shared", "two operations of straight code run on one microthread"},
    {"export-missing", "the layout exports a function that no PE program has"},
    {"export-twice", "a name is exported twice with one type"},
    {"unknown-parameter", "a parameter is given that the module does not declare"},
    {"unused-value", "the result of a statement is not used"},
};

constexpr std::string_view kOpen = " [-W";

std::string_view name_of(const Diagnostic& d) {
  const size_t at = d.message.rfind(kOpen);
  if (at == std::string::npos || !d.message.ends_with(']')) return {};
  return std::string_view(d.message).substr(at + kOpen.size(), d.message.size() - at - kOpen.size() - 1);
}

struct Group {
  std::vector<Diagnostic> list;  // the first one, then its notes
  size_t count = 1;
  bool is_error() const { return list.front().severity == Severity::error; }
};

enum class Level : uint8_t { off, warning, error };

Level level_of(const Diagnostic& d, const WarningChoice& choice) {
  const std::string_view name = name_of(d);
  Level level = Level::warning;
  for (const std::string& entry : choice.entries) {
    if (entry == "no-" + std::string(name)) level = Level::off;
    if (entry == name) level = Level::warning;
    if (entry == "error" || entry == "error=" + std::string(name))
      level = level == Level::off ? level : Level::error;
  }
  return level;
}

std::vector<Group> groups_of(const Diag& from) {
  std::vector<Group> out;
  std::map<std::tuple<int, uint32_t, uint32_t, uint32_t, std::string, std::string>, size_t> known;
  bool joined = false;  // the group before was there already: its notes say nothing new
  for (const Diagnostic& d : from.all()) {
    if (d.severity == Severity::note && !out.empty()) {
      if (!joined) out.back().list.push_back(d);
      continue;
    }
    // At one place a warning is one cause, whichever numbers a tile program puts into its message.
    const std::string_view name = d.severity == Severity::warning && d.loc.valid() ? name_of(d) : "";
    const auto [it, is_new] = known.try_emplace({int(d.severity), d.loc.file, d.loc.line, d.loc.column,
                                                 d.where, name.empty() ? d.message : std::string(name)},
                                                out.size());
    joined = !is_new;
    if (is_new)
      out.push_back({{d}, 1});
    else
      ++out[it->second].count;
  }
  return out;
}

void add(const Group& g, bool as_error, Diag& to) {
  for (const Diagnostic& d : g.list) {
    if (d.severity == Severity::note)
      to.note(d.loc, d.message);
    else if (d.severity == Severity::warning && !as_error)
      to.warning(d.loc, d.message, d.help);
    else if (d.loc.valid())
      to.error(d.loc, d.message, d.help);
    else
      to.error_at(d.where, d.message, d.help);
  }
  if (g.count > 1)
    to.note({}, fmt::format("the same {} times in all, in other tile programs or calls", g.count));
}

}  // namespace

std::span<const WarningRow> warning_rows() { return kRows; }

bool is_warning(std::string_view name) {
  return std::any_of(std::begin(kRows), std::end(kRows), [&](const WarningRow& r) { return r.name == name; });
}

std::vector<std::string> WarningChoice::unknown() const {
  std::vector<std::string> out;
  for (const std::string& entry : entries) {
    std::string_view name = entry;
    if (name == "error") continue;
    if (name.starts_with("error="))
      name.remove_prefix(6);
    else if (name.starts_with("no-"))
      name.remove_prefix(3);
    if (!is_warning(name)) out.emplace_back(name);
  }
  return out;
}

std::string named(std::string_view warning, std::string message) {
  CS_CHECK(is_warning(warning), "a row of the table");
  return std::move(message) + std::string(kOpen) + std::string(warning) + "]";
}

void settle(const Diag& from, const WarningChoice& choice, Diag& to) {
  const std::vector<Group> groups = groups_of(from);
  const auto level = [&](const Group& g) {
    const Diagnostic& d = g.list.front();
    return g.is_error()                      ? Level::error
           : d.severity == Severity::warning ? level_of(d, choice)
                                             : Level::warning;
  };
  for (const Group& g : groups)
    if (level(g) == Level::error) add(g, true, to);
  for (const Group& g : groups)
    if (level(g) == Level::warning) add(g, false, to);
}

}  // namespace cs::csl
