// mmap, and a table of what is mapped.
#include "runtime/support/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>

namespace cs {

namespace {

std::mutex mutex;
// By the first byte.
std::map<const uint8_t*, std::weak_ptr<const MappedFile>>& table() {
  static auto* files = new std::map<const uint8_t*, std::weak_ptr<const MappedFile>>;  // outlives every file
  return *files;
}

}  // namespace

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path, Diag& diag) {
  std::string why;
  auto file = open(path, why);
  if (!file) diag.error_at(path, "cannot be mapped: " + why);
  return file;
}

std::shared_ptr<const MappedFile> MappedFile::open(const std::string& path, std::string& why) {
  const auto fail = [&](int error) {
    why = std::strerror(error);
    return nullptr;
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail(errno);
  struct stat s = {};
  int error = fstat(fd, &s) != 0 ? errno : S_ISREG(s.st_mode) ? 0 : S_ISDIR(s.st_mode) ? EISDIR : EINVAL;
  const auto size = error == 0 ? size_t(s.st_size) : 0;
  void* data = size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  if (data == MAP_FAILED) error = errno;
  ::close(fd);
  if (error != 0) return fail(error);
  const std::shared_ptr<const MappedFile> file(new MappedFile(static_cast<const uint8_t*>(data), size));
  if (size > 0) {
    const std::lock_guard lock(mutex);
    table()[file->data_] = file;
  }
  return file;
}

MappedFile::~MappedFile() {
  if (size_ == 0) return;
  {
    const std::lock_guard lock(mutex);
    table().erase(data_);
  }
  munmap(const_cast<uint8_t*>(data_), size_);
}

void MappedFile::let_go() const {
  if (size_ > 0) madvise(const_cast<uint8_t*>(data_), size_, MADV_DONTNEED);
}

std::shared_ptr<const MappedFile> MappedFile::of(std::span<const uint8_t> bytes) {
  if (bytes.empty()) return nullptr;
  std::shared_ptr<const MappedFile> file;  // gone after the lock, which its end takes
  const std::lock_guard lock(mutex);
  auto next = table().upper_bound(bytes.data());
  if (next == table().begin()) return nullptr;
  file = std::prev(next)->second.lock();
  const bool inside = file && bytes.data() + bytes.size() <= file->data_ + file->size_;
  return inside ? file : nullptr;
}

}  // namespace cs
