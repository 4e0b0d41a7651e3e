// Cycles of a walk against the law of docs/timing.md, worked out by hand beside each program.
#include "compiler/csl/walk.h"

#include <gtest/gtest.h>

namespace cs::csl {
namespace {

Machine wse2() {
  Diag diag;
  return load_machine("wse2", diag).value();
}

isa::Dsd memory(uint16_t base, uint16_t extent) {
  isa::Dsd d;
  d.kind = isa::DsdKind::mem1d;
  d.base = base;
  d.extent[0] = extent;
  return d;
}
isa::Dsd fabric(isa::DsdKind kind, uint16_t extent) {
  isa::Dsd d;
  d.kind = kind;
  d.queue = 0;
  d.color = 1;
  d.extent[0] = extent;
  return d;
}

// Descriptors lie at 96, 104, 112 …; what a program computes with from 1000 on.
TileProgram tile(const std::vector<std::string>& code, const std::vector<isa::Dsd>& descriptors = {}) {
  TileProgram t;
  Diag diag;
  for (const std::string& text : code) {
    const auto inst = isa::parse_inst(text, {}, diag);
    EXPECT_TRUE(inst.has_value()) << text << ": " << diag.to_string();
    if (inst) t.code.push_back(*inst);
  }
  uint16_t at = 96;
  for (const isa::Dsd& d : descriptors) {
    std::array<uint16_t, isa::kDsdWords> words{};
    isa::encode(d, words);
    Segment s;
    s.address = at;
    for (int k = 0; k < d.bytes() / 2; ++k) {
      s.bytes.push_back(uint8_t(words[size_t(k)]));
      s.bytes.push_back(uint8_t(words[size_t(k)] >> 8));
    }
    t.segments.push_back(std::move(s));
    at = uint16_t(at + isa::kDsdBytes);
  }
  t.sections.push_back({"data", SectionKind::noinit, 1000, 4000});
  t.queues.push_back({false, 0, 1, 0});
  return t;
}

Walked alone(const TileProgram& t, std::map<uint32_t, uint32_t> trips = {}) {
  WalkOptions options;
  options.entry = 0;
  options.trips = std::move(trips);
  return walk_tile(t, wse2(), options);
}

// Loads issue at 0, 1, 2, the product when the last register may be used, at 2 + 4. Its elements, one a
// cycle, take 10 to 109; the thread goes on at 109 + 1 - 4 = 106 = n + 6, and the end of the task takes a
// cycle.
TEST(Walk, VectorOnMemoryTakesItsElementsAndSix) {
  const Walked w = alone(tile({"lddds d0, [96], {}", "lds0ds s0_0, [104], {}", "lds1ds s1_0, [112], {}",
                               "fmuls d0, s0_0, s1_0", "yield"},
                              {memory(1000, 100), memory(1400, 100), memory(1804, 100)}));
  EXPECT_EQ(w.cycles, 107u);
  EXPECT_FALSE(w.guessed());
  EXPECT_EQ(w.code[0].cycles, 1u);
  EXPECT_EQ(w.code[3].cycles, 103u);  // three of waiting for the register
  EXPECT_EQ(w.tasks.at(0).datapath, 100u);
}

// 1400 and 1800 are 200 words apart: the same bank modulo 4. Every element takes two cycles.
// The descriptor of its destination is made by the program, two words at a time: literals of 32 bits, of which the
// upper half counts too. Of a hundred elements every one has its cycle.
TEST(Walk, DescriptorsThatAProgramMakesOfPairsAreKnown) {
  std::array<uint16_t, isa::kDsdWords> words{};
  isa::encode(memory(1000, 100), words);
  std::vector<std::string> code;
  for (size_t k = 0; k < words.size(); k += 2) {
    const uint32_t pair = uint32_t(words[k]) | uint32_t(words[k + 1]) << 16;
    code.push_back("imov32 p0, " + std::to_string(pair));
    code.push_back("st32 [" + std::to_string(6000 + 2 * k) + "], p0");
  }
  for (const char* text : {"lddds d0, [6000], {}", "lds0ds s0_0, [96], {}", "lds1ds s1_0, [104], {}",
                           "fmuls d0, s0_0, s1_0", "yield"})
    code.push_back(text);
  const Walked w = alone(tile(code, {memory(1400, 100), memory(1804, 100)}));
  EXPECT_FALSE(w.guessed());
  EXPECT_EQ(w.tasks.at(0).datapath, 100u);
}

TEST(Walk, SourcesInOneBankTakeTwice) {
  const Walked w = alone(tile({"lddds d0, [96], {}", "lds0ds s0_0, [104], {}", "lds1ds s1_0, [112], {}",
                               "fmuls d0, s0_0, s1_0", "yield"},
                              {memory(1000, 100), memory(1400, 100), memory(1800, 100)}));
  EXPECT_EQ(w.cycles, 207u);
}

// Sums take two elements a cycle: 50 of the last group's cycles.
TEST(Walk, GroupsAreAsWideAsTheMnemonic) {
  const Walked w = alone(tile({"lddds d0, [96], {}", "lds0ds s0_0, [104], {}", "lds1ds s1_0, [112], {}",
                               "fadds d0, s0_0, s1_0", "yield"},
                              {memory(1000, 99), memory(1400, 99), memory(1804, 99)}));
  EXPECT_EQ(w.cycles, 57u);
}

// The literal takes two slots, the load issues at 2, the sum at 6, when the register may be used. A running sum
// adds an element every two cycles: 10 to 29. The thread goes on at 29 + 1 - 4 = 26, and ends.
TEST(Walk, SumsIntoARegisterWaitForEachOther) {
  const Walked w = alone(
      tile({"imov32 p0, 0", "lds1ds s1_0, [96], {}", "fadds p0, p0, s1_0", "yield"}, {memory(1000, 10)}));
  EXPECT_EQ(w.cycles, 27u);
}

// A cycle for the counter, then nine rounds of 1 + 3 + 6 (the jump comes 3 cycles after its comparison) and one of
// 1 + 3 + 3, and the end.
TEST(Walk, CountedLoopsGoRoundAsOftenAsTheyDo) {
  const Walked w = alone(tile({"mov16 r0, 0", "add16 r0, r0, 1", "lt16 r1, r0, 10", "jmpt r1, @1", "yield"}));
  EXPECT_EQ(w.cycles, 1u + 9 * 10 + 7 + 1);
  EXPECT_EQ(w.code[1].times, 10u);
  EXPECT_FALSE(w.guessed());
}

// What lies at 1000 is unknown: what may be left out is done, and the branch marked.
TEST(Walk, ABranchOverDataIsNotTakenAndMarked) {
  const TileProgram t = tile({"ld16 r1, [1000]", "jmpf r1, @3", "add16 r2, r1, r1", "yield"});
  const Walked w = alone(t);
  // The load, the jump 3 cycles later and three more, the sum, the end.
  EXPECT_EQ(w.cycles, 3u + 3 + 1 + 1);
  EXPECT_TRUE(w.code[1].marked);
  EXPECT_TRUE(w.guessed());
}

// Of two ways the one with the division: the load and 3 cycles to the jump, six, the division's cycles, the end. By the
// other one it would be three and a sum and a jump over it.
TEST(Walk, OfTwoWaysTheDearerOneIsGone) {
  const TileProgram t =
      tile({"ld16 r1, [1000]", "jmpf r1, @4", "add16 r2, r1, r1", "jmp @5", "div16 r2, r1, 3", "yield"});
  const Walked w = alone(t);
  EXPECT_EQ(w.cycles, 3u + 6 + 50 + 1);
  EXPECT_EQ(w.code[2].times, 0u);
  EXPECT_TRUE(w.code[1].marked);
}

// while (n > 0) n -= 1: 3 + 3 + 1 + 1 + 6 a round as the condition loads anew.
TEST(Walk, ALoopOverDataGoesRoundAsOftenAsOneSays) {
  const TileProgram t =
      tile({"ld16 r1, [1000]", "jmpf r1, @5", "sub16 r1, r1, 1", "st16 [1000], r1", "jmp @0", "yield"});
  const uint64_t round = 3 + 3 + 1 + 1 + 6, leave = 3 + 6, end = 1;
  EXPECT_EQ(alone(t).cycles, round + leave + end);
  EXPECT_EQ(alone(t, {{1, 5}}).cycles, 5 * round + leave + end);
  EXPECT_TRUE(alone(t).code[1].marked);
}

// A task that asks for eight words and multiplies 100 elements, again and again. It asks at 5; words may be
// taken from 9 on, seven of them before the product begins at 16. The eighth comes behind the product, whose
// last element is at 115, at 116; that is completion at 113, and the task starts at 116.
TEST(Walk, APeriodIsFromOneRoundToTheNext) {
  TileProgram t = tile({"lddds d8, [96], {async activate=24}", "lds0ds s0_8, [104], {}", "fmovs d8, s0_8",
                        "lddds d0, [112], {}", "lds0ds s0_0, [120], {}", "lds1ds s1_0, [128], {}",
                        "fmuls d0, s0_0, s1_0", "yield"},
                       {memory(1000, 8), fabric(isa::DsdKind::fabin, 8), memory(1100, 100), memory(1500, 100),
                        memory(1904, 100)});
  t.tasks.push_back({TaskKind::local, 24, 0, TaskArgs::none, "compute"});
  t.activated.push_back(24);
  const Walked w = walk_tile(t, wse2());
  ASSERT_TRUE(w.repeats);
  EXPECT_EQ(w.rounds, 1u);
  EXPECT_EQ(w.cycles, 116u);
  EXPECT_EQ(w.tasks.at(0).cycles, 113u);
  EXPECT_EQ(w.moved, 8u);
}

// Two buffers in turns: the period is two rounds.
TEST(Walk, RoundsInTurnsAreOnePeriod) {
  TileProgram t =
      tile({"ld16 r1, [600]", "xor16 r1, r1, 1", "st16 [600], r1", "lddds d8, [96], {async activate=24}",
            "lds0ds s0_8, [104], {}", "fmovs d8, s0_8", "yield"},
           {memory(1000, 8), fabric(isa::DsdKind::fabin, 8)});
  t.tasks.push_back({TaskKind::local, 24, 0, TaskArgs::none, "compute"});
  t.activated.push_back(24);
  const Walked w = walk_tile(t, wse2());
  ASSERT_TRUE(w.repeats);
  EXPECT_EQ(w.rounds, 2u);
  // ld, xor, st at 0 to 2, loads at 3 and 4, the receive at 8; words 12 to 19; completion at 16, the task
  // at 19.
  EXPECT_EQ(w.per_round(), 19.0);
}

TEST(Walk, ALoopThatDoesNotEndIsGivenUp) {
  WalkOptions options;
  options.entry = 0;
  options.most_instructions = 1000;
  EXPECT_FALSE(walk_tile(tile({"jmp @0"}), wse2(), options).ended);
}

}  // namespace
}  // namespace cs::csl
