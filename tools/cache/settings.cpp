// Flags, environment, and which backends they are.
#include "tools/cache/settings.h"

#include <cmath>
#include <cstdlib>

#include <fmt/format.h>

#include "tools/cache/folder_backend.h"
#include "tools/cache/redis_backend.h"

namespace cs::cache {
namespace {

constexpr const char* kSize = "5G";

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_url(const std::string& text) {
  return text.find("://") != std::string::npos || text.starts_with("redis");
}

}  // namespace

void declare_cache_flags(CLI::App& app, Settings& s) {
  const char* group = "Cache of compiled programs (off without one of these)";
  app.add_option("--cache-dir,--cache", s.dir,
                 "Folder that keeps what was compiled (else WAFERSMITH_CACHE_DIR)")
      ->group(group)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--remote-cache", s.remote,
                 "Cache that others share: dir:FOLDER, redis://HOST[:PORT][/DB] or redis+unix:PATH (else "
                 "WAFERSMITH_REMOTE_CACHE)")
      ->group(group)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--cache-size", s.size,
                 "Most bytes in the folder, as 500M or 5G (else WAFERSMITH_CACHE_SIZE); 0: no limit")
      ->group(group)
      ->default_str(kSize)
      ->check([](const std::string& text) {
        return parse_size(text) ? std::string() : fmt::format("'{}' is no size such as 500M or 5G", text);
      })
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_flag("--no-cache", s.off, "No cache, whatever the environment says")->group(group);
}

void add_environment(Settings& s) {
  if (s.dir.empty()) s.dir = environment("WAFERSMITH_CACHE_DIR");
  if (s.remote.empty()) s.remote = environment("WAFERSMITH_REMOTE_CACHE");
  if (s.size.empty()) s.size = environment("WAFERSMITH_CACHE_SIZE");
}

std::optional<uint64_t> parse_size(const std::string& text) {
  char* end = nullptr;
  const double number = std::strtod(text.c_str(), &end);
  std::string unit(end);
  if (text.empty() || end == text.c_str() || !std::isfinite(number) || number < 0) return std::nullopt;
  if (unit.ends_with('B')) unit.pop_back();
  const bool binary = unit.ends_with('i');
  if (binary) unit.pop_back();
  const size_t power = unit.empty() ? 0 : std::string("kMGT").find(unit == "K" ? "k" : unit) + 1;
  if (unit.size() > 1 || (!unit.empty() && power == 0) || (binary && unit.empty())) return std::nullopt;
  const double bytes = number * std::pow(binary ? 1024.0 : 1000.0, double(power));
  return bytes < 9e18 ? std::optional(uint64_t(bytes)) : std::nullopt;
}

std::string folder_of(const std::string& text) { return text.starts_with("dir:") ? text.substr(4) : text; }

std::unique_ptr<Cache> open_cache(const Settings& given, std::string& why) {
  if (given.off) return nullptr;
  Settings s = given;
  add_environment(s);
  if (s.dir.empty() && s.remote.empty()) return nullptr;
  const std::optional<uint64_t> size = parse_size(s.size.empty() ? kSize : s.size);
  if (!size) {
    why = fmt::format("WAFERSMITH_CACHE_SIZE is '{}', which is no size such as 500M or 5G", s.size);
    return nullptr;
  }
  auto cache = std::make_unique<Cache>();
  if (is_url(s.dir)) {
    why = fmt::format("--cache-dir takes a folder, not '{}': that is for --remote-cache", s.dir);
    return nullptr;
  }
  if (!s.dir.empty()) cache->add_local(std::make_unique<FolderBackend>(folder_of(s.dir), *size));
  if (s.remote.starts_with("redis")) {
    const std::optional<RedisAddress> address = redis_address(s.remote, why);
    if (!address) {
      why = fmt::format("--remote-cache {}: {}", s.remote, why);
      return nullptr;
    }
    cache->add_remote(redis_backend(*address));
  } else if (is_url(s.remote)) {
    why = fmt::format("--remote-cache takes dir:FOLDER, redis://HOST:PORT/DB or redis+unix:PATH, not '{}'",
                      s.remote);
    return nullptr;
  } else if (!s.remote.empty()) {
    cache->add_remote(std::make_unique<FolderBackend>(folder_of(s.remote), 0));  // its owner prunes it
  }
  return cache;
}

}  // namespace cs::cache
