// One walk for programs that agree in what it asks of them, and none for those that do not.
#include "compiler/csl/walk_alike.h"

#include <gtest/gtest.h>

namespace cs::csl {
namespace {

Machine wse2() {
  Diag diag;
  return load_machine("wse2", diag).value();
}

struct Made {
  int color = 1, words = 20;
  uint8_t priority = 0;
  uint8_t counter = 3;  // the byte at 80, which the code reads
  uint8_t idle = 0;     // the byte at 90, which it does not
};

// A vector received over `color` as often as the byte at 80 says.
TileProgram tile(const Made& m) {
  TileProgram t;
  Diag diag;
  for (const char* text : {"ld8 r1, [80]", "lddds d0, [96], {}", "lds0ds s0_0, [104], {}", "fmovs d0, s0_0",
                           "sub16 r1, r1, 1", "jmpt r1, @1", "yield"}) {
    const auto inst = isa::parse_inst(text, {}, diag);
    EXPECT_TRUE(inst.has_value()) << text << ": " << diag.to_string();
    if (inst) t.code.push_back(*inst);
  }
  isa::Dsd to, from;
  to.kind = isa::DsdKind::mem1d, to.base = 1000, to.extent[0] = uint16_t(m.words);
  from.kind = isa::DsdKind::fabin, from.color = uint8_t(m.color), from.extent[0] = uint16_t(m.words);
  uint16_t at = 96;
  for (const isa::Dsd& d : {to, from}) {
    std::array<uint16_t, isa::kDsdWords> words{};
    isa::encode(d, words);
    Segment s{at, {}};
    for (int k = 0; k < d.bytes() / 2; ++k)
      s.bytes.push_back(uint8_t(words[size_t(k)])), s.bytes.push_back(uint8_t(words[size_t(k)] >> 8));
    t.segments.push_back(s);
    at = uint16_t(at + isa::kDsdBytes);
  }
  t.segments.push_back({80, {m.counter}});
  t.segments.push_back({90, {m.idle}});
  t.sections.push_back({"data", SectionKind::noinit, 1000, 4000});
  t.queues.push_back({false, 0, uint8_t(m.color), m.priority});
  return t;
}

WalkOptions alone(Coord at = {}) {
  WalkOptions options;
  options.entry = 0;
  options.at = at;
  return options;
}

TEST(AlikeWalks, OneForOtherColorsPlacesAndDataThatNothingReads) {
  const Machine machine = wse2();
  AlikeWalks walks(machine);
  const auto first = walks.walk(tile({}), alone());
  EXPECT_TRUE(first->ended);
  EXPECT_EQ(walk_tile(tile({}), machine, alone()).cycles, first->cycles);
  EXPECT_EQ(walks.walk(tile({.color = 9}), alone()), first);
  EXPECT_EQ(walks.walk(tile({.idle = 7}), alone()), first);
  EXPECT_EQ(walks.walk(tile({}), alone({3, 4})), first);
  EXPECT_EQ(walks.walked(), 1u);
}

TEST(AlikeWalks, WhatTheCodeReadsAndQueuesPartThem) {
  const Machine machine = wse2();
  AlikeWalks walks(machine);
  const Made others[] = {{}, {.words = 21}, {.priority = 2}, {.counter = 4}};
  for (const Made& m : others) {
    const auto made = walks.walk(tile(m), alone());
    EXPECT_EQ(made->cycles, walk_tile(tile(m), machine, alone()).cycles);
  }
  EXPECT_EQ(walks.walked(), std::size(others));
  EXPECT_GT(walks.walk(tile({.counter = 4}), alone())->cycles, walks.walk(tile({}), alone())->cycles);
}

TEST(AlikeWalks, CodeThatAsksWhereItIsIsWalkedForEveryPlace) {
  const Machine machine = wse2();
  TileProgram t = tile({});
  Diag diag;
  const auto inst = isa::parse_inst("ldcfg16 r2, coord_x", {}, diag);
  ASSERT_TRUE(inst.has_value()) << diag.to_string();
  t.code.insert(t.code.end() - 1, *inst);
  AlikeWalks walks(machine);
  const auto first = walks.walk(t, alone({1, 1}));
  EXPECT_EQ(walks.walk(t, alone({1, 1})), first);
  EXPECT_NE(walks.walk(t, alone({2, 1})), first);
}

}  // namespace
}  // namespace cs::csl
