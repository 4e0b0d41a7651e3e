// The byte form of entries. Every length is checked against what is there before it is used.
#include "tools/cache/entry.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include <fmt/format.h>

#include "runtime/support/files.h"

namespace cs::cache {
namespace {

constexpr std::string_view kMagic = "WSCACHE1";
constexpr size_t kDigits = 32;
constexpr size_t kHead = kMagic.size() + kDigits;  // what the hash does not cover
constexpr size_t kKey = 1 + kDigits;

void put_size(char* to, uint64_t size) {
  for (int byte = 0; byte < 8; ++byte) to[byte] = char(size >> (8 * byte));
}

void put_text(std::string& to, std::string_view text) {
  to.append(8, '\0');
  put_size(to.data() + to.size() - 8, text.size());
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

Sealing::Sealing(const Key& key, std::string_view label, size_t expected_bytes) : bytes(kMagic) {
  bytes.reserve(kHead + kKey + 16 + label.size() + expected_bytes);
  bytes.append(kDigits, '0');
  bytes += char(key.space);
  bytes += key.digest;
  put_text(bytes, label);
  bytes.append(8, '\0');
  value_at_ = bytes.size();
}

std::string Sealing::finish() && {
  put_size(bytes.data() + value_at_ - 8, bytes.size() - value_at_);
  const std::string hash = wide_hash_text(std::string_view(bytes).substr(kHead));
  bytes.replace(kMagic.size(), kDigits, hash);
  return std::move(bytes);
}

std::string seal(const Key& key, std::string_view label, std::string_view value) {
  Sealing sealing(key, label, value.size());
  sealing.bytes += value;
  return std::move(sealing).finish();
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
  return Entry{label, value};
}

void add_part(std::string& to, std::string_view name, std::string_view bytes) {
  put_text(to, name);
  put_text(to, bytes);
}

bool add_file_part(std::string& to, std::string_view name, const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat is {};
  if (fd < 0 || fstat(fd, &is) != 0 || !S_ISREG(is.st_mode)) {
    if (fd >= 0) close(fd);
    return false;
  }
  put_text(to, name);
  const size_t size = size_t(is.st_size), at = to.size() + 8;
  to.resize(at + size);
  put_size(to.data() + at - 8, size);
  size_t done = 0;
  while (done < size) {
    const ssize_t n = read(fd, to.data() + at + done, size - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    done += size_t(n);
  }
  close(fd);
  return done == size;
}

std::string join_parts(const Parts& parts) {
  std::string all;
  for (const auto& [name, bytes] : parts) add_part(all, name, bytes);
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
