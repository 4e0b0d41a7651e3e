// Entries say whether they are whole.
#include "tools/cache/entry.h"

#include <gmock/gmock.h>

#include "runtime/support/files.h"

namespace cs::cache {
namespace {

using ::testing::HasSubstr;

const Key kKey{Space::programs, wide_hash_text("a key")};

// The layout of entry.h, put together by hand.
TEST(CacheEntry, IsWhatItsHeaderSays) {
  const std::string body = std::string(1, '\0') + kKey.digest + std::string("\2\0\0\0\0\0\0\0", 8) + "of" +
                           std::string("\3\0\0\0\0\0\0\0", 8) + "net";
  const std::string sealed = seal(kKey, "of", "net");
  EXPECT_EQ(sealed, "WSCACHE1" + wide_hash_text(body) + body);
  std::string why;
  const auto entry = unseal(kKey, sealed, why);
  ASSERT_TRUE(entry) << why;
  EXPECT_EQ(entry->label, "of");
  EXPECT_EQ(entry->value, "net");
}

// Bit by bit, and a file.
TEST(CacheEntry, MayBePutTogether) {
  const std::string file = std::string(CS_BINARY_DIR) + "/cache_entry_part";
  Diag diag;
  ASSERT_TRUE(write_file_atomic(file, "of a file", diag));
  Sealing sealing(kKey, "label");
  add_part(sealing.bytes, "one", "1");
  EXPECT_TRUE(add_file_part(sealing.bytes, "two", file));
  const Parts parts{{"one", "1"}, {"two", "of a file"}};
  EXPECT_EQ(std::move(sealing).finish(), seal(kKey, "label", join_parts(parts)));
  std::string ignored;
  EXPECT_FALSE(add_file_part(ignored, "three", file + ".none"));
  EXPECT_FALSE(add_file_part(ignored, "three", CS_BINARY_DIR));
  std::remove(file.c_str());
}

TEST(CacheEntry, AnyChangedByteIsFound) {
  const std::string sealed = seal(kKey, "label", "some bytes");
  std::string why;
  for (size_t at = 0; at < sealed.size(); ++at) {
    for (const char flip : {1, -128}) {
      std::string bytes = sealed;
      bytes[at] = char(bytes[at] ^ flip);
      EXPECT_FALSE(unseal(kKey, bytes, why)) << at;
    }
  }
}

TEST(CacheEntry, AnyOtherLengthIsFound) {
  const std::string sealed = seal(kKey, "label", "some bytes");
  std::string why;
  for (size_t size = 0; size < sealed.size(); ++size)
    EXPECT_FALSE(unseal(kKey, sealed.substr(0, size), why)) << size;
  EXPECT_FALSE(unseal(kKey, sealed + '\0', why));
  EXPECT_THAT(why, HasSubstr("has hash"));
}

TEST(CacheEntry, UnderAnotherKeyItIsNone) {
  const std::string sealed = seal(kKey, "label", "some bytes");
  std::string why;
  EXPECT_FALSE(unseal({Space::programs, wide_hash_text("another key")}, sealed, why));
  EXPECT_EQ(why, "it is the entry of another key");
  EXPECT_FALSE(unseal({Space::measurements, kKey.digest}, sealed, why));
  EXPECT_EQ(sealed_key(sealed), kKey);
}

TEST(CacheEntry, PartsKeepNamesAndBytes) {
  const Parts parts{{"a", std::string_view("\0\1\xff", 3)}, {"", ""}, {"out/b", "text"}};
  const std::string bytes = join_parts(parts);
  EXPECT_EQ(split_parts(bytes), parts);
  EXPECT_EQ(split_parts(""), Parts{});
  EXPECT_FALSE(split_parts(bytes.substr(0, bytes.size() - 1)));
  EXPECT_FALSE(split_parts(std::string(8, '\xff')));  // a length beyond everything
}

}  // namespace
}  // namespace cs::cache
