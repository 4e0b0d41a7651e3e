// Lines that begin with `//!`.
#include "tests/csl/directives.h"

#include <gtest/gtest.h>

#include <cstdio>

namespace cs::csl::test {

std::vector<Directive> directives(const std::string& text) {
  std::vector<Directive> out;
  std::istringstream in(text);
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (!line.starts_with("//!")) continue;
    const size_t colon = line.find(':');
    EXPECT_NE(colon, std::string::npos) << "line " << number << ": //! needs `verb: …`";
    if (colon == std::string::npos) continue;
    std::istringstream head(line.substr(3, colon - 3));
    Directive d;
    head >> d.verb >> d.machine;
    d.rest = line.substr(colon + 1);
    d.rest.erase(0, std::min(d.rest.find_first_not_of(' '), d.rest.size()));
    d.line = number;
    out.push_back(d);
  }
  return out;
}

std::vector<Expected> numbers(std::istringstream& in) {
  std::vector<Expected> out;
  for (std::string word; in >> word && word[0] != '#';) {
    Expected e{.text = word};
    const size_t tilde = word.find('~');
    e.value = std::strtod(word.c_str(), nullptr);
    if (tilde != std::string::npos) e.tolerance = std::strtod(word.c_str() + tilde + 1, nullptr);
    out.push_back(e);
  }
  return out;
}

std::string symbol_and_pe(const std::string& word, Coord& pe) {
  const size_t at = word.find('@');
  if (at == std::string::npos) return word;
  EXPECT_EQ(std::sscanf(word.c_str() + at + 1, "%d,%d", &pe.x, &pe.y), 2) << word;
  return word.substr(0, at);
}

std::optional<Published> published(const Directive& d) {
  const size_t equals = d.rest.find('=');
  if (equals == std::string::npos) return std::nullopt;
  std::istringstream head(d.rest.substr(0, equals));
  Published p;
  std::string per;
  if (!(head >> p.value) || (head >> per && (per != "per" || !(head >> p.steps)))) return std::nullopt;
  p.what = d.rest.substr(equals + 1, d.rest.find('#') - equals - 1);
  return p;
}

}  // namespace cs::csl::test
