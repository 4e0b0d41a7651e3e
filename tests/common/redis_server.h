// A Redis server of a test's own, at a socket and at a port of this computer alone: started, stopped, and
// gone at the end. Without the program (Debian: redis-tools, where it is called redis-check-rdb, or
// redis-server) available() is false.
#pragma once

#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

namespace cs {

class RedisServer {
 public:
  // `folder` exists. More of the server's own options, as {"--maxmemory", "1mb"}.
  explicit RedisServer(const std::string& folder, std::vector<std::string> options = {})
      // The path of a socket may have 107 bytes: a short one, that only this process has.
      : socket_("/tmp/wafersmith-redis." + std::to_string(getpid()) + "." + std::to_string(count()++)),
        port_(free_port()) {
    std::vector<std::string> words{
        "redis-server", "--port", std::to_string(port_), "--bind",    "127.0.0.1", "--unixsocket", socket_,
        "--save",       "",       "--logfile",           "redis.log", "--dir",     folder};
    words.insert(words.end(), options.begin(), options.end());
    pid_ = fork();
    if (pid_ == 0) {
      std::vector<char*> argv;
      for (std::string& word : words) argv.push_back(word.data());
      argv.push_back(nullptr);
      execv(program().c_str(), argv.data());
      _exit(127);
    }
    for (int i = 0; i < 1000 && !answers(); ++i) usleep(10'000);
  }
  ~RedisServer() {
    stop();
    unlink(socket_.c_str());
  }
  RedisServer(const RedisServer&) = delete;
  RedisServer& operator=(const RedisServer&) = delete;

  static bool available() { return !program().empty(); }
  std::string url() const { return "redis+unix:" + socket_; }
  std::string net_url(const std::string& user = "") const {
    return "redis://" + user + "127.0.0.1:" + std::to_string(port_);
  }
  // Killed, as by a power cut.
  void stop() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  // It lives and answers nothing.
  void freeze() { kill(pid_, SIGSTOP); }
  // Sends one command as its words in one line, returns the first bytes of the reply.
  std::string command(const std::string& line) const {
    const int fd = connection();
    if (fd < 0) return "";
    const std::string text = line + "\r\n";
    char reply[4096] = {};
    ssize_t n = write(fd, text.data(), text.size());
    if (n > 0) n = read(fd, reply, sizeof reply);
    close(fd);
    return n > 0 ? std::string(reply, size_t(n)) : "";
  }

 private:
  static int& count() {
    static int made = 0;
    return made;
  }
  static std::string program() {
    for (const char* path :
         {"/usr/bin/redis-server", "/usr/bin/redis-check-rdb", "/usr/local/bin/redis-server"})
      if (std::filesystem::exists(path)) return path;
    return "";
  }
  int connection() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket_.c_str(), sizeof address.sun_path - 1);
    const int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) return fd;
    close(fd);
    return -1;
  }
  bool answers() const {
    const std::string reply = command("PING");
    return reply == "+PONG\r\n" || reply.starts_with("-NOAUTH");
  }
  static int free_port() {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(fd, reinterpret_cast<sockaddr*>(&address), size) == 0)
      getsockname(fd, reinterpret_cast<sockaddr*>(&address), &size);
    close(fd);
    return ntohs(address.sin_port);
  }

  std::string socket_;
  int port_ = 0;
  pid_t pid_ = -1;
};

}  // namespace cs
