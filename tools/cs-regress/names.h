// Lists of names as --group takes them.
#pragma once

#include <set>
#include <sstream>
#include <string>

namespace cs {

// "norm,softmax" -> {"norm", "softmax"}
inline std::set<std::string> split_names(const std::string& list) {
  std::set<std::string> names;
  std::istringstream in(list);
  for (std::string name; std::getline(in, name, ',');)
    if (!name.empty()) names.insert(name);
  return names;
}

}  // namespace cs
