// Whole-file reading, atomic writing by rename (temporaries.h), content hashes, version.
#include "runtime/support/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
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

bool write_whole(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = write(fd, bytes.data(), std::min<size_t>(bytes.size(), size_t(1) << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return false;
    bytes.remove_prefix(size_t(n));
  }
  return true;
}

namespace {

bool cannot_write(const std::string& path, int error, Diag& diag) {
  diag.error_at(path, fmt::format("cannot be written: {}", std::strerror(error)),
                "check that the folder exists, may be written and has room");
  return false;
}

// Messages name `path`, the name that the user knows.
bool write_parts(const std::string& file, const std::function<bool(const FolderWriter::Take&)>& source,
                 const std::string& path, Diag& diag) {
  const int fd = open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return cannot_write(path, errno, diag);
  int error = 0;
  source([&](std::string_view bytes) {
    if (!write_whole(fd, bytes)) error = errno;
    return error == 0;
  });
  if (close(fd) != 0 && error == 0) return cannot_write(path, errno, diag);
  return error == 0 || cannot_write(path, error, diag);
}

}  // namespace

bool write_file_atomic(const std::string& path, std::string_view bytes, Diag& diag) {
  return write_file_atomic(path, [&](const FolderWriter::Take& take) { return take(bytes); }, diag);
}

bool write_file_atomic(const std::string& path, const std::function<bool(const FolderWriter::Take&)>& source,
                       Diag& diag) {
  std::error_code ec;
  const bool device = fs::exists(path, ec) && !fs::is_regular_file(path, ec);  // /dev/stdout
  if (device) return write_parts(path, source, path, diag);
  Temporary temporary(path);
  if (!write_parts(temporary.path(), source, path, diag)) return false;
  std::string why;
  if (temporary.put_in_place(why)) return true;
  diag.error_at(path, "cannot be written: " + why);
  return false;
}

FolderWriter::FolderWriter(const std::string& folder, Diag& diag) : name_(folder), temporary_(folder), diag_(diag) {
  std::error_code ec;
  valid_ = fs::create_directories(temporary_.path(), ec) && !ec;
  if (!valid_) diag_.error_at(name_, fmt::format("the folder cannot be made: {}", ec.message()));
}

bool FolderWriter::write(const std::string& name, std::string_view bytes) {
  return write(name, [&](const Take& take) { return take(bytes); });
}

bool FolderWriter::write(const std::string& name, const std::function<bool(const Take&)>& source) {
  const fs::path inside = fs::path(temporary_.path()) / name;
  std::error_code ec;
  if (valid_) fs::create_directories(inside.parent_path(), ec);
  return valid_ && write_parts(inside.string(), source, (fs::path(name_) / name).string(), diag_);
}

bool FolderWriter::commit() {
  if (!valid_ || committed_) return false;
  std::string why;
  committed_ = temporary_.put_in_place(why);
  if (!committed_) diag_.error_at(name_, "the folder cannot be put in place: " + why);
  return committed_;
}

uint64_t hash_bytes(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }
std::string hash_text(std::string_view bytes) { return fmt::format("{:016x}", hash_bytes(bytes)); }

struct ContentHash::State {
  XXH3_state_t xxh;
};

ContentHash::ContentHash() : state_(std::make_unique<State>()) { XXH3_64bits_reset(&state_->xxh); }
ContentHash::~ContentHash() = default;
void ContentHash::add(std::string_view bytes) { XXH3_64bits_update(&state_->xxh, bytes.data(), bytes.size()); }
std::string ContentHash::text() const { return fmt::format("{:016x}", XXH3_64bits_digest(&state_->xxh)); }

namespace {
std::string wide(XXH128_hash_t hash) { return fmt::format("{:016x}{:016x}", hash.high64, hash.low64); }
}  // namespace

std::string wide_hash_text(std::string_view bytes) { return wide(XXH3_128bits(bytes.data(), bytes.size())); }
// The state of both widths is the same (xxhash.h).
std::string ContentHash::wide_text() const { return wide(XXH3_128bits_digest(&state_->xxh)); }

std::string version() { return CS_VERSION; }
std::string version_string(std::string_view tool) { return fmt::format("{} {} (Wafersmith)", tool, CS_VERSION); }

}  // namespace cs
