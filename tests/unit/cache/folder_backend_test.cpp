// Entries in a folder: many writers, killed writers, limits.
#include "tools/cache/folder_backend.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include <fmt/format.h>

#include "runtime/support/files.h"
#include "runtime/support/rng.h"

namespace cs::cache {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

Key key(int i) { return {Space::programs, wide_hash_text(std::to_string(i))}; }

class FolderCache : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::string(CS_BINARY_DIR) + "/unit_cache/" +
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Puts i, used at second `at` of 1970.
  void put(FolderBackend& cache, int i, size_t bytes, int64_t at) {
    std::string why;
    ASSERT_TRUE(cache.put(key(i), std::string(bytes, 'x'), why)) << why;
    for (const FolderBackend::Row& row : cache.list()) {
      if (row.key != key(i)) continue;
      const timespec times[2] = {{at, 0}, {at, 0}};
      utimensat(AT_FDCWD, row.path.c_str(), times, 0);
    }
  }
  static std::vector<int> left(const FolderBackend& cache, int of) {
    std::vector<int> found;
    for (int i = 0; i < of; ++i)
      for (const FolderBackend::Row& row : cache.list())
        if (row.key == key(i)) found.push_back(i);
    return found;
  }
  std::string folder_;
};

TEST_F(FolderCache, GivesBackWhatWasPut) {
  FolderBackend cache(folder_, 0);
  std::string why, bytes;
  EXPECT_EQ(cache.get(key(1), bytes, why), Answer::missing);
  ASSERT_TRUE(cache.put(key(1), "first", why)) << why;
  ASSERT_TRUE(cache.put(key(1), "second", why)) << why;
  EXPECT_EQ(cache.get(key(1), bytes, why), Answer::found);
  EXPECT_EQ(bytes, "second");
  const std::string digest = key(1).digest;
  EXPECT_TRUE(fs::exists(folder_ + "/programs/" + digest.substr(0, 2) + "/" + digest.substr(2)));
  EXPECT_TRUE(fs::exists(folder_ + "/CACHEDIR.TAG"));
  EXPECT_TRUE(fs::is_empty(folder_ + "/tmp"));
  cache.drop(key(1));
  EXPECT_EQ(cache.get(key(1), bytes, why), Answer::missing);
}

TEST_F(FolderCache, WhatWasUsedLongestAgoGoes) {
  FolderBackend all(folder_, 0);
  for (int i = 0; i < 4; ++i) put(all, i, 100, 1000 + i);
  std::string bytes, why;
  ASSERT_EQ(all.get(key(0), bytes, why), Answer::found);  // used now
  // 500 bytes are more than 450: room is made down to nine tenths of that, 405, which is four entries.
  FolderBackend cache(folder_, 450);
  put(cache, 4, 100, now_ns() / 1'000'000'000);
  EXPECT_EQ(left(cache, 5), (std::vector<int>{0, 2, 3, 4}));
  EXPECT_EQ(cache.evictions(), 1u);
}

TEST_F(FolderCache, PruningLeavesAtMostWhatWasAskedFor) {
  FolderBackend cache(folder_, 0);
  for (int i = 0; i < 5; ++i) put(cache, i, 100, 1000 + i);
  EXPECT_EQ(cache.prune(250).entries, 3u);
  EXPECT_EQ(left(cache, 5), (std::vector<int>{3, 4}));
  EXPECT_EQ(cache.prune(UINT64_MAX, 1004 * int64_t(1'000'000'000)).entries, 1u);
  EXPECT_EQ(left(cache, 5), (std::vector<int>{4}));
  EXPECT_EQ(cache.prune(0).bytes, 100u);
  EXPECT_TRUE(cache.list().empty());
}

TEST_F(FolderCache, AnEntryLargerThanTheLimitIsNotKept) {
  FolderBackend cache(folder_, 50);
  std::string why;
  EXPECT_FALSE(cache.put(key(1), std::string(51, 'x'), why));
  EXPECT_EQ(why, "the entry has 51 bytes, the cache may have 50");
}

TEST_F(FolderCache, FilesOfOthersAreNeitherEntriesNorRemoved) {
  FolderBackend cache(folder_, 0);
  put(cache, 1, 10, 1000);
  const std::vector<std::string> others{"notes.txt", "programs/ab/notes", "programs/readme", "tmp/what"};
  for (const std::string& name : others) {
    fs::create_directories(fs::path(folder_ + "/" + name).parent_path());
    std::ofstream(folder_ + "/" + name) << "mine";
  }
  EXPECT_EQ(cache.list().size(), 1u);
  cache.prune(0);
  for (const std::string& name : others) EXPECT_TRUE(fs::exists(folder_ + "/" + name)) << name;
}

TEST_F(FolderCache, AFolderThatIsNoneIsAFailureWithItsReason) {
  std::ofstream(folder_) << "a file";
  FolderBackend cache(folder_, 0);
  std::string why, bytes;
  EXPECT_EQ(cache.get(key(1), bytes, why), Answer::missing);
  EXPECT_FALSE(cache.put(key(1), "x", why));
  EXPECT_THAT(why, HasSubstr(folder_));
}

// Each thread reads what the others write, the same keys again and again, while one prunes.
TEST_F(FolderCache, ReadersSeeWholeEntriesAlone) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      FolderBackend cache(folder_, t == 0 ? 100'000 : 0);
      std::string why, bytes, ignored;
      for (int i = 0; i < 100; ++i) {
        const Key one = key(i % 7);
        const std::string value(size_t(1000 + 5000 * ((i + t) % 5)), char('a' + t));
        EXPECT_TRUE(cache.put(one, seal(one, "", value), why)) << why;
        const bool found = cache.get(one, bytes, why) == Answer::found;
        EXPECT_TRUE(!found || unseal(one, bytes, ignored)) << ignored;
      }
    });
  for (std::thread& t : threads) t.join();
  for (const FolderBackend::Row& row : FolderBackend(folder_, 0).list()) {
    Diag diag;
    std::string why;
    EXPECT_TRUE(unseal(row.key, read_file(row.path, diag).value_or(""), why)) << why;
  }
}

// A process that does nothing but put, killed at some moment: what has a name is whole. WAFERSMITH_KILLS=200
// for more.
TEST_F(FolderCache, AKilledWriterLeavesWholeEntriesAlone) {
  const char* given = std::getenv("WAFERSMITH_KILLS");
  const int kills = given != nullptr ? std::atoi(given) : 20;
  Rng random(7);
  uint64_t temporaries = 0;
  // Large, and sealed beforehand: nearly all the time goes into writing.
  std::vector<std::pair<Key, std::string>> entries;
  for (int i = 0; i < 4; ++i)
    entries.emplace_back(key(i), seal(key(i), "", std::string(8'000'000, char('a' + i))));
  for (int kill_number = 0; kill_number < kills; ++kill_number) {
    const pid_t child = fork();
    if (child == 0) {
      FolderBackend cache(folder_, 0);
      std::string why;
      for (size_t i = 0;; ++i) cache.put(entries[i % 4].first, entries[i % 4].second, why);
    }
    ASSERT_GT(child, 0);
    // However slow the machine is: the first one is not killed before it has written anything.
    while (FolderBackend(folder_, 0).list().empty()) usleep(1'000);
    usleep(5'000 + random.below(30'000));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    FolderBackend cache(folder_, 0);
    for (const FolderBackend::Row& row : cache.list()) {
      Diag diag;
      std::string why;
      EXPECT_TRUE(unseal(row.key, read_file(row.path, diag).value_or(""), why)) << row.path << ": " << why;
    }
    temporaries += cache.prune(UINT64_MAX).temporaries;
    EXPECT_TRUE(!fs::exists(folder_ + "/tmp") || fs::is_empty(folder_ + "/tmp"));
  }
  EXPECT_GT(temporaries, 0u) << "no writer was killed while it wrote";
}

}  // namespace
}  // namespace cs::cache
