// GET, SET and DEL over hiredis, whose only home this file is.
#include "tools/cache/redis_backend.h"

#include <hiredis/hiredis.h>
#include <signal.h>
#include <sys/time.h>

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <vector>

#include <fmt/format.h>

namespace cs::cache {
namespace {

struct FreeContext {
  void operator()(redisContext* c) const { redisFree(c); }
};
struct FreeReply {
  void operator()(redisReply* r) const { freeReplyObject(r); }
};
using Reply = std::unique_ptr<redisReply, FreeReply>;

timeval interval(double seconds) {
  const double whole = std::floor(seconds);
  return {time_t(whole), suseconds_t((seconds - whole) * 1e6)};
}

class RedisBackend : public CacheBackend {
 public:
  explicit RedisBackend(RedisAddress address) : address_(std::move(address)) {}

  std::string name() const override {
    return address_.socket.empty()
               ? fmt::format("redis://{}:{}/{}", address_.host, address_.port, address_.database)
               : fmt::format("redis+unix:{}?db={}", address_.socket, address_.database);
  }

  Answer get(const Key& key, std::string& bytes, std::string& why) override {
    const std::string name = key_name(key);
    const Reply reply = ask({"GET", name}, why);
    if (!reply) return Answer::failed;
    if (reply->type == REDIS_REPLY_NIL) return Answer::missing;
    if (reply->type != REDIS_REPLY_STRING) return unexpected("GET", *reply, why), Answer::failed;
    bytes.assign(reply->str, reply->len);
    return Answer::found;
  }

  bool put(const Key& key, std::string_view bytes, std::string& why) override {
    if (bytes.size() > kMostRedisBytes) {
      why = fmt::format("the entry has {} bytes, the server takes {}", bytes.size(), kMostRedisBytes);
      return false;
    }
    const std::string name = key_name(key);
    const Reply reply = ask({"SET", name, bytes}, why);
    if (!reply) return false;
    if (reply->type == REDIS_REPLY_STATUS) return true;
    unexpected("SET", *reply, why);
    return false;
  }

  void drop(const Key& key) override {
    std::string ignored;
    ask({"DEL", key_name(key)}, ignored);
  }

  bool usable() const override { return !lost_; }

 private:
  static std::string key_name(const Key& key) {
    return fmt::format("wafersmith:{}:{}", space_name(key.space), key.digest);
  }

  // What the server says that is no answer: full, a password that is wrong, a key of somebody else.
  static void unexpected(const char* command, const redisReply& reply, std::string& why) {
    why = reply.type == REDIS_REPLY_ERROR ? fmt::format("{}: {}", command, std::string(reply.str, reply.len))
                                          : fmt::format("{}: a reply of type {}", command, reply.type);
  }

  // Null, and `why`, where nothing comes back.
  Reply ask(const std::vector<std::string_view>& words, std::string& why) {
    if (!connect(why)) return nullptr;
    std::vector<const char*> texts;
    std::vector<size_t> sizes;
    for (const std::string_view word : words) {
      texts.push_back(word.data());
      sizes.push_back(word.size());
    }
    Reply reply(static_cast<redisReply*>(
        redisCommandArgv(context_.get(), int(words.size()), texts.data(), sizes.data())));
    if (!reply) lose(why);
    return reply;
  }

  bool connect(std::string& why) {
    if (context_) return true;
    if (lost_) {
      why = "the connection was lost";
      return false;
    }
    signal(SIGPIPE, SIG_IGN);  // a server that goes away is an error of the write
    const timeval time = interval(address_.timeout_seconds);
    context_.reset(address_.socket.empty()
                       ? redisConnectWithTimeout(address_.host.c_str(), address_.port, time)
                       : redisConnectUnixWithTimeout(address_.socket.c_str(), time));
    if (!context_ || context_->err != 0) return lose(why), false;
    redisSetTimeout(context_.get(), time);
    if (!address_.password.empty() && !accepts({"AUTH", address_.password}, why)) return false;
    return address_.database == 0 || accepts({"SELECT", std::to_string(address_.database)}, why);
  }

  bool accepts(const std::vector<std::string>& words, std::string& why) {
    const Reply reply = ask({words.begin(), words.end()}, why);
    if (!reply) return false;
    if (reply->type == REDIS_REPLY_STATUS) return true;
    unexpected(words[0].c_str(), *reply, why);
    lost_ = true;
    context_.reset();
    return false;
  }

  void lose(std::string& why) {
    const bool time = context_ && context_->err == REDIS_ERR_IO && (errno == EAGAIN || errno == EWOULDBLOCK);
    why = time       ? fmt::format("no answer within {} s", address_.timeout_seconds)
          : context_ ? std::string(context_->errstr)
                     : "out of memory";
    lost_ = true;
    context_.reset();
  }

  RedisAddress address_;
  std::unique_ptr<redisContext, FreeContext> context_;
  bool lost_ = false;
};

bool number(std::string_view text, int low, int high, int& value) {
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  return read.ec == std::errc() && read.ptr == text.data() + text.size() && value >= low && value <= high;
}

// db=N and timeout=SECONDS behind the question mark.
bool take_query(std::string_view query, RedisAddress& address, std::string& why) {
  while (!query.empty()) {
    const std::string_view item = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), item.size() + 1));
    const std::string_view key = item.substr(0, item.find('=')),
                           value = item.substr(std::min(item.size(), key.size() + 1));
    char* end = nullptr;
    const std::string text(value);
    if (key == "db" && number(value, 0, 1 << 20, address.database)) continue;
    if (key == "timeout") {
      const double seconds = std::strtod(text.c_str(), &end);
      if (!text.empty() && *end == '\0' && seconds >= 0.001 && seconds <= 3600) {
        address.timeout_seconds = seconds;
        continue;
      }
    }
    why = fmt::format("'{}' is neither db=NUMBER nor timeout=SECONDS (0.001 to 3600)", item);
    return false;
  }
  return true;
}

}  // namespace

std::optional<RedisAddress> redis_address(const std::string& url, std::string& why) {
  constexpr std::string_view kNet = "redis://", kUnix = "redis+unix:";
  RedisAddress address;
  const size_t mark = url.find('?');
  std::string_view rest = std::string_view(url).substr(0, mark);
  if (mark != std::string::npos && !take_query(std::string_view(url).substr(mark + 1), address, why))
    return {};
  if (rest.starts_with(kUnix)) {
    rest.remove_prefix(kUnix.size());
    while (rest.starts_with("//")) rest.remove_prefix(1);  // redis+unix:///path
    address.socket = rest;
    if (!address.socket.empty()) return address;
    why = "the path of a socket is missing";
    return {};
  }
  if (!rest.starts_with(kNet)) {
    why = "it begins neither with redis:// nor with redis+unix:";
    return {};
  }
  rest.remove_prefix(kNet.size());
  if (const size_t at = rest.rfind('@'); at != std::string_view::npos) {
    const std::string_view user = rest.substr(0, at);
    address.password = user.substr(user.find(':') == std::string_view::npos ? 0 : user.find(':') + 1);
    rest.remove_prefix(at + 1);
  }
  if (const size_t slash = rest.find('/'); slash != std::string_view::npos) {
    const std::string_view database = rest.substr(slash + 1);
    if (!database.empty() && !number(database, 0, 1 << 20, address.database)) {
      why = fmt::format("'{}' is no number of a database", database);
      return {};
    }
    rest = rest.substr(0, slash);
  }
  const size_t colon = rest.rfind(':');
  if (colon != std::string_view::npos && !rest.ends_with(']')) {
    if (!number(rest.substr(colon + 1), 1, 65535, address.port)) {
      why = fmt::format("'{}' is no port", rest.substr(colon + 1));
      return {};
    }
    rest = rest.substr(0, colon);
  }
  if (rest.starts_with('[') && rest.ends_with(']')) rest = rest.substr(1, rest.size() - 2);  // IPv6
  address.host = rest;
  if (!address.host.empty()) return address;
  why = "the name of a host is missing";
  return {};
}

std::unique_ptr<CacheBackend> redis_backend(const RedisAddress& address) {
  return std::make_unique<RedisBackend>(address);
}

}  // namespace cs::cache
