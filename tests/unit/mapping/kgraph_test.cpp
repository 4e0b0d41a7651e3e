// Placement benchmarks: the reader's tolerance, formulas by hand, the check, and a whole tiny graph.
#include <gmock/gmock.h>

#include "compiler/mapping/kgraph.h"

namespace cs::mapping::kgraph {
namespace {

using ::testing::HasSubstr;

const char* const kTiny =
    "(*\ntest=tiny\nwidth=40\nheight=40\nwdeltat=1\nwlength=2\nmemlimit=300\n*)\n"
    "(* nodes *)\n"
    "input[ 0] n=[4 4 8] name='in'\n"
    "conv[1] W=4 H=4 R=1 S=1 C=8 K=8 T=1 U=1 name='a'\n"
    "dblock[ 2]\tf=16 h=4 w=4 name='x' name='b'\n"
    "cblock[3] w=4 f=16 h=4 name='c'\n"
    "output[4] n=[2 2 16] name='out'\n"
    "input[ 0]:_ -> conv[1]:x, shape:[4][4][8]\n"
    "conv[1]:y\t->\tdblock[ 2]:x, shape:[4][4][16]\n"
    "dblock[2]:y -> cblock[3]:x, shape:[4][4][16]\n"
    "cblock[3]:y -> output[4]:_, shape:[2][2][16]";

Graph tiny() {
  Diag diag;
  auto g = read_graph(kTiny, "tiny.kgraph", diag);
  EXPECT_TRUE(g) << diag.to_string();
  return g.value_or(Graph{});
}

TEST(Kgraph, ReadsBlanksTabsDoubleNamesAndBothCases) {
  const Graph g = tiny();
  EXPECT_EQ(g.width, 40);
  EXPECT_EQ(g.memlimit, 300);
  EXPECT_EQ(g.wlength, 2);
  ASSERT_EQ(g.kernels.size(), 3u);
  EXPECT_EQ(g.kernels[1].name, "b");  // the last of two names
  EXPECT_THAT(g.kernels[0].formal, ::testing::ElementsAre(4, 4, 8, 8, 1, 1, 1, 1));
  EXPECT_THAT(g.wires, ::testing::ElementsAre(std::pair(0, 1), std::pair(1, 2)));
}

// conv(4, 4, 1, 1, 8, 8, 1 ; 2, 2, 3, 4): height 2·2·4, width 3·4, time 2·2·⌈8/3⌉·⌈8/4⌉ = 24,
// memory 8/3·2 + 2·2·2 = 13 1/3.
// dblock(4, 4, 16 ; 2, 2, 2, 2, 2, 1, 1, 2): convs 16→4, 4→4 (3x3), 4→16, each with a picture of 2x2 (3x3
// taps: 3x3).
//   times 4·8·4 = 128, 4·2·4·9 = 288, 4·2·8 = 64; height 2·2·3 = 12, width 3·(1 + 1 + 2) = 12
// cblock(4, 4, 16 ; 2, 2, 2, 2, 2, 2, 1, 1, 2, 2): 8→4, 4→4 (3x3, stride 2), 4→16 on 2x2, 8→16 (stride 2)
//   times 4·4·4 = 64, 4·2·4·9/4 = 72, 1·2·8 = 16, 4·4·8/4 = 32; width 3·(1 + 1 + 2 + 2) = 18
TEST(Kgraph, TheCheckFollowsTheFormulas) {
  const Graph g = tiny();
  Solution s = {{{2, 2, 3, 4}, 0, 0, false},
                {{2, 2, 2, 2, 2, 1, 1, 2}, 12, 0, true},
                {{2, 2, 2, 2, 2, 2, 1, 1, 2, 2}, 0, 16, false}};
  Score score = check(g, s);
  EXPECT_THAT(score.violations, ::testing::IsEmpty());
  EXPECT_EQ(score.delta_t, 288);
  // Centres (6, 8), (18, 6), (9, 22): 12 + 2 and 9 + 16.
  EXPECT_EQ(score.length, 39);
  EXPECT_EQ(score.sum, 288 + 2 * 39);

  s[1].x = 11;
  EXPECT_THAT(check(g, s).violations, ::testing::ElementsAre("b overlaps a"));
  s[1].x = 29;
  EXPECT_THAT(check(g, s).violations.at(0), HasSubstr("leaves the fabric"));
}

TEST(Kgraph, TheMemoryLimitIsExact) {
  Graph g = tiny();
  const Solution s = {{{2, 2, 3, 4}, 0, 0, false},
                      {{2, 2, 2, 2, 2, 1, 1, 2}, 12, 0, true},
                      {{2, 2, 2, 2, 2, 2, 1, 1, 2, 2}, 0, 16, false}};
  // The 3x3 conv of the dblock needs most: 2·4·9 + (6/2)·(6/2)·4 = 108.
  g.memlimit = 108;
  EXPECT_THAT(check(g, s).violations, ::testing::IsEmpty());
  g.memlimit = 107;
  EXPECT_THAT(check(g, s).violations,
              ::testing::ElementsAre("b: more memory than a tile has", "c: more memory than a tile has"));
}

TEST(Kgraph, ASolutionIsLegalAndNotBelowTheBound) {
  const Graph g = tiny();
  Diag diag;
  SolveOptions o;
  o.floorplan.moves = 20000;
  const auto solved = solve(g, "tiny.kgraph", o, diag);
  ASSERT_TRUE(solved) << diag.to_string();
  const Score score = check(g, solved->solution);
  EXPECT_THAT(score.violations, ::testing::IsEmpty());
  EXPECT_EQ(area_bound(g), solved->bound);
  EXPECT_GE(score.delta_t, solved->bound);
  EXPECT_LE(score.delta_t, 1.5 * solved->bound);
  const std::string paint = paint_text(g, solved->solution);
  EXPECT_THAT(paint, HasSubstr("a = conv( 4 4 8 8 1 1 1 1 "));
  EXPECT_THAT(paint, HasSubstr("c : place("));
}

// One conv on a fabric of 12 x 12 with free memory: the bound is the fastest rectangle that fits, found by
// trying all execution arguments.
TEST(Kgraph, TheBoundOfOneKernelIsThatOfBruteForce) {
  Graph g = tiny();
  g.kernels.resize(1);
  g.wires.clear();
  g.width = g.height = 12;
  double best = 1e9;
  for (int h = 1; h <= 4; ++h)
    for (int w = 1; w <= 4; ++w)
      for (int c = 1; c <= 8; ++c)
        for (int k = 1; k <= 4; ++k)
          if (h * w * (c + 1) <= 12) {
            const Score s = check(g, {{{h, w, c, k}, 0, 0, false}});
            if (s.violations.empty()) best = std::min(best, s.delta_t);
          }
  EXPECT_EQ(area_bound(g), best);
}

TEST(Kgraph, BadInputIsNamedWithItsLine) {
  const auto message = [](std::string text, const std::string& from, const std::string& to) {
    text.replace(text.find(from), from.size(), to);
    Diag diag;
    EXPECT_FALSE(read_graph(text, "bad.kgraph", diag));
    return diag.to_string();
  };
  EXPECT_THAT(message(kTiny, "K=8", "K=x"), ::testing::AllOf(HasSubstr("bad.kgraph:11"), HasSubstr("'k'")));
  EXPECT_THAT(message(kTiny, "cblock[3] w", "eblock[3] w"), HasSubstr("eblock"));
  EXPECT_THAT(message(kTiny, "-> cblock[3]", "-> cblock[7]"), HasSubstr("cblock[7]"));
  EXPECT_THAT(message(kTiny, "name='c'", "name='a'"), HasSubstr("names of their own"));
  EXPECT_THAT(message(kTiny, "width=40", "width=wide"), HasSubstr("width"));
  EXPECT_THAT(message(kTiny, "U=1", "U=2"), HasSubstr("strides"));
}

}  // namespace
}  // namespace cs::mapping::kgraph
