// Files and folders as tools need them: read whole, write atomically, hash; and the version every tool prints.
//
// Atomic: the text goes to a temporary name in the same folder and is renamed when complete (temporaries.h), so that an
// interrupted tool never leaves half a file, and a reader never sees one.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "runtime/support/diag.h"
#include "runtime/support/temporaries.h"

namespace cs {

// The whole file as bytes; reports a missing or unreadable file, or one larger than `max_bytes`.
std::optional<std::string> read_file(const std::string& path, Diag&, uint64_t max_bytes = uint64_t(1) << 34);
// To an open file, however many writes that takes; false, with errno, if one fails.
bool write_whole(int fd, std::string_view bytes);
bool write_file_atomic(const std::string& path, std::string_view bytes, Diag&);

// A folder that appears complete or not at all:
//   FolderWriter out("net.csp", diag);  out.write("a/b.txt", text);  out.commit();
// Without commit the temporary folder is removed. An existing folder of that name is replaced.
class FolderWriter {
 public:
  FolderWriter(const std::string& folder, Diag&);
  bool valid() const { return valid_; }
  bool write(const std::string& name, std::string_view bytes);
  // `source` hands the bytes over, some at a time, and ends where it is told false.
  using Take = std::function<bool(std::string_view)>;
  bool write(const std::string& name, const std::function<bool(const Take&)>& source);
  bool commit();

 private:
  std::string name_;
  Temporary temporary_;
  Diag& diag_;
  bool valid_ = false, committed_ = false;
};

// As the other one, with bytes that come one part after another.
bool write_file_atomic(const std::string& path, const std::function<bool(const FolderWriter::Take&)>& source, Diag&);

// Content hashes (XXH3, 64 bits); stable over machines and versions of the tools.
uint64_t hash_bytes(std::string_view bytes);
std::string hash_text(std::string_view bytes);   // 16 hexadecimal digits
// The same of bytes that come one part after another.
class ContentHash {
 public:
  ContentHash();
  ~ContentHash();
  void add(std::string_view bytes);
  std::string text() const;
  std::string wide_text() const;  // wide_hash_text of them all

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// 128 bits of the same family (XXH3): names for contents of which no two may meet.
std::string wide_hash_text(std::string_view bytes);  // 32 hexadecimal digits

// "0.1.0", and "cs-sim 0.1.0 (Wafersmith)" for --version.
std::string version();
std::string version_string(std::string_view tool);

}  // namespace cs
