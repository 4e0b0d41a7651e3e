// Reads shell scripts as far as a cslc command needs it: words and lines that go on.
#include "tools/lsp/scripts.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "runtime/support/files.h"

namespace cs::lsp {
namespace {

namespace fs = std::filesystem;

std::string joined_lines(std::string text) {
  for (size_t at = 0; (at = text.find("\\\n", at)) != std::string::npos;) text.replace(at, 2, " ");
  return text;
}

void add_params(const std::string& list, Command& out) {
  std::istringstream in(list);
  for (std::string one; std::getline(in, one, ',');) {
    const size_t colon = one.find(':');
    if (colon == std::string::npos) continue;
    std::string value = one.substr(colon + 1);
    std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
    if (value.find('$') == std::string::npos) out.params[one.substr(0, colon)] = value;
  }
}

// The words behind cslc in a line, if it names the layout.
std::optional<Command> read_command(const std::string& line, const std::string& layout) {
  std::istringstream in(line);
  std::string word, flag;
  if (!(in >> word) || !(word == "cslc" || word.ends_with("/cslc"))) return std::nullopt;
  Command out;
  bool named = false;
  while (in >> word) {
    if (!flag.empty()) word = std::exchange(flag, "") + "=" + word;
    if (word == "--params" || word == "--arch") flag = word;
    if (word.starts_with("--params=")) add_params(word.substr(9), out);
    if (word.starts_with("--arch=")) out.machine = word.substr(7);
    named |= fs::path(word).filename() == layout;
  }
  return named ? std::optional(out) : std::nullopt;
}

}  // namespace

Command find_command(const std::string& layout) {
  const fs::path path(layout);
  for (const fs::path& folder : {path.parent_path(), path.parent_path().parent_path()}) {
    std::set<std::string> scripts;
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
      if (it->path().extension() == ".sh") scripts.insert(it->path().generic_string());
    for (const std::string& script : scripts) {
      Diag unread;
      const std::optional<std::string> text = read_file(script, unread, 1 << 20);
      if (!text) continue;
      std::istringstream lines(joined_lines(*text));
      for (std::string line; std::getline(lines, line);)
        if (std::optional<Command> found = read_command(line, path.filename().generic_string()))
          return *found;
    }
  }
  return {};
}

}  // namespace cs::lsp
