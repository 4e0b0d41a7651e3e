// The placer: staircases and trees against brute force, placements against the rules.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "compiler/mapping/floorplan.h"
#include "compiler/mapping/known_floorplans.h"
#include "compiler/mapping/slicing_tree.h"
#include "runtime/support/progress.h"

namespace cs::mapping {
namespace {

ShapeCurve random_curve(Rng& rng) {
  std::set<int> widths, heights;
  const size_t n = 1 + rng.below(6);
  while (widths.size() < n) widths.insert(1 + int(rng.below(30)));
  while (heights.size() < n) heights.insert(1 + int(rng.below(30)));
  ShapeCurve c;
  auto h = heights.rbegin();
  for (const int w : widths) c.push_back({int16_t(w), int16_t(*h++)});
  return c;
}

// Every pair of outlines, then those that no other one beats.
ShapeCurve all_pairs(const ShapeCurve& a, const ShapeCurve& b, bool beside, Outline limit) {
  std::vector<Outline> all;
  for (const Outline& p : a)
    for (const Outline& q : b) {
      const int w = beside ? p.w + q.w : std::max(p.w, q.w), h = beside ? std::max(p.h, q.h) : p.h + q.h;
      if (w <= limit.w && h <= limit.h) all.push_back({int16_t(w), int16_t(h)});
    }
  ShapeCurve kept;
  for (const Outline& p : all) {
    const bool beaten = std::any_of(all.begin(), all.end(),
                                    [&](const Outline& q) { return q != p && q.w <= p.w && q.h <= p.h; });
    if (!beaten && std::find(kept.begin(), kept.end(), p) == kept.end()) kept.push_back(p);
  }
  std::sort(kept.begin(), kept.end(), [](const Outline& p, const Outline& q) { return p.w < q.w; });
  return kept;
}

TEST(ShapeCurve, CombiningGivesWhatAllPairsGive) {
  Rng rng(1);
  const Outline limit{40, 40};
  for (int i = 0; i < 300; ++i) {
    const ShapeCurve a = random_curve(rng), b = random_curve(rng);
    ShapeCurve out;
    combine_beside(a, b, limit, out);
    EXPECT_EQ(out, all_pairs(a, b, true, limit));
    combine_stacked(a, b, limit, out);
    EXPECT_EQ(out, all_pairs(a, b, false, limit));
  }
}

TEST(ShapeCurve, TheBestFitIsTheSmallestFactorOfAllOutlines) {
  Rng rng(2);
  for (int i = 0; i < 300; ++i) {
    const ShapeCurve c = random_curve(rng);
    double least = 1e9;
    for (const Outline& o : c) least = std::min(least, std::max(o.w / 12.0, o.h / 17.0));
    EXPECT_DOUBLE_EQ(best_fit(c, 12, 17).factor, least);
  }
}

TEST(SlicingTree, MovesAndUndosKeepTheStaircasesOfTheTree) {
  Rng rng(3);
  std::vector<ShapeCurve> curves;
  std::vector<const ShapeCurve*> leaves;
  for (int i = 0; i < 9; ++i) curves.push_back(random_curve(rng));
  for (const ShapeCurve& c : curves) leaves.push_back(&c);
  const std::vector<std::vector<int>> wired = {{1}, {0, 2}, {1}, {4}, {3}, {}, {7}, {6, 8}, {7}};
  SlicingTree tree(wired, arrange_rows({3, 3, 3}), {200, 200});
  tree.set_leaves(leaves);
  for (int i = 0; i < 4000; ++i) {
    const ShapeCurve before = tree.root_curve();
    tree.move(rng);
    const ShapeCurve moved = tree.root_curve();
    if (rng.below(2) == 0) {
      tree.undo();
      ASSERT_EQ(tree.root_curve(), before) << i;
      continue;
    }
    SlicingTree again = tree;
    again.set_leaves(leaves);
    ASSERT_EQ(again.root_curve(), moved) << i;
    std::vector<Rect> rects;
    for (const Outline& o : moved) {
      tree.place(o, rects);
      for (size_t k = 0; k < rects.size(); ++k) {
        EXPECT_TRUE(rects[k].x + rects[k].w <= o.w && rects[k].y + rects[k].h <= o.h);
        for (size_t j = 0; j < k; ++j) ASSERT_FALSE(rects[k].intersects(rects[j])) << i;
      }
    }
  }
}

// Nine squares of 10 x 10 tile 30 x 30 exactly; a smaller rectangle is dearer.
FloorplanProblem squares() {
  FloorplanProblem p;
  p.width = p.height = 30;
  p.kinds = {{{10, 10, 7}, {10, 9, 8}}};
  p.kernels.assign(9, 0);
  p.cost_weight = 10;  // one more costs more than what lower rectangles save in wires
  for (int i = 0; i + 1 < 9; ++i) p.wires.push_back({i, i + 1, 1});
  return p;
}

TEST(Floorplan, NineSquaresFillTheFabricAlongTheChain) {
  const FloorplanProblem p = squares();
  EXPECT_EQ(area_bound(p), 7);
  FloorplanOptions o;
  o.moves = 20000;
  const auto plan = place_kernels(p, o);
  ASSERT_TRUE(plan);
  EXPECT_EQ(check_floorplan(p, *plan), "");
  EXPECT_EQ(plan->cost, 7);
  EXPECT_EQ(plan->length, 80);  // eight wires between neighbours: to and fro
}

// A search is a round of the stage: it ends at a quarter, the next one at 7/16.
TEST(Floorplan, ASearchSaysHowFarItIs) {
  const FloorplanProblem p = squares();
  FloorplanOptions o;
  o.moves = 512 * 8;
  progress::stage("map", 0, 1);
  ASSERT_TRUE(place_kernels(p, o));
  EXPECT_DOUBLE_EQ(progress::now().fraction, 1.0 / 4);
  ASSERT_TRUE(place_kernels(p, o));
  EXPECT_DOUBLE_EQ(progress::now().fraction, 7.0 / 16);
}

TEST(Floorplan, AChainThatIsTooLargeTakesItsDearerRectangles) {
  FloorplanProblem p = squares();
  p.height = 27;
  EXPECT_EQ(area_bound(p), 8);
  const auto plan = place_kernels(p, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cost, 8);
  p.height = 26;
  EXPECT_FALSE(area_bound(p));
  EXPECT_FALSE(place_kernels(p, {}));
}

TEST(Floorplan, TurnedRectanglesOnlyWhereTheyMayTurn) {
  FloorplanProblem p;
  p.width = 6;
  p.height = 4;
  p.kinds = {{{3, 4, 1}}, {{4, 3, 1}}};
  p.kernels = {0, 1};
  EXPECT_FALSE(place_kernels(p, {}));
  p.may_turn = true;
  const auto plan = place_kernels(p, {});
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->kernels[1].turned);
  EXPECT_EQ(check_floorplan(p, *plan), "");
}

TEST(Floorplan, ThreadsDoNotChangeTheResult) {
  FloorplanProblem p = squares();
  p.kinds[0].push_back({5, 19, 7.5});
  FloorplanOptions one, two;
  one.moves = two.moves = 5000;
  two.threads = 2;
  const auto a = place_kernels(p, one), b = place_kernels(p, two);
  ASSERT_TRUE(a && b);
  for (size_t i = 0; i < a->kernels.size(); ++i) EXPECT_EQ(a->kernels[i].rect, b->kernels[i].rect);
}

// What no search depends on: rectangles that cost more than options allow, wherever they stand in the list.
TEST(KnownFloorplans, AreAskedForOnce) {
  const FloorplanProblem p = squares();
  FloorplanProblem more = p, other = p;
  more.kinds[0].insert(more.kinds[0].begin(), {1, 1, 1e6});
  other.wires[0].weight *= 2;
  FloorplanOptions o, longer;
  o.max_cost = longer.max_cost = 1e5;
  longer.moves += 1;
  KnownFloorplans known;
  int searches = 0;
  const auto search = [&]() -> KnownFloorplans::Rects { return std::vector<Rect>{{++searches, 0, 1, 1}}; };
  const auto found = [&](const FloorplanProblem& problem, const FloorplanOptions& options) {
    return known.rects(problem, options, search)->front().x;
  };
  EXPECT_EQ(found(p, o), 1);
  EXPECT_EQ(found(p, o), 1);
  EXPECT_EQ(found(more, o), 1);
  EXPECT_EQ(found(other, o), 2);
  EXPECT_EQ(found(p, longer), 3);
  o.max_cost = 1e7;
  EXPECT_EQ(found(p, o), 1);
  EXPECT_EQ(found(more, o), 4);
}

TEST(KnownFloorplans, AreThoseThatAreFoundAlone) {
  std::vector<FloorplanProblem> problems(3, squares());
  problems[1].kinds[0].insert(problems[1].kinds[0].begin(), {1, 1, 1e6});
  problems[2].width = problems[2].height = 1;  // no room
  KnownFloorplans known;
  for (const bool again : {false, true})
    for (const FloorplanProblem& p : problems) {
      FloorplanOptions o;
      o.moves = 5000;
      o.max_cost = 1e5;
      const auto alone = place_kernels(p, o);
      o.known = &known;
      const auto with = place_kernels(p, o);
      ASSERT_EQ(with.has_value(), alone.has_value()) << again;
      if (!alone) continue;
      EXPECT_EQ(with->score, alone->score);
      for (size_t i = 0; i < alone->kernels.size(); ++i) {
        EXPECT_EQ(with->kernels[i].rect, alone->kernels[i].rect);
        EXPECT_EQ(with->kernels[i].alternative, alone->kernels[i].alternative);
      }
    }
}

TEST(Floorplan, CornersAndEdgesByHand) {
  FloorplanProblem p;
  p.width = p.height = 10;
  p.pins = Pins::corners;
  p.wires = {{kEdge, 0, 1}, {0, 1, 2}, {1, kEdge, 1}};
  // From the north-west corner (2, 3) two columns to the west edge; from (4, 4) to (6, 7) 2 + 3 hops, twice;
  // from the south-east corner (7, 7) two rows or columns to an edge.
  EXPECT_DOUBLE_EQ(wire_length(p, {{2, 3, 3, 2}, {6, 7, 2, 1}}), 2 + 2 * 5 + 2);
}

TEST(Floorplan, FlatKernelsFillASquareFabric) {
  // 64 kernels of 1 x 1 on 8 x 8: rows of them would be 17 wide and 4 high.
  FloorplanProblem p;
  p.width = p.height = 8;
  p.kinds = {{{1, 1, 5}}};
  p.kernels.assign(64, 0);
  for (int i = 0; i + 1 < 64; ++i) p.wires.push_back({i, i + 1, 1});
  FloorplanOptions o;
  o.moves = 20000;
  const auto plan = place_kernels(p, o);
  ASSERT_TRUE(plan);
  EXPECT_EQ(check_floorplan(p, *plan), "");
  EXPECT_LE(plan->length, 2 * 63);
}

TEST(Floorplan, OneKernelAlone) {
  FloorplanProblem p;
  p.width = 4;
  p.height = 3;
  p.kinds = {{{4, 3, 1}, {2, 2, 2}}};
  p.kernels = {0};
  const auto plan = place_kernels(p, {});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->cost, 1);
}

TEST(Floorplan, TheCheckFindsOverlapsAndForeignRectangles) {
  const FloorplanProblem p = squares();
  const auto plan = place_kernels(p, {});
  ASSERT_TRUE(plan);
  Floorplan wrong = *plan;
  wrong.kernels[3].rect = wrong.kernels[4].rect;
  EXPECT_NE(check_floorplan(p, wrong).find("overlap"), std::string::npos);
  wrong = *plan;
  wrong.kernels[0].rect.w = 9;
  EXPECT_NE(check_floorplan(p, wrong), "");
  wrong = *plan;
  for (PlacedKernel& k : wrong.kernels) k.rect.x += 1;
  EXPECT_NE(check_floorplan(p, wrong).find("leaves the fabric"), std::string::npos);
}

}  // namespace
}  // namespace cs::mapping
