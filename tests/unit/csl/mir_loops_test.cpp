// Passes `unroll`, `predicate` and `invariants`, each alone.
#include <fmt/format.h>

#include "mir_test_support.h"

namespace cs::csl::mir::test {
namespace {

// 3 trips: r70 is 3, 2, 1.
TEST(MirUnroll, CountsTrips) {
  EXPECT_EQ(after(unroll_loops, R"(  mov16 r70, 3
 @1:
  ld16 r71, [r64]
  fmach d1, s0_1, s1_1, r71
  sub16 r70, r70, 1
  jmpt r70, @1
  ret
)"),
            R"(  mov16 r70, 3
  ld16 r71, [r64]
  fmach d1, s0_1, s1_1, r71
  sub16 r70, r70, 1
  ld16 r72, [r64]
  fmach d1, s0_1, s1_1, r72
  sub16 r70, r70, 1
  ld16 r73, [r64]
  fmach d1, s0_1, s1_1, r73
  sub16 r70, r70, 1
  ret
)");
}

TEST(MirUnroll, LeavesLongAndUnknownLoops) {
  const auto loop = [](const std::string& trips) {
    return "  mov16 r70, " + trips +
           "\n @1:\n  ld16 r71, [r64]\n  fmach d1, s0_1, s1_1, r71\n  sub16 r70, r70, 1\n  jmpt r70, @1\n  "
           "ret\n";
  };
  EXPECT_EQ(after(unroll_loops, loop("256")), loop("256"));
  EXPECT_EQ(after(unroll_loops, loop("33")), loop("33"));
  EXPECT_EQ(after(unroll_loops, loop("r65")), loop("r65"));
  EXPECT_NE(after(unroll_loops, loop("25")), loop("25"));
}

// Branches inside: the loop stays.
TEST(MirUnroll, LeavesBranches) {
  const std::string loop = R"(  mov16 r70, 0
 @1:
  fmach d1, s0_1, s1_1, r64
  jmpf r64, @2
  st16 [global3], r70
 @2:
  add16 r70, r70, 1
  lt16 r71, r70, 2
  jmpt r71, @1
  ret
)";
  EXPECT_EQ(after(unroll_loops, loop), loop);
}

// Values, loads and stores alone.
TEST(MirUnroll, StraightensShortScalarLoops) {
  EXPECT_EQ(after(unroll_loops, R"(  mov16 r70, 0
 @1:
  ld16 r72, [r64]
  st16 [global3], r72
  add16 r70, r70, 1
  lt16 r71, r70, 2
  jmpt r71, @1
  ret
)"),
            R"(  mov16 r70, 0
  ld16 r72, [r64]
  st16 [global3], r72
  add16 r70, r70, 1
  lt16 r71, r70, 2
  ld16 r73, [r64]
  st16 [global3], r73
  add16 r70, r70, 1
  lt16 r74, r70, 2
  ret
)");
}

// A trip of `adds` sums, a store and the step: with the comparison and the jump once, 150 are too many.
TEST(MirUnroll, LeavesLongScalarLoops) {
  const auto loop = [](int trips, int adds) {
    std::string text = fmt::format("  mov16 r70, {}\n  mov16 r72, r64\n @1:\n", trips);
    for (int i = 0; i < adds; ++i) text += "  add16 r72, r72, r65\n";
    return text + "  st16 [r65], r72\n  sub16 r70, r70, 1\n  jmpt r70, @1\n  ret\n";
  };
  EXPECT_NE(after(unroll_loops, loop(16, 7)), loop(16, 7));  // 16 * (7 + 1 + 1) + 2
  EXPECT_EQ(after(unroll_loops, loop(16, 8)), loop(16, 8));  // 16 * (8 + 1 + 1) + 2
  EXPECT_NE(after(unroll_loops, loop(49, 1)), loop(49, 1));
  EXPECT_EQ(after(unroll_loops, loop(50, 1)), loop(50, 1));
}

// What compilers make a call of: words that follow each other are filled or copied.
TEST(MirUnroll, LeavesFillsAndCopies) {
  const auto loop = [](const std::string& body) {
    return "  mov16 r70, 0\n @1:\n" + body +
           "  add16 r70, r70, 1\n  ltu16 r71, r70, 4\n  jmpt r71, @1\n  ret\n";
  };
  const std::string by4 = "  sll16 r72, r70, 2\n", by2 = "  sll16 r72, r70, 1\n";
  const std::string fill = loop(by4 + "  st32 [r72+global3], 0\n");
  const std::string copy = loop(by2 + "  ld16 r73, [r72+global3]\n  st16 [r72+global0], r73\n");
  const std::string pointer =
      loop(by2 + "  add16 r73, r64, r72\n  ld16 r74, [r73]\n  add16 r75, r65, r72\n  st16 [r75], r74\n");
  EXPECT_EQ(after(unroll_loops, fill), fill);
  EXPECT_EQ(after(unroll_loops, pointer), pointer);
  EXPECT_EQ(after(unroll_loops, copy), copy);
  const std::string apart = loop(by4 + "  st16 [r72+global3], 0\n");
  const std::string sum =
      loop(by2 + "  ld16 r73, [r72+global3]\n  add16 r74, r73, r70\n  st16 [r72+global0], r74\n");
  EXPECT_NE(after(unroll_loops, apart), apart);
  EXPECT_NE(after(unroll_loops, sum), sum);
}

// What does more than compute, load and store stays in its loop.
TEST(MirUnroll, LeavesScalarLoopsWithOtherInstructions) {
  const std::string loop = "  mov16 r70, 2\n @1:\n  actvt 9\n  sub16 r70, r70, 1\n  jmpt r70, @1\n  ret\n";
  EXPECT_EQ(after(unroll_loops, loop), loop);
}

// Around a loop that becomes straight code a loop stays one, and its label says so when the text is read
// again.
TEST(MirUnroll, LeavesLoopsAroundStraightOnes) {
  const std::string around = R"(  mov16 r72, 0
 @2: loop
  mov16 r70, 2
  fmach d1, s0_1, s1_1, r64
  sub16 r70, r70, 1
  fmach d1, s0_1, s1_1, r64
  sub16 r70, r70, 1
  add16 r72, r72, 1
  lt16 r73, r72, 2
  jmpt r73, @2
  ret
)";
  EXPECT_EQ(after(unroll_loops, R"(  mov16 r72, 0
 @2:
  mov16 r70, 2
 @1:
  fmach d1, s0_1, s1_1, r64
  sub16 r70, r70, 1
  jmpt r70, @1
  add16 r72, r72, 1
  lt16 r73, r72, 2
  jmpt r73, @2
  ret
)"),
            around);
  EXPECT_EQ(after(unroll_loops, around), around);
}

TEST(MirUnroll, SaysWhatHasNoRoom) {
  MirTile tile = parse(
      kGlobals + std::string("launch fn0\nfn0 \"f\" r64\n  mov16 r70, 9\n @1:\n  fmach d1, s0_1, s1_1, r64\n"
                             "  sub16 r70, r70, 1\n  jmpt r70, @1  ; 1:7:5\n  ret\n"));
  const Result result = optimise(tile, machine(), {.level = 2, .code_budget = 8});
  ASSERT_EQ(result.not_unrolled.size(), 1u);
  EXPECT_EQ(result.not_unrolled[0].trips, 9u);
  EXPECT_EQ(result.not_unrolled[0].loc.line, 7u);
  EXPECT_EQ(result.unrolled_bytes, 0u);
}

// jmpf is 3 or 6 cycles; one addition and one selection are 2.
TEST(MirPredicate, SelectsWhatAShortBodyLeaves) {
  EXPECT_EQ(after(predicate_branches, R"(  mov16 r70, 1
  jmpf r64, @1
  add16 r70, r65, 7
 @1:
  st16 [global3], r70
  ret
)"),
            R"(  mov16 r70, 1
  add16 r71, r65, 7
  select16 r70, r64, r71, r70
  st16 [global3], r70
  ret
)");
}

TEST(MirPredicate, JoinsOrAndStoresTheOldValue) {
  EXPECT_EQ(after(predicate_branches, R"(  st16 [r65+global0], r64
  jmpt r64, @1
  eq16 r70, r65, 3
  jmpf r70, @2
 @1:
  st16 [r65+global0], 9
 @2:
  ret
)"),
            R"(  st16 [r65+global0], r64
  eq16 r70, r65, 3
  or16 r71, r64, r70
  ld16 r72, [r65+global0]
  select16 r73, r71, 9, r72
  st16 [r65+global0], r73
  ret
)");
}

// A long body, a call, a division, a load through a pointer that only the branch follows.
TEST(MirPredicate, LeavesWhatMustNotHappen) {
  for (const std::string body :
       {"  ld16 r70, [r65]\n  st16 [global3], r70\n", "  div16 r70, r65, r64\n  st16 [global3], r70\n",
        "  call fn0 1 2 wide:3\n", "  st16 [r65+global0], 9\n", "  actvt 9\n"}) {
    const std::string text = "  jmpf r64, @1\n" + body + " @1:\n  ret\n";
    EXPECT_EQ(after(predicate_branches, text), text);
  }
}

TEST(MirInvariants, MovesWhatALoopRepeats) {
  EXPECT_EQ(after(hoist_invariants, R"(  mov16 r70, r64
 @1:
  ld16 r71, [global3]
  imul16 r72, r65, r71
  st16 [r70+global0], r72
  sub16 r70, r70, 1
  jmpt r70, @1
  ret
)"),
            R"(  mov16 r70, r64
  ld16 r71, [global3]
  imul16 r72, r65, r71
 @1:
  st16 [r70+global0], r72
  sub16 r70, r70, 1
  jmpt r70, @1
  ret
)");
}

// The loop stores to it; it may be what an asynchronous operation writes; a call.
TEST(MirInvariants, LeavesLoadsThatMayChange) {
  for (const std::string access :
       {"  ld16 r71, [global3]\n  st16 [global3], r70\n", "  ld16 r71, [global0]\n",
        "  ld16 r71, [global3]\n  call fn0 1 2 wide:3\n"}) {
    const std::string text = "  mov16 r70, r64\n @1:\n" + access +
                             "  st16 [global3:2], r71\n  sub16 r70, r70, 1\n  jmpt r70, @1\n  ret\n";
    EXPECT_EQ(after(hoist_invariants, text), text);
  }
}

}  // namespace
}  // namespace cs::csl::mir::test
