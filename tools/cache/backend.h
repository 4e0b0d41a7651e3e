// A place where entries are kept: a folder (folder_backend.h), a server (redis_backend.h). It knows bytes
// under keys and nothing of what they mean; whether they are whole is judged by who reads them (entry.h).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "tools/cache/entry.h"

namespace cs::cache {

enum class Answer : uint8_t {
  found,
  missing,
  failed,  // nobody knows: not reachable, not readable
};

class CacheBackend {
 public:
  virtual ~CacheBackend() = default;
  // As a user knows it: "/shared/cache", "redis://host:6379/0".
  virtual std::string name() const = 0;
  virtual Answer get(const Key&, std::string& bytes, std::string& why) = 0;
  // Takes the place of what is there, in one step: readers get the old bytes or the new ones. False, and
  // `why`, if it is not kept.
  virtual bool put(const Key&, std::string_view bytes, std::string& why) = 0;
  // Forgets the entry; of no effect if there is none.
  virtual void drop(const Key&) = 0;
  // False once there is no use in asking again: everything after that would wait or fail too.
  virtual bool usable() const { return true; }
  // Entries that puts have made room by.
  virtual uint64_t evictions() const { return 0; }
};

}  // namespace cs::cache
