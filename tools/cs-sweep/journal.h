// What is finished of a sweep, a line of JSON per point in OUT/points.jsonl: a sweep that was stopped goes on
// there.
#pragma once

#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "runtime/support/diag.h"

namespace cs::sweep {

class Journal {
 public:
  // Reads what is there; the last line may be half of one. False with a diagnostic if the file cannot be
  // kept.
  bool open(const std::string& path, Diag&);
  const nlohmann::ordered_json* find(const std::string& key) const;
  // On disk when it returns. From any thread.
  bool add(const std::string& key, const nlohmann::ordered_json& row);

 private:
  struct Close {
    void operator()(std::FILE* f) const { std::fclose(f); }
  };
  std::map<std::string, nlohmann::ordered_json> rows_;
  std::unique_ptr<std::FILE, Close> file_;
  std::mutex mutex_;
};

}  // namespace cs::sweep
