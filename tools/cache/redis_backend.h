// Entries on a Redis server, under "wafersmith:SPACE:DIGEST". The server alone decides what it forgets (its
// maxmemory and maxmemory-policy).
//
// Nothing is connected before the first entry is asked for. A server that does not answer in time, or not as
// Redis does, is not asked again.
#pragma once

#include <memory>
#include <optional>

#include "tools/cache/backend.h"

namespace cs::cache {

struct RedisAddress {
  std::string host;    // or
  std::string socket;  // the path of a socket on this computer
  int port = 6379;
  int database = 0;
  std::string password;
  double timeout_seconds = 2;  // for the connection, and then whenever nothing arrives or leaves
};
// redis://[:PASSWORD@]HOST[:PORT][/DATABASE][?timeout=SECONDS], or
// redis+unix:PATH[?db=DATABASE&timeout=SECONDS]. Nothing, and `why`, if it is no such address.
std::optional<RedisAddress> redis_address(const std::string& url, std::string& why);

// A larger entry is not sent: no Redis server takes it (proto-max-bulk-len).
inline constexpr uint64_t kMostRedisBytes = 512u << 20;

std::unique_ptr<CacheBackend> redis_backend(const RedisAddress&);

}  // namespace cs::cache
