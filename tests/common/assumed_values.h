// The values of a machine file that its comments call assumptions, for tests that hold each to something that
// notices it.
#pragma once

#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include <vector>

#include "runtime/machine/machine.h"
#include "runtime/support/files.h"

namespace cs::test {

struct AssumedValue {
  std::string key;  // core.result_cycles
  double value = 0;
  double doubled() const { return value == 0 ? 1 : 2 * value; }
};

// Keys whose comment holds the word, in the order of the file. In the section `energy` all are.
inline std::vector<AssumedValue> assumptions_of(const std::string& machine) {
  Diag diag;
  const auto text = read_file(machines_directory() + "/" + machine + ".yaml", diag);
  EXPECT_TRUE(text.has_value()) << diag.to_string();
  std::vector<AssumedValue> out;
  std::istringstream in(text.value_or(""));
  std::string section;
  for (std::string line; std::getline(in, line);) {
    const size_t from = line.find_first_not_of(' '), colon = line.find(':');
    if (from == std::string::npos || line[from] == '#' || colon == std::string::npos) continue;
    if (from == 0) {
      section = line.substr(0, colon);
    } else if (section == "energy" || line.find("assumption") != std::string::npos) {
      out.push_back({section + "." + line.substr(from, colon - from), std::stod(line.substr(colon + 1))});
    }
  }
  EXPECT_FALSE(out.empty()) << machine;
  return out;
}

}  // namespace cs::test
