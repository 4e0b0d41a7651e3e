// posix_spawn with two pipes, drained by poll() so that neither side blocks.
#include "tools/cli/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>

extern char** environ;

namespace cs {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// Children that run now, for stop_children.
std::mutex running_mutex;
std::set<pid_t>& foreign() {
  static std::set<pid_t>* pids = new std::set<pid_t>;
  return *pids;
}
std::set<pid_t>& running() {
  static std::set<pid_t>* pids = new std::set<pid_t>;  // outlives every thread
  return *pids;
}

// Reads what is there; false at end of file.
bool drain(int fd, std::string& into) {
  std::array<char, 65536> buffer;
  const ssize_t n = read(fd, buffer.data(), buffer.size());
  if (n > 0) into.append(buffer.data(), size_t(n));
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

constexpr double kPatience = 3;  // seconds from SIGINT to SIGKILL

void collect(int out_fd, int err_fd, pid_t pid, double timeout, const std::atomic<bool>* stop,
             Clock::time_point start, ChildResult& result) {
  std::optional<Clock::time_point> stopped;
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
    if (stop == nullptr || !*stop) continue;
    if (!stopped)
      kill(pid, SIGINT);
    else if (since(*stopped) > kPatience)
      kill(pid, SIGKILL);
    if (!stopped) stopped = Clock::now();
  }
}

}  // namespace

namespace {

// A child shall die of signals even where this process has blocked them for itself.
struct Attributes {
  posix_spawnattr_t attributes;
  Attributes() {
    sigset_t none, defaults;
    sigemptyset(&none);
    sigemptyset(&defaults);
    for (int signal : {SIGINT, SIGTERM, SIGPIPE}) sigaddset(&defaults, signal);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &defaults);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  }
  ~Attributes() { posix_spawnattr_destroy(&attributes); }
};

// Started and known as running in one step, so that stop_children misses none.
int start_child(pid_t& pid, const std::vector<std::string>& argv, const posix_spawn_file_actions_t& actions) {
  std::vector<char*> args;
  for (const std::string& a : argv) args.push_back(const_cast<char*>(a.c_str()));
  args.push_back(nullptr);
  const Attributes a;
  const std::lock_guard lock(running_mutex);
  const int failed = posix_spawn(&pid, argv[0].c_str(), &actions, &a.attributes, args.data(), environ);
  if (failed == 0) running().insert(pid);
  return failed;
}

int wait_for(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  const std::lock_guard lock(running_mutex);
  running().erase(pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

ChildResult run_child(const std::vector<std::string>& argv, double timeout_seconds,
                      const std::atomic<bool>* stop) {
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
  const auto start = Clock::now();
  pid_t pid = 0;
  const int failed = start_child(pid, argv, actions);
  posix_spawn_file_actions_destroy(&actions);
  close(out[1]);
  close(err[1]);
  if (failed == 0) {
    collect(out[0], err[0], pid, timeout_seconds, stop, start, result);
    result.exit_code = wait_for(pid);
  } else {
    result.err = "cannot start " + argv[0];
  }
  close(out[0]);
  close(err[0]);
  result.seconds = since(start);
  return result;
}

void register_child(int pid) {
  const std::lock_guard lock(running_mutex);
  foreign().insert(pid);
}

void forget_child(int pid) {
  const std::lock_guard lock(running_mutex);
  foreign().erase(pid);
}

void stop_children() {
  running_mutex.lock();  // never given back: no child is started any more
  for (pid_t pid : foreign()) kill(pid, SIGKILL);
  const std::set<pid_t> children = running();
  for (pid_t pid : children) kill(pid, SIGINT);
  const auto start = Clock::now();
  const auto alive = [](pid_t pid) {
    siginfo_t info = {};
    return waitid(P_PID, id_t(pid), &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == 0;
  };
  while (since(start) < kPatience && std::any_of(children.begin(), children.end(), alive)) usleep(10'000);
  for (pid_t pid : children)
    if (alive(pid)) kill(pid, SIGKILL);
}

std::string executable_folder() {
  std::error_code ec;
  const auto path = std::filesystem::read_symlink("/proc/self/exe", ec);
  return ec ? std::string(".") : path.parent_path().string();
}

}  // namespace cs
