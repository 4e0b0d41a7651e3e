// Passes `unroll`, `predicate` and `invariants`, each alone.
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

// Branches inside, or no vector instruction: the loop stays.
TEST(MirUnroll, LeavesBranchesAndScalarLoops) {
  for (const std::string body : {"  fmach d1, s0_1, s1_1, r64\n  jmpf r64, @2\n  st16 [global3], r70\n @2:\n",
                                 "  st16 [global3], r70\n"}) {
    const std::string loop =
        "  mov16 r70, 0\n @1:\n" + body + "  add16 r70, r70, 1\n  lt16 r71, r70, 2\n  jmpt r71, @1\n  ret\n";
    EXPECT_EQ(after(unroll_loops, loop), loop);
  }
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
