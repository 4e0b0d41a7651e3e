// Passes `trips` and `bases`, each alone: what a loop knows of the trip before, and what is known of sums
// where ways join.
#include "mir_test_support.h"

namespace cs::csl::mir::test {
namespace {

// x[i] = 2 x[i] + x[i - 1], downwards: what is loaded as x[i - 1] is x[i] of the next trip.
TEST(MirTrips, KeepsAWindowThatMovesDown) {
  EXPECT_EQ(after(keep_over_trips, R"(  mov16 r70, 14
 @1:
  ld16 r71, [r70+global3]
  sll16 r72, r71, 1
  ld16 r73, [r70+global3:-2]
  add16 r74, r72, r73
  st16 [r70+global3], r74
  sub16 r70, r70, 2
  jmpt r70, @1
  ret
)"),
            R"(  mov16 r70, 14
  ld16 r73, [r70+global3]
 @1:
  sll16 r72, r73, 1
  ld16 r73, [r70+global3:-2]
  add16 r74, r72, r73
  st16 [r70+global3], r74
  sub16 r70, r70, 2
  jmpt r70, @1
  ret
)");
}

// The index is shifted from a counter; before the loop it is worked out for the first trip.
TEST(MirTrips, FollowsIndicesThatAreMadeOfCounters) {
  EXPECT_EQ(after(keep_over_trips, R"(  mov16 r70, 7
 @1:
  sll16 r75, r70, 1
  ld16 r71, [r75+global3]
  st16 [global1], r71
  ld16 r73, [r75+global3:-2]
  st16 [global1], r73
  sub16 r70, r70, 1
  jmpt r70, @1
  ret
)"),
            R"(  mov16 r70, 7
  sll16 r76, r70, 1
  ld16 r73, [r76+global3]
 @1:
  sll16 r75, r70, 1
  st16 [global1], r73
  ld16 r73, [r75+global3:-2]
  st16 [global1], r73
  sub16 r70, r70, 1
  jmpt r70, @1
  ret
)");
}

// y[i] = y[i - 1] + r64: what is stored is loaded by the next trip. The access behind the step counts from
// it.
TEST(MirTrips, HandsOnWhatIsStored) {
  EXPECT_EQ(after(keep_over_trips, R"(  mov16 r70, 0
 @1:
  ld16 r71, [r70+global3]
  add16 r72, r71, r64
  add16 r70, r70, 2
  st16 [r70+global3], r72
  lt16 r73, r70, 14
  jmpt r73, @1
  ret
)"),
            R"(  mov16 r70, 0
  ld16 r72, [r70+global3]
 @1:
  add16 r72, r72, r64
  add16 r70, r70, 2
  st16 [r70+global3], r72
  lt16 r73, r70, 14
  jmpt r73, @1
  ret
)");
}

// A store that may go there in between, a value that is still wanted when the next one comes, an access that
// a trip may pass by, a step that the addresses do not have, a call.
TEST(MirTrips, LeavesWhatMayDiffer) {
  const std::string load = "  ld16 r71, [r70+global3]\n", next = "  ld16 r73, [r70+global3:-2]\n";
  for (const std::string& body :
       {load + next + "  st16 [r65+global3], r71\n", load + next + "  st16 [global1], r71\n",
        load + "  st16 [global1], r71\n  jmpf r64, @2\n" + next + "  st16 [global1], r73\n @2:\n",
        load + "  st16 [global1], r71\n  ld16 r73, [r70+global3:-4]\n  st16 [global1], r73\n",
        load + "  st16 [global1], r71\n  call fn0 1 2 wide:3\n" + next + "  st16 [global1], r73\n"}) {
    const std::string text =
        "  mov16 r70, 14\n @1:\n" + body + "  sub16 r70, r70, 2\n  jmpt r70, @1\n  ret\n";
    EXPECT_EQ(after(keep_over_trips, text), text);
  }
}

// A word of a descriptor in the frame stays in its register. Variables of the file are looked at in every
// trip.
TEST(MirTrips, KeepsWhatIsLocal) {
  const auto loop = [](const std::string& place, const std::string& before, const std::string& load,
                       const std::string& from) {
    return "  slot0 \"d\" bytes=8 align=2\n  mov16 r70, 7\n" + before + " @1:\n" + load + "  add16 r72, " +
           from + ", 4\n  st16 [" + place + "], r72\n  lds1ds s1_1, [" + place +
           "], {}\n  sub16 r70, r70, 1\n  jmpt r70, @1\n  ret\n";
  };
  EXPECT_EQ(after(keep_over_trips, loop("slot0", "", "  ld16 r71, [slot0]\n", "r71")),
            loop("slot0", "  ld16 r72, [slot0]\n", "", "r72"));
  const std::string global = loop("global3", "", "  ld16 r71, [global3]\n", "r71");
  EXPECT_EQ(after(keep_over_trips, global), global);
}

// One sum for both ways and behind them; its index changes: a new one.
TEST(MirBases, KnowsWhatAllWaysKnow) {
  EXPECT_EQ(after(add_bases, R"(  ld16 r70, [r65+global0]
  jmpf r70, @1
  st16 [r65+global0:2], 1
 @1:
  st16 [r65+global0:4], 2
  add16 r65, r65, 2
  st16 [r65+global0], 3
  ret
)"),
            R"(  imov16 r71, global0
  add16 r71, r71, r65
  ld16 r70, [r71]
  jmpf r70, @1
  st16 [r71+2], 1
 @1:
  st16 [r71+4], 2
  add16 r65, r65, 2
  imov16 r72, global0
  add16 r72, r72, r65
  st16 [r72], 3
  ret
)");
}

// What one way alone has worked out is not known where they join, nor in a loop what its trips change.
TEST(MirBases, ForgetsWhatOneWayKnows) {
  EXPECT_EQ(after(add_bases, R"(  jmpf r64, @1
  st16 [r65+global0], 1
 @1:
  st16 [r65+global0], 2
 @2:
  st16 [r65+global0], 3
  add16 r65, r65, 2
  lt16 r70, r65, 8
  jmpt r70, @2
  ret
)"),
            R"(  jmpf r64, @1
  imov16 r71, global0
  add16 r71, r71, r65
  st16 [r71], 1
 @1:
  imov16 r72, global0
  add16 r72, r72, r65
  st16 [r72], 2
 @2:
  imov16 r73, global0
  add16 r73, r73, r65
  st16 [r73], 3
  add16 r65, r65, 2
  lt16 r70, r65, 8
  jmpt r70, @2
  ret
)");
}

}  // namespace
}  // namespace cs::csl::mir::test
