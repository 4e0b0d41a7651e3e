// A cache of results: a folder near by and, behind it, one that others share (a folder or a Redis server).
// What is found in the second is put into the first. No failure of either changes a result: it costs one
// warning, and the work is done.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "runtime/support/diag.h"
#include "tools/cache/backend.h"

namespace cs::cache {

struct Counters {
  uint64_t local_hits = 0, remote_hits = 0, misses = 0, puts = 0;
  uint64_t hits() const { return local_hits + remote_hits; }
};

// What was found; the value lies in the sealed bytes.
class Found {
 public:
  Found(std::string sealed, size_t value_at, size_t value_size, bool remote)
      : at_(value_at), size_(value_size), sealed_(std::move(sealed)), remote_(remote) {}
  std::string_view value() const { return std::string_view(sealed_).substr(at_, size_); }
  const std::string& sealed() const { return sealed_; }
  bool remote() const { return remote_; }  // in the second place

 private:
  size_t at_, size_;
  std::string sealed_;
  bool remote_;
};

class Cache {
 public:
  void add_local(std::unique_ptr<CacheBackend>);
  void add_remote(std::unique_ptr<CacheBackend>);

  // Any thread. A damaged entry is dropped, reported, and counts as missing.
  std::optional<Found> find(const Key&);
  // `label` says to people what the value is. A put counts if any backend keeps it.
  void keep(const Key&, const std::string& label, std::string_view value);
  void keep_sealed(const Key&, std::string_view sealed);
  // An entry that was found but that its reader cannot use after all: it counts as damaged and missing.
  void refuse(const Key&, const std::string& why);

  Counters counters(Space) const;
  uint64_t evictions() const;
  uint64_t errors() const;   // answers and puts that failed
  uint64_t damaged() const;  // entries that were not whole
  // The counters as one JSON object: {"hits", "misses", "puts", "evictions", "damaged", "errors", "programs":
  // {...}, "measurements": {...}}.
  std::string json() const;
  // Moves what went wrong into `diag`, as warnings.
  void report(Diag& diag);

 private:
  struct Tier {
    std::unique_ptr<CacheBackend> backend;
    bool remote = false, warned = false;
  };
  std::optional<Found> find_in(Tier&, const Key&);
  bool put_in(Tier&, const Key&, std::string_view sealed);
  void failed(Tier&, const std::string& why);
  void found_damaged(const Key&, const std::string& where, const std::string& why);

  mutable std::mutex mutex_;
  std::vector<Tier> tiers_;
  std::map<Space, Counters> counters_;
  uint64_t errors_ = 0, damaged_ = 0;
  struct Warning {
    std::string where, message, help;
  };
  std::vector<Warning> warnings_;
};

}  // namespace cs::cache
