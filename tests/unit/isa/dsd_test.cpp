// Descriptors in memory and configuration words against the layout that dsd.h states.
#include <array>

#include <gtest/gtest.h>

#include "runtime/isa/dsd.h"

namespace cs::isa {
namespace {

Dsd through_memory(const Dsd& d) {
  std::array<uint16_t, 10> words{};
  encode(d, words);
  return decode(words);
}

TEST(Dsd, mem1d_words) {
  Dsd d;
  d.kind = DsdKind::mem1d;
  d.base = 0x1234;
  d.extent[0] = 100;
  d.stride[0] = -3;
  std::array<uint16_t, 4> words{};
  encode(d, words);
  EXPECT_EQ(words, (std::array<uint16_t, 4>{1, 0x1234, 100, 0xFFFD}));
  EXPECT_EQ(decode(words), d);
  EXPECT_EQ(d.elements(), 100u);
}

TEST(Dsd, mem4d_words) {
  Dsd d;
  d.kind = DsdKind::mem4d;
  d.base = 64;
  d.extent = {2, 3, 4, 5};
  d.stride = {-1, 2, -3, 4};
  std::array<uint16_t, 10> words{};
  encode(d, words);
  EXPECT_EQ(words, (std::array<uint16_t, 10>{2, 64, 2, 3, 4, 5, 0xFFFF, 2, 0xFFFD, 4}));
  EXPECT_EQ(decode(words), d);
  EXPECT_EQ(d.elements(), 120u);
  EXPECT_EQ(decode(std::span(words).first(4)).kind, DsdKind::none) << "too few words";
}

TEST(Dsd, fabout_words) {
  Dsd d;
  d.kind = DsdKind::fabout;
  d.queue = 3;
  d.color = 17;
  d.control = d.advance_switch = true;
  d.extent[0] = 9;
  d.microthread = 5;
  d.priority = 2;
  d.simd = SimdMode::simd_64;
  d.indexed = true;
  d.zero = 2;
  std::array<uint16_t, 4> words{};
  encode(d, words);
  // kind 4 | queue 3 << 4 | color 17 << 8 | control << 13 | advance << 14 | color given << 15
  EXPECT_EQ(words[0], 4 | 3 << 4 | 17 << 8 | 1 << 13 | 1 << 14 | 1 << 15);
  // simd 3 | priority 2 << 3 | ut given << 5 | ut 5 << 6 | indexed << 9 | second source << 10
  EXPECT_EQ(words[1], 3 | 2 << 3 | 1 << 5 | 5 << 6 | 1 << 9 | 2 << 10);
  EXPECT_EQ(words[2], 9);
  EXPECT_EQ(decode(words), d);
}

TEST(Dsd, fabin_round_trips_over_queues_and_microthreads) {
  for (int queue = 0; queue < 8; ++queue)
    for (int ut = -1; ut < 8; ++ut) {
      Dsd d;
      d.kind = DsdKind::fabin;
      d.queue = uint8_t(queue);
      d.microthread = int8_t(ut);
      d.extent[0] = 0xFFFF;
      d.control_transform = ut % 2 == 0;
      EXPECT_EQ(through_memory(d), d);
      EXPECT_EQ(through_memory(d).color, kQueueColor);
    }
}

TEST(Dsd, unknown_kind_is_none) {
  const std::array<uint16_t, 4> words{9, 1, 2, 3};
  EXPECT_EQ(decode(words), Dsd{});
}

TEST(DsrConfig, every_word_is_one_configuration) {
  uint32_t word = 1;
  for (int i = 0; i < 200000; ++i) {
    word = word * 1664525u + 1013904223u;
    const DsrConfig c = decode_config(int32_t(word));
    ASSERT_EQ(uint32_t(encode(c)), word);
    const auto back = parse_config(print(c));
    ASSERT_TRUE(back.has_value()) << print(c);
    ASSERT_EQ(*back, c) << print(c);
  }
}

TEST(DsrConfig, default_is_zero_and_prints_nothing) {
  EXPECT_EQ(encode(DsrConfig{}), 0);
  EXPECT_EQ(print(DsrConfig{}), "");
  DsrConfig c;
  c.async = true;
  c.activate = 0;
  c.on_control = DsrConfig::OnControl::activate;
  c.on_control_task = 12;
  EXPECT_EQ(print(c), "async activate=0 on_control=activate on_control_task=12");
  EXPECT_FALSE(parse_config("activate=127").has_value());
  EXPECT_FALSE(parse_config("async=1").has_value());
}

}  // namespace
}  // namespace cs::isa
