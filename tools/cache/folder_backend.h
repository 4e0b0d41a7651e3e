// Entries as files of a folder, of one user or shared by many on several computers:
//
//   CACHEDIR.TAG                 for backups, which leave such folders out
//   programs/ab/cdef…            the entry with the digest abcdef…; measurements/ likewise
//   tmp/HOST.PID.N               what is being written; it gets its name when it is whole
//
// Nobody locks anything: an entry appears by a rename, is never changed, and a reader that has it open keeps
// it when it is removed. So any number of processes may read, write and prune at once, and any of them may be
// killed.
#pragma once

#include <optional>
#include <vector>

#include "tools/cache/backend.h"

namespace cs::cache {

class FolderBackend : public CacheBackend {
 public:
  // Beyond `max_bytes` of entries those that were used longest ago go; 0: no limit.
  FolderBackend(std::string folder, uint64_t max_bytes);

  std::string name() const override { return folder_; }
  Answer get(const Key&, std::string& bytes, std::string& why) override;
  bool put(const Key&, std::string_view bytes, std::string& why) override;
  void drop(const Key&) override;
  uint64_t evictions() const override { return evictions_; }

  struct Row {
    Key key;
    std::string path;
    uint64_t bytes = 0;
    int64_t used_ns = 0;  // since 1970: written, or last found
  };
  // All entries, those that were used last first. Other files are not entries and are never touched.
  std::vector<Row> list() const;
  struct Pruned {
    uint64_t entries = 0, bytes = 0, temporaries = 0;
  };
  // Removes entries that were last used before `used_before_ns`, and of the others those that were used
  // longest ago, until `max_bytes` are left at most; and what killed writers left.
  Pruned prune(uint64_t max_bytes, int64_t used_before_ns = 0);
  bool remove(const Row&);

 private:
  std::string path_of(const Key&) const;
  uint64_t remove_stale_temporaries() const;

  std::string folder_;
  uint64_t max_bytes_ = 0, evictions_ = 0;
};

// Now, as Row::used_ns counts.
int64_t now_ns();

}  // namespace cs::cache
