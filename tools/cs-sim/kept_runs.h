// Runs of other programs that a report needs, each run once: its figures are kept in a JSON file by the
// contents of everything that decides them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "tools/cs-sim/options.h"

namespace cs {

class KeptRuns {
 public:
  KeptRuns(const SimOptions&, std::string file);
  ~KeptRuns();
  KeptRuns(const KeptRuns&) = delete;
  KeptRuns& operator=(const KeptRuns&) = delete;

  // Everything that decides the figures of a program that is run with these arguments: its bytes, the options of
  // the machine, our version. Nothing if it cannot be read.
  std::optional<std::string> key_of(const std::string& program, const std::string& arguments) const;
  // A row that has been kept, or null.
  const nlohmann::json* find(const std::string& key) const;
  const nlohmann::json& keep(const std::string& key, nlohmann::json row);

 private:
  const SimOptions& options_;
  std::string file_;
  nlohmann::json rows_;
  bool changed_ = false;
};

}  // namespace cs
