// One write() per line, on a file that is opened to append.
#include "tools/tune/log_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "runtime/support/files.h"

namespace cs::tune {

namespace {

class LogFile : public api::TuneLog {
 public:
  explicit LogFile(int fd) : fd_(fd) {}
  ~LogFile() override { close(fd_); }
  void add(const std::string& line) override {
    // A log that has no room is no reason to stop measuring.
    [[maybe_unused]] const bool written = write_whole(fd_, line + "\n");
  }

 private:
  int fd_;
};

}  // namespace

std::unique_ptr<api::TuneLog> open_log(const std::string& path, Diag& diag) {
  const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (fd >= 0) return std::make_unique<LogFile>(fd);
  diag.error_at(path, fmt::format("the log cannot be written: {}", std::strerror(errno)));
  return nullptr;
}

}  // namespace cs::tune
