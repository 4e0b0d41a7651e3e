// Which words of a command line belong to the result.
#include "tools/cs-compile/command.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace cs {
namespace {

std::string shell_word(const std::string& word) {
  constexpr const char* kPlain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-";
  if (!word.empty() && word.find_first_not_of(kPlain) == std::string::npos) return word;
  std::string quoted = "'";
  for (char c : word) quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

// Options with a value that are left out, with their short form.
constexpr std::string_view kWithValue[] = {"-o",        "--output",       "-j",
                                           "--threads", "--explain",      "--cache-dir",
                                           "--cache",   "--remote-cache", "--cache-size",
                                           "--autotune-log", "--autotune-workers"};

}  // namespace

std::string bare_command(int argc, char** argv) {
  std::string command = "cs-compile";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (word == "-q" || word == "--quiet" || word == "--json" || word == "--no-cache") continue;
    if (std::find(std::begin(kWithValue), std::end(kWithValue), word) != std::end(kWithValue)) {
      ++i;
      continue;
    }
    const bool joined =
        std::any_of(std::begin(kWithValue), std::end(kWithValue), [&](std::string_view option) {
          const bool is_long = option.starts_with("--");
          return word.starts_with(option) && (!is_long || word.substr(option.size()).starts_with('='));
        });
    if (!joined) command += " " + shell_word(std::string(word));
  }
  return command;
}

}  // namespace cs
