// The same promises as of a folder, kept by a Redis server; and what becomes of a run when it does not keep
// them.
#include "tools/cache/redis_backend.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "runtime/support/files.h"
#include "tests/common/redis_server.h"
#include "tools/cache/cache.h"

namespace cs::cache {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

const Key kKey{Space::programs, wide_hash_text("a key")};

class RedisCache : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!RedisServer::available()) GTEST_SKIP() << "there is no redis-server (Debian: redis-tools)";
    folder_ = std::string(CS_BINARY_DIR) + "/unit_cache/redis_" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::unique_ptr<CacheBackend> backend(const RedisServer& server, const std::string& more = "") {
    std::string why;
    const auto address = redis_address(server.url() + more, why);
    EXPECT_TRUE(address) << why;
    return redis_backend(*address);
  }
  std::string folder_;
};

TEST_F(RedisCache, GivesBackWhatWasPut) {
  RedisServer server(folder_);
  const auto cache = backend(server);
  std::string why, bytes;
  EXPECT_EQ(cache->get(kKey, bytes, why), Answer::missing) << why;
  const std::string value("two\0\r\nlines\xff", 12);
  ASSERT_TRUE(cache->put(kKey, value, why)) << why;
  EXPECT_EQ(cache->get(kKey, bytes, why), Answer::found) << why;
  EXPECT_EQ(bytes, value);
  EXPECT_EQ(server.command("EXISTS wafersmith:programs:" + kKey.digest), ":1\r\n");
  EXPECT_EQ(backend(server, "?db=1")->get(kKey, bytes, why), Answer::missing);
  cache->drop(kKey);
  EXPECT_EQ(cache->get(kKey, bytes, why), Answer::missing);
}

TEST_F(RedisCache, NothingIsConnectedBeforeItIsAsked) {
  RedisServer server(folder_);
  const auto cache = backend(server);
  EXPECT_THAT(server.command("INFO stats"),
              HasSubstr("total_connections_received:2\r\n"));  // PING and this one
}

TEST_F(RedisCache, AServerThatStopsIsLostAndNotAskedAgain) {
  RedisServer server(folder_);
  const auto cache = backend(server);
  std::string why, bytes;
  ASSERT_TRUE(cache->put(kKey, "x", why)) << why;
  server.stop();
  EXPECT_EQ(cache->get(kKey, bytes, why), Answer::failed);
  EXPECT_FALSE(cache->usable());
  EXPECT_NE(why, "");
}

TEST_F(RedisCache, AServerThatDoesNotAnswerIsLostInTime) {
  RedisServer server(folder_);
  const auto cache = backend(server, "?timeout=0.05");
  std::string why, bytes;
  ASSERT_TRUE(cache->put(kKey, "x", why)) << why;
  server.freeze();
  EXPECT_EQ(cache->get(kKey, bytes, why), Answer::failed);
  EXPECT_EQ(why, "no answer within 0.05 s");
  EXPECT_FALSE(cache->usable());
}

TEST_F(RedisCache, AFullServerRefusesAndIsStillRead) {
  RedisServer server(folder_, {"--maxmemory", "1", "--maxmemory-policy", "noeviction"});
  const auto cache = backend(server);
  std::string why, bytes;
  EXPECT_FALSE(cache->put(kKey, "x", why));
  EXPECT_THAT(why, HasSubstr("SET: OOM"));
  EXPECT_TRUE(cache->usable());
  EXPECT_EQ(cache->get(kKey, bytes, why), Answer::missing);
}

TEST_F(RedisCache, APasswordThatIsWrongIsSaid) {
  RedisServer server(folder_, {"--requirepass", "open"});
  std::string why, bytes;
  const auto without = backend(server);
  EXPECT_EQ(without->get(kKey, bytes, why), Answer::failed);
  EXPECT_THAT(why, HasSubstr("NOAUTH"));
  const auto wrong = redis_backend(*redis_address(server.net_url(":closed@"), why));
  EXPECT_EQ(wrong->get(kKey, bytes, why), Answer::failed);
  EXPECT_THAT(why, HasSubstr("WRONGPASS"));
  EXPECT_FALSE(wrong->usable());
  const auto right = redis_backend(*redis_address(server.net_url(":open@") + "/2", why));
  EXPECT_TRUE(right->put(kKey, "x", why)) << why;
  EXPECT_EQ(right->get(kKey, bytes, why), Answer::found) << why;
}

TEST_F(RedisCache, WhatSomebodyElseWroteUnderAKeyIsDropped) {
  RedisServer server(folder_);
  Cache cache;
  cache.add_remote(backend(server));
  server.command("SET wafersmith:programs:" + kKey.digest + " nonsense");
  EXPECT_FALSE(cache.find(kKey));
  EXPECT_EQ(server.command("EXISTS wafersmith:programs:" + kKey.digest), ":0\r\n");
  server.command("LPUSH wafersmith:programs:" + kKey.digest + " a");  // not even a string
  EXPECT_FALSE(cache.find(kKey));
  Diag diag;
  cache.report(diag);
  ASSERT_EQ(diag.all().size(), 2u);
  EXPECT_THAT(diag.all()[0].message, HasSubstr("is damaged: its 8 bytes are no entry"));
  EXPECT_THAT(diag.all()[1].message, HasSubstr("WRONGTYPE"));
}

}  // namespace
}  // namespace cs::cache
