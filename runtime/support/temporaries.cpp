// Names are FINAL.tmpPID-N: the process id says whether the one who made it still lives.
//
// A folder replaces another one by exchanging the two names (renameat2). Where the file system cannot, the
// old folder is first moved to FINAL.tmpPID-N.old; should the tool be killed just then, the next one moves it
// back.
#include "runtime/support/temporaries.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace cs {
namespace {

namespace fs = std::filesystem;

std::mutex registry_mutex;
std::set<std::string>& registry() {
  static std::set<std::string>* made = new std::set<std::string>;  // outlives every thread
  return *made;
}

// The result itself, where the name is a link to it.
std::string followed(const std::string& path) {
  fs::path p = path;
  while (!p.has_filename() && p.has_parent_path() && p.parent_path() != p) p = p.parent_path();
  std::error_code ec;
  for (int i = 0; i < 40 && fs::is_symlink(p, ec); ++i) {
    const fs::path target = fs::read_symlink(p, ec);
    p = target.is_absolute() ? target : p.parent_path() / target;
  }
  return p.string();
}

// The process that made a temporary of the result `name`; 0 if `entry` is none.
pid_t maker(const std::string& entry, const std::string& name) {
  const std::string prefix = name + ".tmp";
  if (!entry.starts_with(prefix)) return 0;
  std::string_view rest = std::string_view(entry).substr(prefix.size());
  pid_t pid = 0;
  const auto read = std::from_chars(rest.data(), rest.data() + rest.size(), pid);
  rest.remove_prefix(size_t(read.ptr - rest.data()));
  if (read.ec != std::errc() || pid <= 0 || !rest.starts_with("-")) return 0;
  rest.remove_prefix(1);
  if (rest.ends_with(".old") || rest.ends_with(".vcd")) rest.remove_suffix(4);
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  return !rest.empty() && std::all_of(rest.begin(), rest.end(), digit) ? pid : 0;
}

void remove_stale(const fs::path& result) {
  const fs::path folder = result.has_parent_path() ? result.parent_path() : fs::path(".");
  const std::string name = result.filename().string();
  std::error_code ec;
  std::vector<fs::path> stale;
  for (const auto& entry : fs::directory_iterator(folder, ec)) {
    const pid_t pid = maker(entry.path().filename().string(), name);
    if (pid > 0 && pid != getpid() && kill(pid, 0) != 0 && errno == ESRCH) stale.push_back(entry.path());
  }
  for (const fs::path& path : stale) {
    if (path.extension() == ".old" && !fs::exists(fs::symlink_status(result, ec)))
      fs::rename(path, result, ec);
    else
      fs::remove_all(path, ec);
  }
}

// A power cut after the rename shall not find the name without what it stands for. 0, or errno; some file
// systems find out only here that the disk is full, some cannot do it at all.
int sync_to_disk(const fs::path& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  const int error = fsync(fd) == 0 ? 0 : errno;
  close(fd);
  return error == EINVAL || error == ENOTSUP ? 0 : error;
}

int sync_result(const fs::path& path) {
  std::error_code ec;
  int error = sync_to_disk(path);
  if (!fs::is_directory(path, ec)) return error;
  for (const auto& entry : fs::directory_iterator(path, ec))
    if (entry.is_regular_file(ec) && error == 0) error = sync_to_disk(entry.path());
  return error;
}

// 0, or errno.
int rename_to(const std::string& from, const std::string& to) {
  return std::rename(from.c_str(), to.c_str()) == 0 ? 0 : errno;
}

int replace_folder(const std::string& temporary, const std::string& result) {
  if (renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, result.c_str(), RENAME_EXCHANGE) == 0) return 0;
  const std::string old = temporary + ".old";
  if (const int error = rename_to(result, old); error != 0) return error;
  const int error = rename_to(temporary, result);
  if (error != 0) rename_to(old, result);
  return error;
}

}  // namespace

Temporary::Temporary(const std::string& final_path) : final_(followed(final_path)) {
  static std::atomic<unsigned> made = 0;
  path_ = fmt::format("{}.tmp{}-{}", final_, getpid(), made++);
  remove_stale(final_);
  const std::lock_guard lock(registry_mutex);
  registry().insert(path_);
}

Temporary::~Temporary() {
  std::error_code ec;
  if (!in_place_) fs::remove_all(path_, ec);
  const std::lock_guard lock(registry_mutex);
  registry().erase(path_);
}

bool Temporary::put_in_place(std::string& why) {
  std::error_code ec;
  const bool replaces_folder = fs::is_directory(path_, ec) && fs::is_directory(final_, ec);
  int error = sync_result(path_);
  if (error == 0) error = replaces_folder ? replace_folder(path_, final_) : rename_to(path_, final_);
  if (error != 0) {
    why = std::strerror(error);
    return false;
  }
  in_place_ = true;
  const fs::path folder = fs::path(final_).parent_path();
  sync_to_disk(folder.empty() ? fs::path(".") : folder);
  fs::remove_all(path_, ec);  // what was replaced
  fs::remove_all(path_ + ".old", ec);
  return true;
}

void remove_temporaries() {
  // Never given back: whoever wants to make another one waits until the process ends.
  registry_mutex.lock();
  std::error_code ec;
  for (int attempt = 0; attempt < 50; ++attempt) {
    bool gone = true;
    for (const std::string& path : registry()) {
      fs::remove_all(path, ec);
      gone = gone && !fs::exists(fs::symlink_status(path, ec));
    }
    if (gone) return;
    usleep(10'000);  // a thread was just writing into it
  }
}

}  // namespace cs
