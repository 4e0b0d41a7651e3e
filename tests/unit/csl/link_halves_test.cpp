// Halves of pairs are read where they are: link_halves.cpp. What random code computes with them:
// link_test.cpp.
#include <algorithm>

#include "link_test_support.h"

namespace cs::csl::test {
namespace {

// The code of a function that reads p64 from global1, and what it leaves in the first word of global0.
struct Linked {
  long moves = 0;  // instructions that take a half
  uint16_t left = 0;
};

Linked link_with(std::vector<std::string> lines) {
  FunctionText f{"main"};
  f.lines = {"ld32 p64, [global1]"};
  f.lines.insert(f.lines.end(), lines.begin(), lines.end());
  f.lines.insert(f.lines.end(), {"st16 [global0], r70", "yield"});
  MirTile tile = tile_of({f});
  tile.globals.push_back(global("in", 4, {5, 0, 7, 0}));
  const TileProgram p = link(tile);
  Linked result;
  result.moves = std::count_if(p.code.begin(), p.code.end(), [](const isa::Inst& inst) {
    return inst.op == isa::Op::wunpl || inst.op == isa::Op::wunph;
  });
  Runner run(p);
  run.run(p.tasks[0].entry);
  result.left = run.half(run.symbol("out"));
  return result;
}

TEST(LinkHalves, AreReadInThePair) {
  const Linked low = link_with({"wunpl r66, p64", "add16 r70, r66, 1", "st32 [global0+4], p64"});
  EXPECT_EQ(low.moves, 0);
  EXPECT_EQ(low.left, 6);
  const Linked high = link_with({"wunph r66, p64", "add16 r70, r66, r66", "st32 [global0+4], p64"});
  EXPECT_EQ(high.moves, 0);
  EXPECT_EQ(high.left, 14);
}

// The pair counts on while its old half is wanted.
TEST(LinkHalves, AreMovedWhereThePairChanges) {
  const Linked l =
      link_with({"wunpl r66, p64", "add32 p64, p64, 1", "add16 r70, r66, 0", "st32 [global0+4], p64"});
  EXPECT_EQ(l.moves, 1);
  EXPECT_EQ(l.left, 5);
}

// What reads the half last may write the pair.
TEST(LinkHalves, AreReadUpToTheChange) {
  const Linked l =
      link_with({"wunpl r66, p64", "add16 r70, r66, 2", "add32 p64, p64, 1", "st32 [global0+4], p64"});
  EXPECT_EQ(l.moves, 0);
  EXPECT_EQ(l.left, 7);
}

// A value that is wanted in another block keeps its register.
TEST(LinkHalves, AreMovedForOtherBlocks) {
  const Linked l = link_with({"wunpl r70, p64", "imov16 r71, 2", "loop:", "add16 r70, r70, 1",
                              "sub16 r71, r71, 1", "jmpt r71, @loop", "st32 [global0+4], p64"});
  EXPECT_EQ(l.moves, 1);
  EXPECT_EQ(l.left, 7);
}

}  // namespace
}  // namespace cs::csl::test
