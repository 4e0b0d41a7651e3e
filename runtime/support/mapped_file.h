// A file in memory that is not read: its pages come when somebody looks at them, and belong to the system's cache.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "runtime/support/diag.h"

namespace cs {

class MappedFile {
 public:
  // Null, with the reason or reported, if there is no such file or it cannot be mapped. Of an empty file nothing is
  // mapped.
  static std::shared_ptr<const MappedFile> open(const std::string& path, std::string& why);
  static std::shared_ptr<const MappedFile> open(const std::string& path, Diag&);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::span<const uint8_t> bytes() const { return {data_, size_}; }
  // Pages that were looked at need not stay.
  void let_go() const;

  // The file that these bytes are a part of, so that who needs them for longer keeps it; null: they are of none.
  static std::shared_ptr<const MappedFile> of(std::span<const uint8_t>);

 private:
  MappedFile(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  const uint8_t* data_;
  size_t size_;
};

}  // namespace cs
