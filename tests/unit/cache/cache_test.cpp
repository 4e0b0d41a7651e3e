// Two tiers, counters, and failures that change nothing but a warning.
#include "tools/cache/cache.h"

#include <gmock/gmock.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "runtime/support/files.h"
#include "tests/unit/cache/memory_backend.h"
#include "tools/cache/redis_backend.h"
#include "tools/cache/settings.h"

namespace cs::cache {
namespace {

using ::testing::HasSubstr;

Key key(const std::string& text, Space space = Space::programs) { return {space, wide_hash_text(text)}; }

std::optional<std::string> found(Cache& cache, const Key& key) {
  const std::optional<Found> one = cache.find(key);
  return one ? std::optional(std::string(one->value())) : std::nullopt;
}

class CacheTiers : public ::testing::Test {
 protected:
  CacheTiers() {
    auto near = std::make_unique<MemoryBackend>(), far = std::make_unique<MemoryBackend>();
    local = near.get(), remote = far.get();
    cache.add_local(std::move(near));
    cache.add_remote(std::move(far));
  }
  std::vector<std::string> warnings() {
    Diag diag;
    cache.report(diag);
    EXPECT_TRUE(diag.ok());
    std::vector<std::string> texts;
    for (const Diagnostic& d : diag.all()) texts.push_back(d.message);
    return texts;
  }
  Cache cache;
  MemoryBackend *local, *remote;
};

TEST_F(CacheTiers, WhatIsKeptIsInBothAndFoundNearBy) {
  EXPECT_FALSE(cache.find(key("a")));
  cache.keep(key("a"), "net", "bytes");
  EXPECT_EQ(found(cache, key("a")), "bytes");
  EXPECT_EQ(local->entries, remote->entries);
  EXPECT_EQ(remote->gets, 1);  // only where it was not near by
  const Counters c = cache.counters(Space::programs);
  EXPECT_EQ(c.local_hits, 1u);
  EXPECT_EQ(c.remote_hits, 0u);
  EXPECT_EQ(c.misses, 1u);
  EXPECT_EQ(c.puts, 1u);
}

TEST_F(CacheTiers, WhatIsFoundFarAwayIsNearByFromThenOn) {
  cache.keep(key("a"), "net", "bytes");
  local->entries.clear();
  EXPECT_EQ(found(cache, key("a")), "bytes");
  EXPECT_EQ(found(cache, key("a")), "bytes");
  EXPECT_EQ(cache.counters(Space::programs).remote_hits, 1u);
  EXPECT_EQ(cache.counters(Space::programs).local_hits, 1u);
  EXPECT_EQ(local->entries, remote->entries);
}

TEST_F(CacheTiers, SpacesHaveKeysAndCountersOfTheirOwn) {
  cache.keep(key("a"), "net", "program");
  EXPECT_FALSE(cache.find(key("a", Space::measurements)));
  cache.keep(key("a", Space::measurements), "trial", "7");
  EXPECT_EQ(found(cache, key("a")), "program");
  EXPECT_EQ(found(cache, key("a", Space::measurements)), "7");
  const auto json = nlohmann::json::parse(cache.json());
  EXPECT_EQ(json["hits"], 2);
  EXPECT_EQ(json["misses"], 1);
  EXPECT_EQ(json["puts"], 2);
  EXPECT_EQ(json["programs"]["local_hits"], 1);
  EXPECT_EQ(json["measurements"]["misses"], 1);
}

TEST_F(CacheTiers, ADamagedEntryIsDroppedWithOneWarningAndFoundElsewhere) {
  cache.keep(key("a"), "net", "bytes");
  local->entries.begin()->second.back() ^= 1;
  EXPECT_EQ(found(cache, key("a")), "bytes");
  EXPECT_EQ(local->entries, remote->entries);  // whole again
  remote->entries.begin()->second.resize(20);
  local->entries.clear();
  EXPECT_FALSE(cache.find(key("a")));
  EXPECT_TRUE(remote->entries.empty());
  EXPECT_EQ(cache.damaged(), 2u);
  EXPECT_THAT(warnings(), testing::ElementsAre(HasSubstr("is damaged: its content has hash"),
                                               HasSubstr("is damaged: its 20 bytes are no entry")));
}

TEST_F(CacheTiers, AFullRemoteIsOneWarning) {
  remote->full = true;
  for (const char* one : {"a", "b", "c"}) cache.keep(key(one), "net", "bytes");
  EXPECT_EQ(local->entries.size(), 3u);
  EXPECT_EQ(cache.counters(Space::programs).puts, 3u);
  EXPECT_EQ(cache.errors(), 3u);
  EXPECT_THAT(warnings(),
              testing::ElementsAre("memory: the remote cache cannot be used: full; the result does not "
                                   "depend on it"));
}

TEST_F(CacheTiers, ALostRemoteIsNotAskedAgain) {
  remote->broken = true;
  EXPECT_FALSE(cache.find(key("a")));
  remote->lost = true;
  for (int i = 0; i < 5; ++i) cache.find(key("b"));
  cache.keep(key("a"), "net", "bytes");
  EXPECT_EQ(remote->gets, 1);
  EXPECT_EQ(remote->puts, 0);
  EXPECT_EQ(warnings().size(), 1u);
}

TEST_F(CacheTiers, ManyThreadsMayAsk) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 100; ++i) {
        const Key one = key(std::to_string(i % 10));
        const std::string value(1000, char('a' + i % 10));
        const auto was = found(cache, one);
        EXPECT_EQ(was.value_or(value), value);
        if (!was) cache.keep(one, std::to_string(t), value);
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(cache.counters(Space::programs).hits() + cache.counters(Space::programs).misses, 400u);
  EXPECT_EQ(local->entries.size(), 10u);
}

TEST(CacheSettings, SizesHaveTheUnitsOfDisks) {
  EXPECT_EQ(parse_size("0"), 0u);
  EXPECT_EQ(parse_size("500M"), 500'000'000u);
  EXPECT_EQ(parse_size("5GB"), 5'000'000'000u);
  EXPECT_EQ(parse_size("1.5Ki"), 1536u);
  EXPECT_EQ(parse_size("2k"), 2000u);
  for (const char* wrong : {"", "G", "-1", "5X", "5GG", "5i", "nan", "1e30"})
    EXPECT_FALSE(parse_size(wrong)) << wrong;
}

TEST(CacheSettings, WithoutAnyThereIsNone) {
  unsetenv("WAFERSMITH_CACHE_DIR");
  unsetenv("WAFERSMITH_REMOTE_CACHE");
  std::string why;
  EXPECT_EQ(open_cache({}, why), nullptr);
  EXPECT_EQ(why, "");
}

TEST(CacheSettings, WhatIsNoPlaceIsRefused) {
  std::string why;
  EXPECT_EQ(open_cache({.dir = "x", .remote = "http://host/"}, why), nullptr);
  EXPECT_THAT(why, HasSubstr("not 'http://host/'"));
  EXPECT_EQ(open_cache({.dir = "redis://host"}, why), nullptr);
  EXPECT_THAT(why, HasSubstr("--cache-dir takes a folder"));
  EXPECT_EQ(open_cache({.remote = "redis://host:70000"}, why), nullptr);
  EXPECT_THAT(why, HasSubstr("'70000' is no port"));
}

TEST(RedisAddress, IsReadFromAUrl) {
  std::string why;
  const auto plain = redis_address("redis://cache.local", why);
  ASSERT_TRUE(plain) << why;
  EXPECT_EQ(plain->host, "cache.local");
  EXPECT_EQ(plain->port, 6379);
  EXPECT_EQ(plain->database, 0);
  const auto all = redis_address("redis://user:se:cret@[::1]:7000/3?timeout=0.25", why);
  ASSERT_TRUE(all) << why;
  EXPECT_EQ(all->host, "::1");
  EXPECT_EQ(all->port, 7000);
  EXPECT_EQ(all->database, 3);
  EXPECT_EQ(all->password, "se:cret");
  EXPECT_DOUBLE_EQ(all->timeout_seconds, 0.25);
  const auto socket = redis_address("redis+unix:/run/redis.sock?db=2", why);
  ASSERT_TRUE(socket) << why;
  EXPECT_EQ(socket->socket, "/run/redis.sock");
  EXPECT_EQ(socket->database, 2);
  for (const char* wrong : {"redis://", "redis://:6379", "redis://host/x", "redis://host?timeout=0",
                            "redis+unix:", "redis://host?size=3", "memcache://host"})
    EXPECT_FALSE(redis_address(wrong, why)) << wrong;
}

}  // namespace
}  // namespace cs::cache
