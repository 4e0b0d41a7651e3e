// TraceFile: text output that is compressed when its name ends in ".gz", and has its final name only when
// complete.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "runtime/support/diag.h"

namespace cs::sim {

class TraceFile {
 public:
  // Opens PATH.part; ok() is false with a diagnostic if that cannot be written.
  TraceFile(std::string path, Diag&);
  ~TraceFile();  // without commit() the partial file is removed
  TraceFile(const TraceFile&) = delete;
  TraceFile& operator=(const TraceFile&) = delete;

  bool ok() const;
  void write(std::string_view text);
  bool commit();  // closes and renames

 private:
  struct Impl;
  void fail(const std::string& what);

  std::string path_;
  Diag& diag_;
  std::unique_ptr<Impl> impl_;
};

}  // namespace cs::sim
