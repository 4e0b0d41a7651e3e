// An entry of a cache as bytes that say by themselves whether they are whole: whatever a crash, a disk, a
// server or somebody else made of them is found before anything is read out of them.
//
//   "WSCACHE1"                    8 bytes
//   XXH3-128 of all that follows  32 hexadecimal digits
//   space                         1 byte
//   digest of the key             32 hexadecimal digits, so that an entry under another's name is found too
//   label, value                  each its length (u64, little endian) and so many bytes
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cs::cache {

// What an entry is: keys of different spaces never meet.
enum class Space : uint8_t {
  programs,      // the whole folder that a compilation wrote
  measurements,  // what was found out about one candidate
};
inline constexpr Space kSpaces[] = {Space::programs, Space::measurements};
std::string_view space_name(Space);  // "programs"

struct Key {
  Space space = Space::programs;
  std::string digest;  // 32 hexadecimal digits: wide_hash_text of everything that the value depends on
  bool operator==(const Key&) const = default;
};
bool is_digest(std::string_view);

struct Entry {             // lies in the bytes that were unsealed
  std::string_view label;  // for people who list a cache: "mnist_mlp for wse2"
  std::string_view value;
};

std::string seal(const Key&, std::string_view label, std::string_view value);
// The same of a value that is appended to `bytes` bit by bit, so that what is large is in memory once.
class Sealing {
 public:
  Sealing(const Key&, std::string_view label, size_t expected_bytes = 0);
  std::string bytes;  // append the value to it
  std::string finish() &&;

 private:
  size_t value_at_;
};
// Nothing, and `why`, if it is not what seal() made for this key.
std::optional<Entry> unseal(const Key&, std::string_view bytes, std::string& why);
// The same where the bytes say for which key they are.
std::optional<Key> sealed_key(std::string_view bytes);

// Several byte strings with names as one, and back; nothing if the bytes are no such thing. What was split
// lies in the bytes.
using Parts = std::vector<std::pair<std::string_view, std::string_view>>;
void add_part(std::string& to, std::string_view name, std::string_view bytes);
// A part whose bytes are a file's, which has no more than `bytes`; false if it cannot be read.
bool add_file_part(std::string& to, std::string_view name, const std::string& path);
std::string join_parts(const Parts&);
std::optional<Parts> split_parts(std::string_view bytes);

}  // namespace cs::cache
