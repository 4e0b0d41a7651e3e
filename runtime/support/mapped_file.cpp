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

#include <fmt/format.h>

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
  const auto fail = [&] {
    diag.error_at(path, fmt::format("cannot be mapped: {}", std::strerror(errno)));
    return nullptr;
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return fail();
  struct stat s = {};
  const bool known = fstat(fd, &s) == 0 && S_ISREG(s.st_mode);
  const auto size = known ? size_t(s.st_size) : 0;
  void* data = size > 0 ? mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
  ::close(fd);
  if (!known || data == MAP_FAILED) return fail();
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
