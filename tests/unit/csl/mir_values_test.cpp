// Passes `values` and `dead`, each alone.
#include "mir_test_support.h"

namespace cs::csl::mir::test {
namespace {

// Somebody else writes global3: it has no value of its own.
constexpr const char* kWriter = "fn1 \"w\" r64\n  st16 [r64+global3], 1\n  ret\n";

TEST(MirValues, FoldsLiteralsAndForwardsCopies) {
  EXPECT_EQ(after(number_values, R"(  mov16 r70, 3
  add16 r71, r70, 4
  mov16 r72, r64
  add16 r73, r72, r71
  st16 [global3], r73
  ret
)"),
            R"(  mov16 r70, 3
  mov16 r71, 7
  mov16 r72, r64
  add16 r73, r64, 7
  st16 [global3], r73
  ret
)");
}

TEST(MirValues, TakesWhatWasStoredAndLoadsOnce) {
  EXPECT_EQ(after(number_values, R"(  st16 [global3:2], r64
  ld16 r70, [global3:2]
  ld16 r71, [global3:4]
  ld16 r72, [global3:4]
  add16 r73, r70, r72
  st16 [global3:6], r73
  ret
)",
                  kWriter),
            R"(  st16 [global3:2], r64
  mov16 r70, r64
  ld16 r71, [global3:4]
  mov16 r72, r71
  add16 r73, r64, r71
  st16 [global3:6], r73
  ret
)");
}

// What has an address may change by a pointer or a vector instruction; what has none does not.
TEST(MirValues, ForgetsWhatMayHaveChanged) {
  EXPECT_EQ(after(number_values, R"(  ld16 r70, [global0]
  ld16 r71, [global3]
  st16 [r64], r65
  ld16 r72, [global0]
  ld16 r73, [global3]
  add16 r74, r72, r73
  st16 [global3:2], r74
  ret
)",
                  kWriter),
            R"(  ld16 r70, [global0]
  ld16 r71, [global3]
  st16 [r64], r65
  ld16 r72, [global0]
  mov16 r73, r71
  add16 r74, r72, r71
  st16 [global3:2], r74
  ret
)");
}

// Calls are fences for variables, not for what is local and has no address; vector instructions are none.
TEST(MirValues, CallsAreFencesAndVectorInstructionsAreNot) {
  EXPECT_EQ(after(number_values, R"(  slot0 "local" bytes=2 align=2
  st16 [global3], r64
  st16 [slot0], r64
  call fn1 r64
  ld16 r70, [global3]
  fmach d1, s0_1, s1_1, r65
  ld16 r73, [global3]
  ld16 r71, [slot0]
  add16 r72, r70, r71
  st16 [global3:2], r72
  ret
)",
                  kWriter),
            R"(  slot0 "local" bytes=2 align=2
  st16 [global3], r64
  st16 [slot0], r64
  call fn1 r64
  ld16 r70, [global3]
  fmach d1, s0_1, s1_1, r65
  mov16 r73, r70
  mov16 r71, r64
  add16 r72, r70, r64
  st16 [global3:2], r72
  ret
)");
}

// A vector instruction writes back to the DSR that it used, and where a pointer leads: what a DSR is loaded
// from, and what a pointer reaches, is loaded anew behind it.
TEST(MirValues, VectorInstructionsAreFencesForDescriptors) {
  EXPECT_EQ(after(number_values, R"(  st16 [global3], r64
  lddds d1, [global3], {}
  fmach d1, s0_1, s1_1, r65
  ld16 r70, [global3]
  st16 [global3:2], r70
  ret
)"),
            R"(  st16 [global3], r64
  lddds d1, [global3], {}
  fmach d1, s0_1, s1_1, r65
  ld16 r70, [global3]
  st16 [global3:2], r70
  ret
)");
}

// 16-bit sums hold the same bits in any order: x + (y + z) is (y + x) + z, and with steps of literals too.
TEST(MirValues, SumsAreKnownInAnyOrder) {
  EXPECT_EQ(after(number_values, R"(  ld16 r70, [r64]
  ld16 r71, [r64+2]
  add16 r72, r70, r71
  add16 r73, r72, r65
  add16 r74, r71, r65
  add16 r75, r74, r70
  add16 r76, r74, 4
  add16 r77, r70, r76
  st16 [r64], r73
  st16 [r64+2], r75
  st16 [r64+4], r77
  ret
)"),
            R"(  ld16 r70, [r64]
  ld16 r71, [r64+2]
  add16 r72, r70, r71
  add16 r73, r72, r65
  add16 r74, r71, r65
  mov16 r75, r73
  add16 r76, r74, 4
  add16 r77, r73, 4
  st16 [r64], r73
  st16 [r64+2], r73
  st16 [r64+4], r77
  ret
)");
}

// n is 4 from the start and never written: so is every load of it.
TEST(MirValues, KnowsVariablesOfOneValue) {
  EXPECT_EQ(
      after(number_values, "  ld16 r70, [global1]\n  add16 r71, r70, r64\n  st16 [global3], r71\n  ret\n"),
      "  mov16 r70, 4\n  add16 r71, r64, 4\n  st16 [global3], r71\n  ret\n");
}

// Around a loop nothing holds that the loop changes.
TEST(MirValues, LoopsChangeWhatTheyWrite) {
  const std::string loop = R"(  mov16 r70, 0
  mov16 r71, 5
 @1:
  add16 r72, r70, r71
  st16 [global3], r72
  add16 r70, r70, 1
  lt16 r73, r70, r64
  jmpt r73, @1
  ret
)";
  EXPECT_EQ(after(number_values, loop), R"(  mov16 r70, 0
  mov16 r71, 5
 @1:
  add16 r72, r70, 5
  st16 [global3], r72
  add16 r70, r70, 1
  lt16 r73, r70, r64
  jmpt r73, @1
  ret
)");
}

TEST(MirValues, LoadsADescriptorOnce) {
  EXPECT_EQ(after(number_values, R"(  lddds d1, [global2], {}
  lds1ds s1_1, [global2], {save_address}
  fmach d1, d1, s1_1, r64
  lddds d1, [global2], {}
  lds1ds s1_1, [global2], {save_address}
  fmach d1, d1, s1_1, r65
  ret
)"),
            R"(  lddds d1, [global2], {}
  lds1ds s1_1, [global2], {save_address}
  fmach d1, d1, s1_1, r64
  lddds d1, [global2], {}
  lds1ds s1_1, [global2], {save_address}
  fmach d1, d1, s1_1, r65
  ret
)");  // s1_1 walks on: all three DSRs are loaded anew
  EXPECT_EQ(after(number_values, R"(  slot0 "local" bytes=8 align=2
  lddds d1, [slot0], {}
  fmach d1, d1, d1, r64
  lddds d1, [slot0], {}
  fmach d1, d1, d1, r65
  st16 [slot0:4], 2
  lddds d1, [slot0], {}
  fmach d1, d1, d1, r65
  ret
)"),
            R"(  slot0 "local" bytes=8 align=2
  lddds d1, [slot0], {}
  fmach d1, d1, d1, r64
  fmach d1, d1, d1, r65
  st16 [slot0:4], 2
  lddds d1, [slot0], {}
  fmach d1, d1, d1, r65
  ret
)");
}

TEST(MirValues, AddressesTakeTheirSums) {
  EXPECT_EQ(after(number_values, R"(  add16 r70, r64, 6
  ld16 r71, [r70]
  add16 r72, r70, 2
  ld16 r73, [r72+global0]
  mov16 r74, global3
  ld16 r75, [r74+4]
  add16 r76, r71, r73
  add16 r77, r76, r75
  st16 [global0], r77
  ret
)"),
            R"(  add16 r70, r64, 6
  ld16 r71, [r64+6]
  add16 r72, r64, 8
  ld16 r73, [r64+global0:8]
  mov16 r74, global3
  ld16 r75, [global3:4]
  add16 r76, r71, r73
  add16 r77, r76, r75
  st16 [global0], r77
  ret
)");
}

TEST(MirValues, ShiftsInsteadOfProducts) {
  EXPECT_EQ(after(number_values,
                  "  imul32 p70, p66, 8\n  divu16 r71, r64, 16\n  remu16 r72, r71, 4\n  st32 [global3], p70\n"
                  "  st16 [global3:4], r72\n  ret\n"),
            "  sll32 p70, p66, 3\n  slr16 r71, r64, 4\n  and16 r72, r71, 3\n  st32 [global3], p70\n"
            "  st16 [global3:4], r72\n  ret\n");
}

TEST(MirDead, DropsWhatNobodySees) {
  EXPECT_EQ(after(drop_dead, R"(  add16 r70, r64, 1
  st16 [global3], r64
  st16 [global3:2], r64
  st16 [global3], r65
  jmp @2
  st16 [global3], 9
 @2:
  ret
)"),
            "  st16 [global3:2], r64\n  st16 [global3], r65\n  ret\n");
}

TEST(MirDead, KeepsStoresThatAreRead) {
  const std::string body =
      "  st16 [global3], r64\n  lds1ds s1_1, [global3], {}\n  st16 [global3], r65\n  st16 [r64], 1\n  ret\n";
  EXPECT_EQ(after(drop_dead, body), body);
}

// A value is made where it is wanted. What is read behind the copy, or goes on from the other register,
// stays.
TEST(MirDead, MakesValuesWhereTheyAreWanted) {
  EXPECT_EQ(after(drop_dead, R"(  add16 r70, r64, r65
  st16 [global3], r70
  mov16 r64, r70
  st16 [global3:2], r64
  ret
)"),
            "  add16 r64, r64, r65\n  st16 [global3], r64\n  st16 [global3:2], r64\n  ret\n");
  for (const std::string tail :
       {"  st16 [global3], r64\n  mov16 r64, r70\n", "  mov16 r64, r70\n  st16 [global3], r70\n"}) {
    const std::string body = "  add16 r70, r64, r65\n" + tail + "  st16 [global3:2], r64\n  ret\n";
    EXPECT_EQ(after(drop_dead, body), body);
  }
}

// 65540 is 1 above 4: the 4 is written again.
TEST(MirDead, LeavesTheHalfThatIsSeen) {
  EXPECT_EQ(after(drop_dead, "  st32 [global3:4], 65540\n  st16 [global3:4], r64\n  ret\n"),
            "  st16 [global3:6], 1\n  st16 [global3:4], r64\n  ret\n");
  EXPECT_EQ(after(drop_dead, "  st32 [global3:4], 65540\n  st16 [global3:6], r64\n  ret\n"),
            "  st16 [global3:4], 4\n  st16 [global3:6], r64\n  ret\n");
  EXPECT_EQ(after(drop_dead, "  st16 [global3:4], 4\n  st32 [global3:4], p66\n  ret\n"),
            "  st32 [global3:4], p66\n  ret\n");
}

// r70 is 9 to 0 where the loop begins: it is never above 9, and 0 < r70 is what 0 <= r70 is behind the step.
TEST(MirValues, KnowsWhatALoopCountsThrough) {
  EXPECT_EQ(after(number_values, R"(  mov16 r70, 9
 @1:
  lt16 r71, 0, r70
  st16 [global3], r71
  lt16 r72, r70, 10
  st16 [global3:2], r72
  sub16 r70, r70, 1
  lte16 r73, 0, r70
  jmpt r73, @1
  ret
)"),
            R"(  mov16 r70, 9
 @1:
  lt16 r71, 0, r70
  st16 [global3], r71
  mov16 r72, 1
  st16 [global3:2], 1
  sub16 r70, r70, 1
  mov16 r73, r71
  jmpt r71, @1
  ret
)");
}

// Where it starts is not known; the step may wrap; a test without sign of what may fall below 0.
TEST(MirValues, KnowsNothingOfOtherCounters) {
  const auto loop = [](const std::string& start, const std::string& step, const std::string& test) {
    return "  mov16 r70, " + start + "\n @1:\n  lt16 r71, 0, r70\n  st16 [global3], r71\n  " + step + "\n  " +
           test + "\n  jmpt r73, @1\n  ret\n";
  };
  for (const std::string& text : {loop("r64", "sub16 r70, r70, 1", "lte16 r73, 0, r70"),
                                  loop("9", "add16 r70, r70, 2", "lt16 r73, r70, 32767"),
                                  loop("9", "sub16 r70, r70, 1", "lteu16 r73, 0, r70")})
    EXPECT_EQ(after(number_values, text), text);
}

}  // namespace
}  // namespace cs::csl::mir::test
