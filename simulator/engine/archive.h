// StateWriter and StateReader: the state of a simulation as bytes, and back.
//
// One routine per struct says what it has, for both directions (state_fields.h): archive(first, second, ...). Bytes do
// not depend on the computer: numbers are in LEB128 (seven bits at a time, low ones first), signed ones as zigzag,
// 64-bit ones plus 1, so that kNever takes one byte, floating point as its eight bytes, little-endian.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace cs::sim {

class StateWriter {
 public:
  static constexpr bool kReads = false;
  // Gets the bytes in order, some at a time.
  using Sink = std::function<void(std::string_view)>;
  explicit StateWriter(Sink sink) : sink_(std::move(sink)) {}
  ~StateWriter() { flush(); }
  StateWriter(const StateWriter&) = delete;
  StateWriter& operator=(const StateWriter&) = delete;

  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  // An index into something that has `limit` of them; a reader refuses others.
  template <class T>
  void below(const T& value, uint64_t /*limit*/) {
    put(value);
  }
  // How many of something follow, each of at least one byte.
  void size(const size_t& n) { number(n); }
  void raw(std::span<const uint8_t> bytes) {
    buffer_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (buffer_.size() > kBuffer) flush();
  }
  void flush() {
    if (!buffer_.empty()) sink_(buffer_);
    buffer_.clear();
  }

 private:
  static constexpr size_t kBuffer = 1 << 20;

  void number(uint64_t v) {
    for (; v >= 0x80; v >>= 7) buffer_ += char(v | 0x80);
    buffer_ += char(v);
    if (buffer_.size() > kBuffer) flush();
  }
  template <class T>
  void put(const T& v) {
    if constexpr (std::is_same_v<T, double>) {
      const uint64_t bits = std::bit_cast<uint64_t>(v);
      for (int i = 0; i < 8; ++i) buffer_ += char(bits >> (8 * i));
    } else if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>) {
      number(uint64_t(v));
    } else if constexpr (std::unsigned_integral<T>) {
      number(sizeof v == 8 ? uint64_t(v) + 1 : uint64_t(v));
    } else if constexpr (std::signed_integral<T>) {
      number(uint64_t(v) << 1 ^ uint64_t(int64_t(v) >> 63));
    } else {
      state(*this, const_cast<T&>(v));
    }
  }
  void put(const std::string& s) {
    number(s.size());
    raw({reinterpret_cast<const uint8_t*>(s.data()), s.size()});
  }
  template <class T, size_t N>
  void put(const std::array<T, N>& all) {
    for (const T& v : all) put(v);
  }
  template <class T>
  void put(const std::vector<T>& all) {
    number(all.size());
    for (const T& v : all) put(v);
  }

  Sink sink_;
  std::string buffer_;
};

// Bytes that are not a state make ok() false for good; what is read then is zero.
class StateReader {
 public:
  static constexpr bool kReads = true;
  explicit StateReader(std::string_view bytes) : rest_(bytes) {}

  bool ok() const { return ok_; }
  bool done() const { return ok_ && rest_.empty(); }
  std::string_view rest() const { return rest_; }
  size_t left() const { return rest_.size(); }
  void fail() {
    ok_ = false;
    rest_ = {};
  }

  template <class... T>
  void operator()(T&... values) {
    (take(values), ...);
  }
  template <class T>
  void below(T& value, uint64_t limit) {
    take(value);
    if (uint64_t(value) < limit) return;
    value = T{};
    fail();
  }
  void raw(std::span<uint8_t> bytes) {
    if (bytes.size() > rest_.size()) return fail();
    if (!bytes.empty()) std::memcpy(bytes.data(), rest_.data(), bytes.size());
    rest_.remove_prefix(bytes.size());
  }
  void size(size_t& n) { n = count(); }

 private:
  size_t count() {
    const uint64_t n = number();
    if (n > rest_.size()) fail();
    return ok_ ? size_t(n) : 0;
  }
  uint64_t number() {
    uint64_t v = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (rest_.empty()) break;
      const uint8_t byte = uint8_t(rest_[0]);
      rest_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      v |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80) return v;
    }
    fail();
    return 0;
  }
  template <class T>
  void take(T& v) {
    if constexpr (std::is_same_v<T, double>) {
      std::array<uint8_t, 8> bytes{};
      raw(bytes);
      uint64_t bits = 0;
      for (size_t i = 0; i < 8; ++i) bits |= uint64_t(bytes[i]) << (8 * i);
      v = std::bit_cast<double>(bits);
    } else if constexpr (std::is_enum_v<T> || std::is_same_v<T, bool>) {
      fit(v, number());
    } else if constexpr (std::unsigned_integral<T>) {
      fit(v, sizeof v == 8 ? number() - uint64_t(ok_) : number());
    } else if constexpr (std::signed_integral<T>) {
      const uint64_t n = number();
      const int64_t value = int64_t(n >> 1 ^ (0 - (n & 1)));
      v = T(value);
      if (v != value) fail();
    } else {
      state(*this, v);
    }
  }
  template <class T>
  void fit(T& v, uint64_t n) {
    v = T(n);
    if (uint64_t(v) != n) fail();
  }
  void take(std::string& s) {
    s.assign(count(), '\0');
    raw({reinterpret_cast<uint8_t*>(s.data()), s.size()});
  }
  template <class T, size_t N>
  void take(std::array<T, N>& all) {
    for (T& v : all) take(v);
  }
  template <class T>
  void take(std::vector<T>& all) {
    const size_t n = count();
    all.clear();
    all.reserve(std::min<size_t>(n, 1 << 16));
    for (size_t i = 0; i < n && ok_; ++i) take(all.emplace_back());
  }

  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace cs::sim
