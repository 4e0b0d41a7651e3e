// Words in messages and files: the nearest known word to a wrong one, and text quoted so that YAML reads it back.
//
// nearest: edit distance with swaps of neighbours, by rows, cut off at a third of the word's length.
#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "runtime/support/yaml.h"

namespace cs {

namespace {

// Edit distance with transpositions of neighbours, as far as `limit`.
size_t edit_distance(const std::string& a, const std::string& b, size_t limit) {
  if (a.size() > b.size() + limit || b.size() > a.size() + limit) return limit + 1;
  std::vector<size_t> before(b.size() + 1), last(b.size() + 1), now(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    now[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before = last;
    last = now;
  }
  return last[b.size()];
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  if (word.empty() || word.size() > 100) return {};
  const size_t limit = std::max<size_t>(1, word.size() / 3);
  size_t best = limit + 1;
  std::string result;
  for (const std::string& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate, limit);
    if (distance < best) {
      best = distance;
      result = candidate;
    }
  }
  return result;
}

std::string yaml_quote(const std::string& s) {
  static const std::set<std::string> reserved = {"null", "Null", "NULL", "true", "false", "yes", "no", "on", "off",
                                                 "True", "False", "Yes", "No", "y", "n", "inf", "nan"};
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  const auto inner = [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '.' || c == '/' || c == '-' || c == '+';
  };
  if (!s.empty() && letter(s[0]) && std::all_of(s.begin(), s.end(), inner) && !reserved.contains(s)) return s;
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace cs
