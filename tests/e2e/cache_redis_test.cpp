// A Redis server as the second tier: it may be there, stop, be full, be slow or hold nonsense; the program is
// the same.
#include <gmock/gmock.h>

#include <thread>

#include "tests/common/redis_server.h"
#include "tests/e2e/cache_folder.h"

namespace cs::e2e {
namespace {

using ::testing::HasSubstr;

class CacheOnRedis : public CacheFolder {
 protected:
  void SetUp() override {
    CacheFolder::SetUp();
    if (!RedisServer::available()) GTEST_SKIP() << "there is no redis-server (Debian: redis-tools)";
    model_ = graph("net");
    ASSERT_EQ(run("cs-compile", {model_, "--no-advice", "-q", "-o", path("plain.csp")}).exit_code, 0);
    plain_ = contents(path("plain.csp"));
    fs::create_directories(path("server"));
  }
  // With a folder of its own, as on another computer.
  Compiled compile_with(const std::string& url, const std::string& own = "") const {
    std::vector<std::string> args{"--no-advice", "--remote-cache", url};
    if (!own.empty()) args.insert(args.end(), {"--cache-dir", path(own)});
    return compile(model_, args);
  }
  // The program is right, and there is one warning that says this.
  void expect_one_warning(const Compiled& c, const std::string& text) const {
    EXPECT_EQ(c.files, plain_);
    EXPECT_THAT(c.err, HasSubstr(text));
    const std::string warned = "cache cannot be used";
    const size_t at = c.err.find(warned);
    EXPECT_NE(at, std::string::npos) << c.err;
    EXPECT_EQ(c.err.find(warned, at + 1), std::string::npos) << c.err;
  }
  std::string model_;
  std::map<std::string, std::string> plain_;
};

TEST_F(CacheOnRedis, OneComputerCompilesForAll) {
  RedisServer server(path("server"));
  const Compiled a = compile_with(server.url(), "a"), b = compile_with(server.url(), "b"),
                 again = compile_with(server.url(), "b");
  EXPECT_EQ(a.cache["programs"], json({{"local_hits", 0}, {"remote_hits", 0}, {"misses", 1}, {"puts", 1}}));
  EXPECT_EQ(b.cache["programs"], json({{"local_hits", 0}, {"remote_hits", 1}, {"misses", 0}, {"puts", 0}}));
  EXPECT_EQ(again.cache["programs"]["local_hits"], 1);
  for (const Compiled* c : {&a, &b, &again}) {
    EXPECT_EQ(c->files, plain_);
    EXPECT_EQ(c->cache["errors"], 0);
  }
  EXPECT_EQ(compile_with(server.url() + "?db=1").cache["result"], "miss") << "another database";
}

TEST_F(CacheOnRedis, MeasurementsAreSharedToo) {
  RedisServer server(path("server"));
  const std::string network = kSource + "/tests/networks/transformer_encoder_norm_first/model.onnx";
  const Compiled a = compile(network, {"--no-advice", "--no-baselines", "--remote-cache", server.url()});
  const Compiled b =
      compile(network, {"--no-advice", "--no-baselines", "--copies", "1", "--remote-cache", server.url()});
  EXPECT_EQ(b.cache["result"], "miss");
  EXPECT_GT(b.cache["measurements"]["remote_hits"], 0);
  EXPECT_EQ(b.cache["measurements"]["remote_hits"], a.cache["measurements"]["puts"]);
}

TEST_F(CacheOnRedis, AStoppedServerIsOneWarning) {
  RedisServer server(path("server"));
  server.stop();
  expect_one_warning(compile_with(server.url(), "own"), "redis+unix:");
  EXPECT_EQ(compile_with(server.url(), "own").cache["result"], "hit") << "the folder needs no server";
}

TEST_F(CacheOnRedis, AServerThatStopsMeanwhileIsAtMostOneWarning) {
  for (const int milliseconds : {5, 20, 60, 150}) {
    RedisServer server(path("server"));
    std::thread stops([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
      server.stop();
    });
    const Compiled c = compile_with(server.url());
    stops.join();
    EXPECT_EQ(c.files, plain_);
    EXPECT_LE(c.cache["errors"], 1) << "it is not asked again";
  }
}

TEST_F(CacheOnRedis, ASlowServerIsOneWarning) {
  RedisServer server(path("server"));
  server.freeze();
  const Compiled c = compile_with(server.url() + "?timeout=0.1");
  expect_one_warning(c, "no answer within 0.1 s");
  EXPECT_EQ(c.cache["errors"], 1) << "it is not asked again";
}

TEST_F(CacheOnRedis, AFullServerIsOneWarning) {
  RedisServer server(path("server"), {"--maxmemory", "1", "--maxmemory-policy", "noeviction"});
  const Compiled c = compile_with(server.url());
  expect_one_warning(c, "SET: OOM");
  EXPECT_EQ(c.cache["programs"]["puts"], 0);
}

TEST_F(CacheOnRedis, NonsenseIsFoundByItsHash) {
  RedisServer server(path("server"));
  const std::string key = compile_with(server.url()).cache["key"];
  server.command("SETRANGE wafersmith:programs:" + key + " 200 nonsense");
  const Compiled c = compile_with(server.url());
  EXPECT_EQ(c.cache["result"], "miss");
  EXPECT_EQ(c.cache["damaged"], 1);
  EXPECT_EQ(c.files, plain_);
  EXPECT_THAT(c.err, HasSubstr("is damaged: its content has hash"));
  EXPECT_EQ(compile_with(server.url()).cache["result"], "hit");
}

TEST_F(CacheOnRedis, NobodyConnectsWithoutBeingAsked) {
  RedisServer server(path("server"));
  const ChildResult r =
      run_child({"/usr/bin/env", "WAFERSMITH_REMOTE_CACHE=" + server.url(), kBin + "cs-compile", model_,
                 "--no-advice", "--no-cache", "-q", "-o", path("out.csp")},
                kPatience);
  EXPECT_EQ(r.exit_code, 0) << r.err;
  run("cs-compile", {model_, "--no-advice", "-q", "-o", path("out.csp")});
  EXPECT_THAT(server.command("INFO stats"),
              HasSubstr("total_connections_received:2\r\n"));  // PING and this one
}

}  // namespace
}  // namespace cs::e2e
