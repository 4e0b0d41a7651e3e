// Pass `bits` alone: halves of pairs, pairs put together, bits instead of selections.
#include "mir_test_support.h"

namespace cs::csl::mir::test {
namespace {

// (v >> 6) & 15 of 32 bits as an index: bits 6 to 9 lie in the low half.
TEST(MirBits, WorksOnTheHalfThatIsWanted) {
  EXPECT_EQ(after(use_bits, R"(  ld32 p70, [r64+4]
  slr32 p72, p70, 6
  and32 p74, p72, 15
  wunpl r76, p74
  st16 [global3], r76
  ret
)"),
            R"(  ld16 r77, [r64+4]
  slr16 r78, r77, 6
  and16 r79, r78, 15
  mov16 r76, r79
  st16 [global3], r76
  ret
)");
}

// Bits 22 to 25 lie in the high one.
TEST(MirBits, LoadsTheHighHalf) {
  EXPECT_EQ(after(use_bits, R"(  ld32 p70, [r64+global0:4]
  slr32 p72, p70, 22
  and32 p74, p72, 15
  st32 [global3], p74
  ret
)"),
            R"(  ld16 r75, [r64+global0:6]
  slr16 r76, r75, 6
  and16 r77, r76, 15
  extu16 p74, r77
  st32 [global3], p74
  ret
)");
}

// Bits of both halves, a value that is stored whole, a parameter, a sum that carries into the half.
TEST(MirBits, LeavesWholeValues) {
  for (const std::string body :
       {"  ld32 p70, [r64]\n  slr32 p72, p70, 12\n  and32 p74, p72, 255\n  st32 [global3:4], p74\n  mov16 "
        "r76, 0\n",
        "  ld32 p70, [r64]\n  st32 [global3:4], p70\n  wunpl r76, p70\n", "  wunpl r76, p66\n",
        "  ld32 p70, [r64]\n  add32 p72, p70, 9\n  wunph r76, p72\n"}) {
    const std::string text = body + "  st16 [global3], r76\n  ret\n";
    EXPECT_EQ(after(use_bits, text), text);
  }
}

// @as(u32, high) << 16 | low, as programs pack time stamps.
TEST(MirBits, PutsHalvesTogether) {
  EXPECT_EQ(after(use_bits, R"(  extu16 p70, r65
  sll32 p72, p70, 16
  extu16 p74, r64
  or32 p76, p72, p74
  st32 [global3], p76
  ret
)"),
            R"(  extu16 p70, r65
  wpack p72, 0, r65
  extu16 p74, r64
  wpack p76, r64, r65
  st32 [global3], p76
  ret
)");
}

// The halves are those of before.
TEST(MirBits, ForgetsHalvesThatAreWritten) {
  const std::string text = R"(  wpack p70, r64, r65
  add16 r64, r64, 1
  wunpl r72, p70
  st16 [global3], r72
  st32 [global3:4], p70
  ret
)";
  EXPECT_EQ(after(use_bits, text), text);
}

// if (x & 0x8000 != 0) y |= 1
TEST(MirBits, ShiftsTheBitThatIsTested) {
  EXPECT_EQ(after(use_bits, R"(  and16 r70, r64, 32768
  or16 r71, r65, 1
  select16 r72, r70, r71, r65
  st16 [global3], r72
  ret
)"),
            R"(  and16 r70, r64, 32768
  or16 r71, r65, 1
  slr16 r73, r64, 15
  or16 r72, r65, r73
  st16 [global3], r72
  ret
)");
}

TEST(MirBits, TakesTruthForABit) {
  EXPECT_EQ(after(use_bits, R"(  lt16 r70, r64, 7
  ltu16 r71, r65, 9
  or16 r72, r70, r71
  select16 r73, r72, 1, 0
  or16 r74, r65, 1
  select16 r75, r72, r74, r65
  st16 [global3], r73
  st16 [global3:2], r75
  ret
)"),
            R"(  lt16 r70, r64, 7
  ltu16 r71, r65, 9
  or16 r72, r70, r71
  mov16 r73, r72
  or16 r74, r65, 1
  or16 r75, r65, r72
  st16 [global3], r73
  st16 [global3:2], r75
  ret
)");
}

// A bit that is taken away, two bits, a condition that is any number, a bit in the middle.
TEST(MirBits, LeavesOtherSelections) {
  for (const std::string body :
       {"  and16 r70, r64, 32768\n  or16 r71, r65, 1\n  select16 r72, r70, r65, r71\n",
        "  and16 r70, r64, 32768\n  or16 r71, r65, 3\n  select16 r72, r70, r71, r65\n",
        "  or16 r71, r65, 1\n  select16 r72, r64, r71, r65\n",
        "  and16 r70, r64, 64\n  or16 r71, r65, 1\n  select16 r72, r70, r71, r65\n"}) {
    const std::string text = body + "  st16 [global3], r72\n  ret\n";
    EXPECT_EQ(after(use_bits, text), text);
  }
}

}  // namespace
}  // namespace cs::csl::mir::test
