// Files under the two first digits of their digest. Their time of modification is when they were used last.
//
// Nothing is flushed to the disk: what a power cut leaves under a name is found by its hash and dropped.
#include "tools/cache/folder_backend.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <filesystem>

#include <fmt/format.h>

#include "runtime/support/files.h"

namespace cs::cache {
namespace {

namespace fs = std::filesystem;

// A put that has to make room makes some for the next ones too.
constexpr double kRoom = 0.9;
constexpr int64_t kStaleNs = 24 * 3600 * int64_t(1'000'000'000);  // of temporaries of other computers

constexpr const char* kTag =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder is a cache of compiled programs (Wafersmith); cs-cache lists, verifies and prunes it.\n";

std::string host_name() {
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) != 0) return "unknown";
  std::string text(name);
  std::replace(text.begin(), text.end(), '.', '-');
  std::replace(text.begin(), text.end(), '/', '-');
  return text;
}

// 0, or errno. Of a file that grows while it is read: what was there when it was opened.
int read_whole(int fd, std::string& bytes) {
  struct stat is {};
  if (fstat(fd, &is) != 0) return errno;
  if (!S_ISREG(is.st_mode)) return EINVAL;
  bytes.resize(size_t(is.st_size));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = read(fd, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0) break;
    done += size_t(n);
  }
  bytes.resize(done);
  return 0;
}

bool make_folders(const fs::path& folder, std::string& why) {
  std::error_code ec;
  fs::create_directories(folder, ec);
  if (ec) why = fmt::format("{}: {}", folder.string(), ec.message());
  return !ec;
}

int64_t used_ns(const struct stat& is) {
  return int64_t(is.st_mtim.tv_sec) * 1'000'000'000 + is.st_mtim.tv_nsec;
}

}  // namespace

int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

FolderBackend::FolderBackend(std::string folder, uint64_t max_bytes)
    : folder_(std::move(folder)), max_bytes_(max_bytes) {}

std::string FolderBackend::path_of(const Key& key) const {
  return fmt::format("{}/{}/{}/{}", folder_, space_name(key.space), key.digest.substr(0, 2),
                     key.digest.substr(2));
}

Answer FolderBackend::get(const Key& key, std::string& bytes, std::string& why) {
  const int fd = open(path_of(key).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0 && (errno == ENOENT || errno == ENOTDIR)) return Answer::missing;
  const int error = fd < 0 ? errno : read_whole(fd, bytes);
  if (error == 0) futimens(fd, nullptr);  // used now; of no effect where a shared folder may only be read
  if (fd >= 0) close(fd);
  if (error == 0) return Answer::found;
  why = fmt::format("{}: {}", path_of(key), std::strerror(error));
  return Answer::failed;
}

bool FolderBackend::put(const Key& key, std::string_view bytes, std::string& why) {
  static std::atomic<unsigned> made = 0;
  if (max_bytes_ > 0 && bytes.size() > max_bytes_) {
    why = fmt::format("the entry has {} bytes, the cache may have {}", bytes.size(), max_bytes_);
    return false;
  }
  const fs::path path = path_of(key),
                 temporary = fmt::format("{}/tmp/{}.{}.{}", folder_, host_name(), getpid(), made++);
  if (!make_folders(path.parent_path(), why) || !make_folders(temporary.parent_path(), why)) return false;
  const int tag = open((folder_ + "/CACHEDIR.TAG").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  if (tag >= 0) {
    write_whole(tag, kTag);
    close(tag);
  }
  const int fd = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  int error = fd < 0 ? errno : write_whole(fd, bytes) ? 0 : errno;
  if (fd >= 0 && close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && std::rename(temporary.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    why = fmt::format("{}: {}", path.string(), std::strerror(error));
    unlink(temporary.c_str());
    return false;
  }
  if (max_bytes_ > 0) {
    uint64_t all = 0;
    for (const Row& row : list()) all += row.bytes;
    if (all > max_bytes_) evictions_ += prune(uint64_t(kRoom * double(max_bytes_))).entries;
  }
  return true;
}

void FolderBackend::drop(const Key& key) { unlink(path_of(key).c_str()); }

std::vector<FolderBackend::Row> FolderBackend::list() const {
  std::vector<Row> rows;
  std::error_code ec;
  for (const Space space : kSpaces) {
    for (const auto& folder : fs::directory_iterator(fmt::format("{}/{}", folder_, space_name(space)), ec)) {
      for (const auto& file : fs::directory_iterator(folder.path(), ec)) {
        const std::string digest = folder.path().filename().string() + file.path().filename().string();
        struct stat is {};
        if (!is_digest(digest) || stat(file.path().c_str(), &is) != 0 || !S_ISREG(is.st_mode)) continue;
        rows.push_back({{space, digest}, file.path().string(), uint64_t(is.st_size), used_ns(is)});
      }
    }
  }
  std::sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) {
    return a.used_ns != b.used_ns ? a.used_ns > b.used_ns : a.path < b.path;
  });
  return rows;
}

bool FolderBackend::remove(const Row& row) { return unlink(row.path.c_str()) == 0; }

FolderBackend::Pruned FolderBackend::prune(uint64_t max_bytes, int64_t used_before_ns) {
  Pruned gone;
  uint64_t kept = 0;
  for (const Row& row : list()) {
    const bool keep = row.used_ns >= used_before_ns && kept + row.bytes <= max_bytes;
    if (keep) {
      kept += row.bytes;
    } else {
      max_bytes = kept;            // what was used before it goes too
      if (!remove(row)) continue;  // another process was first
      ++gone.entries;
      gone.bytes += row.bytes;
    }
  }
  gone.temporaries = remove_stale_temporaries();
  return gone;
}

// HOST.PID.N of a process that is gone, or of another computer's of yesterday.
uint64_t FolderBackend::remove_stale_temporaries() const {
  uint64_t removed = 0;
  std::error_code ec;
  const std::string here = host_name() + ".";
  for (const auto& file : fs::directory_iterator(folder_ + "/tmp", ec)) {
    const std::string name = file.path().filename().string();
    struct stat is {};
    if (stat(file.path().c_str(), &is) != 0 || !S_ISREG(is.st_mode)) continue;
    bool stale = used_ns(is) + kStaleNs < now_ns();
    pid_t pid = 0;
    if (name.starts_with(here) &&
        std::from_chars(name.data() + here.size(), name.data() + name.size(), pid).ec == std::errc() &&
        pid > 0)
      stale = stale || (kill(pid, 0) != 0 && errno == ESRCH);
    if (stale && unlink(file.path().c_str()) == 0) ++removed;
  }
  return removed;
}

}  // namespace cs::cache
