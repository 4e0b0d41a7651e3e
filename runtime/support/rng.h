// A small deterministic random generator (SplitMix64): the same numbers on every machine for one seed.
//
// For test inputs, seeded benches and initial weights; never for anything that decides an order on its own.
#pragma once

#include <cstdint>

namespace cs {

class Rng {
 public:
  explicit constexpr Rng(uint64_t seed) : state_(seed) {}

  constexpr uint64_t next() {
    state_ += 0x9E3779B97F4A7C15ull;
    uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  // Uniform in [0, n); n > 0. The bias of the multiplication is below n / 2^32.
  constexpr uint32_t below(uint32_t n) { return uint32_t(((next() >> 32) * n) >> 32); }
  // Uniform in [0, 1), 24 bits: exact in float.
  constexpr float uniform() { return float(next() >> 40) * (1.0f / 16777216.0f); }
  constexpr float uniform(float low, float high) { return low + (high - low) * uniform(); }

 private:
  uint64_t state_;
};

}  // namespace cs
