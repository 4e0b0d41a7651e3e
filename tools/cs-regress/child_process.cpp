// posix_spawn with two pipes, drained by poll() so that neither side blocks.
#include "tools/cs-regress/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <filesystem>

extern char** environ;

namespace cs {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Reads what is there; false at end of file.
bool drain(int fd, std::string& into) {
  std::array<char, 65536> buffer;
  const ssize_t n = read(fd, buffer.data(), buffer.size());
  if (n > 0) into.append(buffer.data(), size_t(n));
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

void collect(int out_fd, int err_fd, pid_t pid, double timeout, Clock::time_point start,
             ChildResult& result) {
  std::array<pollfd, 2> fds{pollfd{out_fd, POLLIN, 0}, pollfd{err_fd, POLLIN, 0}};
  int open = 2;
  while (open > 0) {
    poll(fds.data(), fds.size(), 100);
    for (pollfd& p : fds) {
      if (p.fd < 0 || (p.revents & (POLLIN | POLLHUP | POLLERR)) == 0) continue;
      if (!drain(p.fd, p.fd == out_fd ? result.out : result.err)) {
        p.fd = -1;
        --open;
      }
    }
    if (timeout > 0 && !result.timed_out && since(start) > timeout) {
      result.timed_out = true;
      kill(pid, SIGKILL);
    }
  }
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& argv, double timeout_seconds) {
  ChildResult result;
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0) return result;
  if (pipe2(err, O_CLOEXEC) != 0) {
    close(out[0]), close(out[1]);
    return result;
  }
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawn_file_actions_adddup2(&actions, err[1], 2);
  std::vector<char*> args;
  for (const std::string& a : argv) args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  const auto start = Clock::now();
  pid_t pid = 0;
  const int failed = posix_spawn(&pid, argv[0].c_str(), &actions, nullptr, args.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  if (failed == 0) {
    collect(out[0], err[0], pid, timeout_seconds, start, result);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  } else {
    result.err = "cannot start " + argv[0];
  }
  close(out[0]);
  close(err[0]);
  result.seconds = since(start);
  return result;
}

std::string executable_folder() {
  std::error_code ec;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", ec);
  return ec ? std::string(".") : path.parent_path().string();
}

}  // namespace cs
