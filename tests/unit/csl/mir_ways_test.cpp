// Passes `thread`, `bases` and `literals`, and loops of one trip, each alone.
#include "mir_test_support.h"

namespace cs::csl::mir::test {
namespace {

// Who has stored at global3 knows that r64 is not 0 and passes the second test by; with one way left it is no
// block of its own.
TEST(MirThread, TestsOfWhatIsKnownArePassedBy) {
  EXPECT_EQ(after(thread_jumps, R"(  eq16 r70, r64, 0
  jmpt r70, @1
  st16 [global3], r65
  jmp @2
 @1:
  st16 [global3:2], r65
 @2:
  eq16 r71, r64, 0
  jmpt r71, @3
  st16 [global3:4], r65
 @3:
  ret
)"),
            R"(  eq16 r70, r64, 0
  jmpt r70, @1
  st16 [global3], r65
  jmp @4
 @1:
  st16 [global3:2], r65
  eq16 r71, r64, 0
  jmpt r71, @3
 @4:
  st16 [global3:4], r65
 @3:
  ret
)");
}

// Another number, an operand that is written between, and a result that is read later: the test stays.
TEST(MirThread, OtherTestsStay) {
  for (const std::string part : {"  eq16 r71, r64, 1\n", "  add16 r64, r64, 1\n  eq16 r71, r64, 0\n"}) {
    const std::string text = "  eq16 r70, r64, 0\n  jmpt r70, @1\n  st16 [global3], r65\n @1:\n" + part +
                             "  jmpt r71, @2\n  st16 [global3:2], r65\n @2:\n  ret\n";
    EXPECT_EQ(after(thread_jumps, text), text);
  }
}

// An index beside an address: one sum for what lies within 255 bytes, another one behind a new index and for
// another variable. Addresses alone, and numbers beside registers, stay.
TEST(MirBases, IndexAndAddressAreAdded) {
  EXPECT_EQ(after(add_bases, R"(  ld16 r70, [r64+global3]
  st16 [r64+global3:2], r70
  ld16 r71, [r64+global0]
  ld16 r72, [global3:4]
  ld16 r73, [r65+8]
  add16 r64, r64, 2
  ld16 r74, [r64+global3]
  ret
)"),
            R"(  imov16 r75, global3
  add16 r75, r75, r64
  ld16 r70, [r75]
  st16 [r75+2], r70
  imov16 r76, global0
  add16 r76, r76, r64
  ld16 r71, [r76]
  ld16 r72, [global3:4]
  ld16 r73, [r65+8]
  add16 r64, r64, 2
  imov16 r77, global3
  add16 r77, r77, r64
  ld16 r74, [r77]
  ret
)");
}

// 255 bytes beyond the first access are near, 256 are not.
TEST(MirBases, FarOffsetsGetASumOfTheirOwn) {
  const auto added = [](const std::string& offset) {
    const std::string text =
        after(add_bases, "  ld8 r70, [r64+global3]\n  ld8 r71, [r64+global3:" + offset + "]\n  ret\n");
    size_t sums = 0;
    for (size_t at = text.find("add16"); at != std::string::npos; at = text.find("add16", at + 1)) ++sums;
    return sums;
  };
  EXPECT_EQ(added("255"), 1u);
  EXPECT_EQ(added("256"), 2u);
}

// A store has no field for a literal or an address, nor a fill: stores share a register up to the next vector
// instruction, DSR load or label. Sums, comparisons and what a vector instruction is multiplied by keep
// theirs. A pair that is a literal is one of 32 bits.
TEST(MirLiterals, WhatIsStoredIsInARegister) {
  EXPECT_EQ(after(move_literals, R"(  st16 [global3], 7
  st16 [global3:2], 7
  st32 [global3:4], 65536
  st16 [global3:8], global0:4
  st16 [global3:10], r64
  fmovh d1, 0
  fmovs d1, 0
  st16 [global3], 7
  fmach d1, s0_1, s1_1, 3
  add16 r70, r64, 5
  lt16 r71, r70, 9
  mov32 p80, 7
  mov32 p82, p80
  ret
)"),
            R"(  imov16 r83, 7
  st16 [global3], r83
  st16 [global3:2], r83
  imov32 p84, 65536
  st32 [global3:4], p84
  imov16 r85, global0:4
  st16 [global3:8], r85
  st16 [global3:10], r64
  imov16 r86, 0
  fmovh d1, r86
  imov32 p87, 0
  fmovs d1, p87
  imov16 r88, 7
  st16 [global3], r88
  fmach d1, s0_1, s1_1, 3
  add16 r70, r64, 5
  lt16 r71, r70, 9
  imov32 p80, 7
  mov32 p82, p80
  ret
)");
}

// One trip: the jump back is never taken, whatever the body does.
TEST(MirUnroll, ALoopOfOneTripIsNone) {
  EXPECT_EQ(after(unroll_loops, R"(  mov16 r70, 0
 @1:
  st16 [global3], r64
  add16 r70, r70, 1
  lt16 r71, r70, 1
  jmpt r71, @1
  ret
)"),
            R"(  mov16 r70, 0
  st16 [global3], r64
  add16 r70, r70, 1
  lt16 r71, r70, 1
  ret
)");
}

}  // namespace
}  // namespace cs::csl::mir::test
