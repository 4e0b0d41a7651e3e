// MIR as text: what is printed reads back, what is wrong is refused.
#include "mir_test_support.h"

namespace cs::csl::mir::test {
namespace {

TEST(MirText, ReadsBackWhatItPrints) {
  const std::string text = std::string(kGlobals) + R"(fifo global3
base global3
task fn1
launch fn0
fn0 "f" r64 p66 -> r70
  slot0 "a \"b\"" bytes=4 align=4
  ld16 r70, [r64+global0:2]  ; 1:2:3
  call fn0 7 wide:9 -> r71
  jmpt r70, @4
  st32 [slot0], p66  ; 1:3:3
 @4:
  fmacs d1, s0_1, s1_1, p66
  ret
taskfn1 "t"
  lddds d1, [global2], {async activate=9}
  yield
)";
  EXPECT_EQ(print(parse(text)), text);
}

// A variable that is declared `undefined` is read like any other; a pass that lost an instruction which writes would
// make one more of these.
TEST(MirText, RegistersMayBeUndefinedFromTheBeginningOnly) {
  const std::string body = "fn0 \"f\"\n  add16 r64, r65, 1\n  st16 [global1], r64\n  ret\n";
  MirTile tile = parse(kGlobals + body);
  const Code code = open(tile.functions[0]);
  EXPECT_EQ(verify(tile), "");
  RegisterSet undefined(code.next_virtual);
  EXPECT_EQ(verify(tile, tile.functions[0], code, &undefined), "register 65 is read and never written");
  undefined.add(65);
  EXPECT_EQ(verify(tile, tile.functions[0], code, &undefined), "");
  optimise(tile, machine(), {});  // checks itself
}

TEST(MirText, RefusesWhatIsWrong) {
  const std::string head = std::string(kGlobals) + "fn0 \"f\"\n";
  EXPECT_THAT(refusal(head + "  mov16 r64, 1\n  mov32 p64, 1\n  ret\n"), ::testing::HasSubstr("two widths"));
  EXPECT_THAT(refusal(head + "  mov32 r64, 1\n  ret\n"), ::testing::HasSubstr("register of its width"));
  EXPECT_THAT(refusal(head + "  jmp @1\n  ret\n"), ::testing::HasSubstr("no label 1"));
  EXPECT_THAT(refusal(head + "  ld16 r64, [global9]\n  ret\n"), ::testing::HasSubstr("no global 9"));
  EXPECT_THAT(refusal(head + "  mov16 r64, 1\n"), ::testing::HasSubstr("runs on"));
  EXPECT_THAT(refusal(head + "  hop\n"), ::testing::HasSubstr("unknown instruction 'hop'"));
  EXPECT_THAT(refusal("fn0 \"f\"\n"), ::testing::HasSubstr("no code"));
  EXPECT_THAT(refusal("global1 \"x\" bytes=2 align=2\n"), ::testing::HasSubstr("not a line of MIR"));
}

}  // namespace
}  // namespace cs::csl::mir::test
