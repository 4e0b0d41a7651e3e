// The byte form of entries. Every length is checked against what is there before it is used.
#include "tools/cache/entry.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/support/files.h"

namespace cs::cache {
namespace {

constexpr std::string_view kMagic = "WSCACHE1";
constexpr size_t kDigits = 32;
constexpr size_t kHead = kMagic.size() + kDigits;  // what the hash does not cover
constexpr size_t kKey = 1 + kDigits;

void put_text(std::string& to, std::string_view text) {
  for (int byte = 0; byte < 8; ++byte) to += char(uint64_t(text.size()) >> (8 * byte));
  to += text;
}

bool take_text(std::string_view& from, std::string_view& text) {
  if (from.size() < 8) return false;
  uint64_t size = 0;
  for (int byte = 0; byte < 8; ++byte) size |= uint64_t(uint8_t(from[size_t(byte)])) << (8 * byte);
  from.remove_prefix(8);
  if (size > from.size()) return false;
  text = from.substr(0, size);
  from.remove_prefix(size);
  return true;
}

}  // namespace

std::string_view space_name(Space space) { return space == Space::programs ? "programs" : "measurements"; }

bool is_digest(std::string_view text) {
  const auto digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kDigits && std::all_of(text.begin(), text.end(), digit);
}

std::string seal(const Key& key, std::string_view label, std::string_view value) {
  std::string bytes(kMagic);
  bytes.reserve(kHead + kKey + 16 + label.size() + value.size());
  bytes.append(kDigits, '0');
  bytes += char(key.space);
  bytes += key.digest;
  put_text(bytes, label);
  put_text(bytes, value);
  const std::string hash = wide_hash_text(std::string_view(bytes).substr(kHead));
  bytes.replace(kMagic.size(), kDigits, hash);
  return bytes;
}

std::optional<Key> sealed_key(std::string_view bytes) {
  if (bytes.size() < kHead + kKey || !bytes.starts_with(kMagic)) return std::nullopt;
  Key key{Space(bytes[kHead]), std::string(bytes.substr(kHead + 1, kDigits))};
  if (key.space > Space::measurements || !is_digest(key.digest)) return std::nullopt;
  return key;
}

std::optional<Entry> unseal(const Key& key, std::string_view bytes, std::string& why) {
  const auto wrong = [&](std::string what) {
    why = std::move(what);
    return std::nullopt;
  };
  if (!bytes.starts_with(kMagic) || bytes.size() < kHead + kKey)
    return wrong(fmt::format("its {} bytes are no entry of a cache", bytes.size()));
  const std::string_view says = bytes.substr(kMagic.size(), kDigits), body = bytes.substr(kHead);
  if (const std::string is = wide_hash_text(body); is != says)
    return wrong(fmt::format("its content has hash {}, it says {}", is, is_digest(says) ? says : "none"));
  if (sealed_key(bytes) != key) return wrong("it is the entry of another key");
  std::string_view rest = body.substr(kKey), label, value;
  if (!take_text(rest, label) || !take_text(rest, value) || !rest.empty())
    return wrong("its lengths contradict");
  return Entry{std::string(label), std::string(value)};
}

std::string join_parts(const Parts& parts) {
  size_t size = 0;
  for (const auto& [name, bytes] : parts) size += 16 + name.size() + bytes.size();
  std::string all;
  all.reserve(size);
  for (const auto& [name, bytes] : parts) {
    put_text(all, name);
    put_text(all, bytes);
  }
  return all;
}

std::optional<Parts> split_parts(std::string_view bytes) {
  Parts parts;
  std::string_view name, part;
  while (!bytes.empty()) {
    if (!take_text(bytes, name) || !take_text(bytes, part)) return std::nullopt;
    parts.emplace_back(name, part);
  }
  return parts;
}

}  // namespace cs::cache
