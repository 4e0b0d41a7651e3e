// What cores hold in few bytes says the same as what it stands for.
#include <gtest/gtest.h>

#include <random>

#include "simulator/engine/pe.h"

namespace cs::sim {
namespace {

TEST(CompactState, descriptors_come_back) {
  std::mt19937 rng(1);
  std::array<int, int(isa::DsdKind::circbuf) + 1> kinds{};
  for (int i = 0; i < 20000; ++i) {
    std::array<uint16_t, isa::kDsdWords> words{};
    for (uint16_t& w : words) w = uint16_t(rng());
    words[0] = uint16_t((words[0] & ~15) | rng() % kinds.size());
    isa::Dsd dsd = isa::decode(words);
    ++kinds[size_t(dsd.kind)];
    EXPECT_EQ(PackedDsd(dsd).unpacked(), dsd);
    // What programs change in place.
    PackedDsd packed(dsd);
    packed.base = dsd.base = uint16_t(rng());
    packed.length = dsd.extent[0] = uint16_t(rng());
    EXPECT_EQ(packed.unpacked(), dsd);
  }
  for (size_t kind = 0; kind < kinds.size(); ++kind) EXPECT_GT(kinds[kind], 100) << kind;
  EXPECT_EQ(PackedDsd().unpacked(), isa::Dsd{});
}

// Against whole cycles: whoever asks at a cycle t gets the same answer, however long ago a register was written.
TEST(CompactState, results_are_ready_when_they_are) {
  std::mt19937_64 rng(2);
  ResultTimes times;
  std::array<Cycle, widths::kRegisters> whole{};
  Cycle latest = 0, t = 0;
  int late = 0;
  for (int i = 0; i < 300'000; ++i) {
    const Cycle gaps[] = {1, 1, 1, 3, 200, 32'768, 65'536, 65'535, 98'304, Cycle(1) << 32, Cycle(1) << 40};
    t += gaps[rng() % (i % 50 == 0 ? 11 : 5)] + rng() % 2;
    const Cycle condition = rng() % 4;
    for (size_t r = 0; r < whole.size(); ++r) {
      // As Core::registers_ready asks.
      const Cycle want = std::max(t, whole[r] + condition);
      const Cycle got = times.latest() + condition > t ? std::max(t, times.of(r) + condition) : t;
      ASSERT_EQ(got, want) << "register " << r << " at " << t;
      late += want > t;
    }
    const uint32_t registers = uint32_t(1) << rng() % 3 * 5 << rng() % 8;
    const Cycle ready = t + (rng() % 100 == 0 ? ResultTimes::kMostLatency : rng() % 20);
    times.set(registers, ready);
    for (size_t r = 0; r < whole.size(); ++r)
      if (registers >> r & 1) whole[r] = ready;
    latest = std::max(latest, ready);
    ASSERT_EQ(times.latest(), latest);
  }
  EXPECT_GT(late, 1000);
}

}  // namespace
}  // namespace cs::sim
