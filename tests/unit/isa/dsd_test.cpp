// Descriptors in memory and configuration words against the layout that dsd.h states.
#include <array>

#include <gtest/gtest.h>

#include "runtime/isa/dsd.h"
#include "runtime/machine/field_widths.h"

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
  for (int queue = 0; queue < widths::kQueues; ++queue)
    for (int ut = -1; ut < widths::kMicrothreads; ++ut) {
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

// The widest ids: what the fields have room for, beside the bits that narrower ids use.
TEST(Dsd, the_last_color_queue_and_microthread_have_room) {
  Dsd d;
  d.kind = DsdKind::fabout;
  d.queue = 15;
  d.color = 31;
  d.microthread = 15;
  d.extent[0] = 1;
  std::array<uint16_t, 4> words{};
  encode(d, words);
  EXPECT_EQ(words[0], 4 | 15 << 4 | 31 << 8 | 1 << 15);
  // ut given << 5 | lower three bits of 15 << 6 | upper one << 12
  EXPECT_EQ(words[1], 1 << 5 | 7 << 6 | 1 << 12);
  EXPECT_EQ(decode(words), d);
  d.color = kQueueColor;  // no color: bit 15 is clear, whatever stands in the field
  encode(d, words);
  EXPECT_EQ(words[0] >> 15, 0);
  EXPECT_EQ(decode(words).color, kQueueColor);
}

// A ring may end with the address space.
TEST(Dsd, a_ring_at_the_end_of_the_memory) {
  Dsd d;
  d.kind = DsdKind::circbuf;
  d.base = 0xFFF0;
  d.first = 0xFFF0;
  d.end = 0x10000;
  d.extent[0] = 100;
  EXPECT_EQ(through_memory(d), d);
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

TEST(DsrConfig, the_last_microthread_and_task_have_room) {
  DsrConfig c;
  c.async = true;
  c.microthread = 15;
  c.activate = 62;
  c.unblock = 63;
  // 15 + 1 is 0 in the four bits from 17 on and 1 in bit 9
  EXPECT_EQ(uint32_t(encode(c)), 1u | 63u << 3 | 1u << 9 | 64u << 10);
  EXPECT_EQ(decode_config(encode(c)), c);
  EXPECT_EQ(print(c), "async activate=62 unblock=63 ut=15");
  EXPECT_EQ(parse_config(print(c)), c);
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
  EXPECT_FALSE(parse_config("activate=63").has_value());
  EXPECT_FALSE(parse_config("unblock=127").has_value());
  EXPECT_FALSE(parse_config("async=1").has_value());
}

}  // namespace
}  // namespace cs::isa
