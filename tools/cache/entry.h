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

struct Entry {
  std::string label;  // for people who list a cache: "mnist_mlp for wse2"
  std::string value;
};

std::string seal(const Key&, std::string_view label, std::string_view value);
// Nothing, and `why`, if it is not what seal() made for this key.
std::optional<Entry> unseal(const Key&, std::string_view bytes, std::string& why);
// The same where the bytes say for which key they are.
std::optional<Key> sealed_key(std::string_view bytes);

// Several byte strings with names as one, and back; nothing if the bytes are no such thing.
using Parts = std::vector<std::pair<std::string, std::string>>;
std::string join_parts(const Parts&);
std::optional<Parts> split_parts(std::string_view bytes);

}  // namespace cs::cache
