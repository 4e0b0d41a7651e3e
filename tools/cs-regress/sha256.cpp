// One block of 64 bytes after the other; the last one or two hold the padding and the length in bits. The
// constants are the first 32 bits of the fractional parts of cube roots (rounds) and square roots (start) of
// the first primes.
#include "tools/cs-regress/sha256.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace cs {
namespace {

using State = std::array<uint32_t, 8>;

struct Tables {
  std::array<uint32_t, 64> rounds{};
  State start{};
};

// 80-bit arithmetic leaves more than the 32 bits that are taken of each root.
Tables make_tables() {
  Tables t;
  int found = 0;
  for (int n = 2; found < 64; ++n) {
    bool prime = true;
    for (int d = 2; d * d <= n; ++d) prime = prime && n % d != 0;
    if (!prime) continue;
    const auto fraction = [](long double x) { return uint32_t((x - std::floor(x)) * 4294967296.0L); };
    t.rounds[size_t(found)] = fraction(std::cbrt((long double)(n)));
    if (found < 8) t.start[size_t(found)] = fraction(std::sqrt((long double)(n)));
    ++found;
  }
  return t;
}

uint32_t word_at(const uint8_t* p) {
  return uint32_t(p[0]) << 24 | uint32_t(p[1]) << 16 | uint32_t(p[2]) << 8 | uint32_t(p[3]);
}

void add_block(State& state, const uint8_t* block, const Tables& tables) {
  std::array<uint32_t, 64> w{};
  for (size_t i = 0; i < 16; ++i) w[i] = word_at(block + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t a = w[i - 15], b = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(a, 7) ^ std::rotr(a, 18) ^ (a >> 3)) + w[i - 7] +
           (std::rotr(b, 17) ^ std::rotr(b, 19) ^ (b >> 10));
  }
  State s = state;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t sum1 = std::rotr(s[4], 6) ^ std::rotr(s[4], 11) ^ std::rotr(s[4], 25);
    const uint32_t choice = (s[4] & s[5]) ^ (~s[4] & s[6]);
    const uint32_t t1 = s[7] + sum1 + choice + tables.rounds[i] + w[i];
    const uint32_t sum0 = std::rotr(s[0], 2) ^ std::rotr(s[0], 13) ^ std::rotr(s[0], 22);
    const uint32_t majority = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
    s = {t1 + sum0 + majority, s[0], s[1], s[2], s[3] + t1, s[4], s[5], s[6]};
  }
  for (size_t i = 0; i < 8; ++i) state[i] += s[i];
}

}  // namespace

std::string sha256_text(std::string_view bytes) {
  static const Tables tables = make_tables();
  State state = tables.start;
  const auto* data = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t at = 0;
  for (; at + 64 <= bytes.size(); at += 64) add_block(state, data + at, tables);
  std::array<uint8_t, 128> tail{};
  const size_t rest = bytes.size() - at, tail_bytes = rest + 9 <= 64 ? 64 : 128;
  if (rest > 0) std::memcpy(tail.data(), data + at, rest);
  tail[rest] = 0x80;
  for (size_t i = 0; i < 8; ++i) tail[tail_bytes - 1 - i] = uint8_t((uint64_t(bytes.size()) * 8) >> (8 * i));
  for (size_t i = 0; i < tail_bytes; i += 64) add_block(state, tail.data() + i, tables);
  std::string out;
  for (const uint32_t word : state) out += fmt::format("{:08x}", word);
  return out;
}

}  // namespace cs
