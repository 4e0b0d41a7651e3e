// Entries in memory, with switches for what servers and disks do.
#pragma once

#include <map>
#include <string>

#include "tools/cache/backend.h"

namespace cs::cache {

class MemoryBackend : public CacheBackend {
 public:
  std::string name() const override { return "memory"; }
  Answer get(const Key& key, std::string& bytes, std::string& why) override {
    ++gets;
    if (broken) return why = "broken", Answer::failed;
    const auto found = entries.find(path(key));
    if (found == entries.end()) return Answer::missing;
    bytes = found->second;
    return Answer::found;
  }
  bool put(const Key& key, std::string_view bytes, std::string& why) override {
    ++puts;
    if (broken || full) return why = "full", false;
    entries[path(key)] = bytes;
    return true;
  }
  void drop(const Key& key) override { entries.erase(path(key)); }
  bool usable() const override { return !lost; }

  static std::string path(const Key& key) { return std::string(space_name(key.space)) + "/" + key.digest; }

  std::map<std::string, std::string> entries;
  int gets = 0, puts = 0;
  bool broken = false, full = false, lost = false;
};

}  // namespace cs::cache
