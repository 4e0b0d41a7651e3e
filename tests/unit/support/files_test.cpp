// Atomic files and folders, hashes, the generator.
#include "runtime/support/files.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "runtime/support/rng.h"

namespace cs {
namespace {

namespace fs = std::filesystem;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    dir_ = fs::path(::testing::TempDir()) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(dir_);
    fs::create_directories(dir_);
  }
  void TearDown() override { fs::remove_all(dir_); }
  std::string path(const std::string& name) const { return (dir_ / name).string(); }
  size_t entries() const {
    return size_t(std::distance(fs::directory_iterator(dir_), fs::directory_iterator()));
  }
  fs::path dir_;
};

TEST_F(Files, AtomicWriteReplacesAndLeavesNothingElse) {
  Diag diag;
  EXPECT_TRUE(write_file_atomic(path("f"), "one", diag));
  EXPECT_TRUE(write_file_atomic(path("f"), std::string_view("t\0wo", 4), diag));
  EXPECT_EQ(read_file(path("f"), diag), std::string("t\0wo", 4));
  EXPECT_EQ(entries(), 1u);
  EXPECT_TRUE(diag.ok());
}

TEST_F(Files, ProblemsAreDiagnostics) {
  Diag diag;
  EXPECT_FALSE(read_file(path("missing"), diag));
  EXPECT_FALSE(read_file(dir_.string(), diag));
  EXPECT_FALSE(write_file_atomic(path("no/such/folder"), "x", diag));
  EXPECT_TRUE(write_file_atomic(path("long"), "0123456789", diag));
  EXPECT_FALSE(read_file(path("long"), diag, 9));
  EXPECT_EQ(diag.errors(), 4u);
}

TEST_F(Files, AFolderAppearsWholeOrNotAtAll) {
  Diag diag;
  {
    FolderWriter out(path("p.csp"), diag);
    ASSERT_TRUE(out.valid());
    EXPECT_TRUE(out.write("a", "1"));
    EXPECT_FALSE(fs::exists(path("p.csp")));
  }
  EXPECT_EQ(entries(), 0u);
  for (const char* text : {"1", "2"}) {
    FolderWriter out(path("p.csp/"), diag);
    EXPECT_TRUE(out.write("a", text));
    EXPECT_TRUE(out.commit());
    EXPECT_EQ(read_file(path("p.csp/a"), diag), text);
  }
  EXPECT_EQ(entries(), 1u);
}

// No process has this id: it is beyond the kernel's limit of 2^22.
TEST_F(Files, WhatADeadToolLeftIsRemovedOrMovedBack) {
  Diag diag;
  for (const char* left : {"f.tmp999999999-0", "f.tmp999999999-1.vcd", "f.tmp", "f.tmp1-x", "g.tmp999999999-0"})
    ASSERT_TRUE(write_file_atomic(path(left), "left", diag));
  EXPECT_TRUE(write_file_atomic(path("f"), "new", diag));
  EXPECT_FALSE(fs::exists(path("f.tmp999999999-0")) || fs::exists(path("f.tmp999999999-1.vcd")));
  EXPECT_TRUE(fs::exists(path("f.tmp")) && fs::exists(path("f.tmp1-x")) && fs::exists(path("g.tmp999999999-0")));
  // Killed between the two renames of a folder that could not be exchanged: the next writer moves the old one back.
  fs::create_directories(path("p.csp.tmp999999999-0.old"));
  { FolderWriter out(path("p.csp"), diag); }
  EXPECT_TRUE(fs::is_directory(path("p.csp")));
}

TEST_F(Files, ALinkToAResultStaysALink) {
  Diag diag;
  ASSERT_TRUE(write_file_atomic(path("real"), "1", diag));
  fs::create_symlink("real", path("link"));
  ASSERT_TRUE(write_file_atomic(path("link"), "2", diag));
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(read_file(path("real"), diag), "2");
}

TEST(Hash, IsTheXxh3OfTheReferenceImplementation) {
  EXPECT_EQ(hash_text(""), "2d06800538d394c2");  // XXH3_64bits of the empty input, as xxhsum -H3 prints it
  EXPECT_NE(hash_text("a"), hash_text("b"));
}

TEST(Hash, OfNamesHas128Bits) {
  // XXH3_128bits of the empty input, as xxhsum -H2 prints it.
  EXPECT_EQ(wide_hash_text(""), "99aa06d3014798d86001c324468d497f");
  EXPECT_NE(wide_hash_text("a"), wide_hash_text("b"));
}

TEST(Hash, OfPartsIsThatOfTheWhole) {
  ContentHash hash;
  hash.add("wafer");
  hash.add("");
  hash.add("smith");
  EXPECT_EQ(hash.text(), hash_text("wafersmith"));
  EXPECT_EQ(hash.wide_text(), wide_hash_text("wafersmith"));
  const std::string more(10'000, 'x');
  hash.add(more);
  EXPECT_EQ(hash.wide_text(), wide_hash_text("wafersmith" + more));
  EXPECT_EQ(ContentHash().text(), "2d06800538d394c2");
}

TEST_F(Files, AFileOfAFolderMayComeInParts) {
  Diag diag;
  FolderWriter out(path("d"), diag);
  ASSERT_TRUE(out.write("a/f", [](const FolderWriter::Take& take) { return take("one") && take("two"); }));
  ASSERT_TRUE(out.commit());
  EXPECT_EQ(read_file(path("d/a/f"), diag), "onetwo");
}

TEST(Rng, IsSplitMix64) {
  Rng r(1234567);  // first values published with the algorithm for this seed
  EXPECT_EQ(r.next(), 6457827717110365317ull);
  EXPECT_EQ(r.next(), 3203168211198807973ull);
  EXPECT_EQ(r.next(), 9817491932198370423ull);
  for (int i = 0; i < 1000; ++i) {
    const float u = r.uniform();
    EXPECT_GE(u, 0.0f);
    EXPECT_LT(u, 1.0f);
    EXPECT_LT(r.below(7), 7u);
  }
}

TEST(Version, NamesTheToolAndTheProject) {
  EXPECT_EQ(version_string("cs-sim"), "cs-sim " + version() + " (Wafersmith)");
}

}  // namespace
}  // namespace cs
