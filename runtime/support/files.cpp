// Whole-file reading, atomic writing by rename, content hashes, version.
//
// Names of temporaries carry the process id, so that two tools that write the same output do not meet; the rename
// decides who was last.
#include "runtime/support/files.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <fmt/format.h>

namespace cs {

namespace fs = std::filesystem;

std::optional<std::string> read_file(const std::string& path, Diag& diag, uint64_t max_bytes) {
  std::error_code ec;
  if (!fs::exists(path, ec)) {
    diag.error_at(path, "no such file");
    return std::nullopt;
  }
  if (fs::is_directory(path, ec)) {
    diag.error_at(path, "is a folder, not a file");
    return std::nullopt;
  }
  const auto size = fs::file_size(path, ec);
  if (!ec && size > max_bytes) {
    diag.error_at(path, fmt::format("the file has {} bytes, at most {} can be read", size, max_bytes));
    return std::nullopt;
  }
  std::ifstream in(path, std::ios::binary);
  std::string bytes;
  if (in && !ec) {
    bytes.resize(size);
    in.read(bytes.data(), std::streamsize(size));
    bytes.resize(size_t(in.gcount()));
  } else if (in) {  // a pipe: no size is known
    bytes.assign(std::istreambuf_iterator<char>(in), {});
  }
  if (in.bad() || !in.is_open()) {
    diag.error_at(path, fmt::format("cannot be read: {}", std::strerror(errno)));
    return std::nullopt;
  }
  return bytes;
}

static bool write_plain(const std::string& path, std::string_view bytes, Diag& diag) {
  errno = 0;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), std::streamsize(bytes.size()));
  out.close();
  if (out) return true;
  diag.error_at(path, fmt::format("cannot be written: {}", std::strerror(errno)),
                "check that the folder exists, may be written and has room");
  return false;
}

bool write_file_atomic(const std::string& path, std::string_view bytes, Diag& diag) {
  std::error_code ec;
  if (fs::exists(path, ec) && !fs::is_regular_file(path, ec)) return write_plain(path, bytes, diag);  // /dev/stdout
  const std::string temporary = fmt::format("{}.tmp{}", path, getpid());
  if (!write_plain(temporary, bytes, diag)) {
    fs::remove(temporary, ec);
    return false;
  }
  fs::rename(temporary, path, ec);
  if (!ec) return true;
  diag.error_at(path, fmt::format("cannot be written: {}", ec.message()));
  fs::remove(temporary, ec);
  return false;
}

FolderWriter::FolderWriter(std::string folder, Diag& diag) : folder_(std::move(folder)), diag_(diag) {
  while (folder_.size() > 1 && folder_.back() == '/') folder_.pop_back();
  temporary_ = fmt::format("{}.tmp{}", folder_, getpid());
  std::error_code ec;
  fs::remove_all(temporary_, ec);
  valid_ = fs::create_directories(temporary_, ec) && !ec;
  if (!valid_) diag_.error_at(folder_, fmt::format("the folder cannot be made: {}", ec.message()));
}

FolderWriter::~FolderWriter() {
  std::error_code ec;
  if (!committed_) fs::remove_all(temporary_, ec);
}

bool FolderWriter::write(const std::string& name, std::string_view bytes) {
  return valid_ && write_plain(temporary_ + "/" + name, bytes, diag_);
}

bool FolderWriter::commit() {
  if (!valid_ || committed_) return false;
  std::error_code ec;
  const std::string old = temporary_ + ".old";
  const bool replaces = fs::exists(folder_, ec);
  if (replaces) fs::rename(folder_, old, ec);
  if (!ec) fs::rename(temporary_, folder_, ec);
  if (ec) {
    diag_.error_at(folder_, fmt::format("the folder cannot be put in place: {}", ec.message()));
    if (replaces) fs::rename(old, folder_, ec);
    return false;
  }
  committed_ = true;
  if (replaces) fs::remove_all(old, ec);
  return true;
}

uint64_t hash_bytes(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }
std::string hash_text(std::string_view bytes) { return fmt::format("{:016x}", hash_bytes(bytes)); }

std::string version() { return CS_VERSION; }
std::string version_string(std::string_view tool) { return fmt::format("{} {} (Wafersmith)", tool, CS_VERSION); }

}  // namespace cs
