// TraceFile: output that is written piece by piece, compressed when its name ends in ".gz", and has its final
// name only when complete.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/support/diag.h"

namespace cs::sim {

class TraceFile {
 public:
  // Opens a temporary beside PATH; ok() is false with a diagnostic if that cannot be written.
  TraceFile(std::string path, Diag&);
  ~TraceFile();  // without commit() the partial file is removed
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  bool ok() const;
  void write(std::string_view text);
  uint64_t bytes() const { return bytes_; }  // written so far, before compression
  const std::string& path() const { return path_; }
  bool commit();  // closes and renames

 private:
  struct Impl;
  void fail(const std::string& what);

  std::string path_;
  Diag& diag_;
  uint64_t bytes_ = 0;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cs::sim
