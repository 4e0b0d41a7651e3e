// Parts of a network that repeat, snakes of buffers and arrangements of kernels of many sizes, by hand.
#include "compiler/mapping/repeats.h"

#include <gtest/gtest.h>

#include <numeric>

#include "compiler/kernels/kind.h"
#include "compiler/mapping/arrangement.h"

namespace cs::mapping {
namespace {

// A network of two kernels, three layers of nine, and one kernel: kinds 0 to 8 are those of a layer, 9 the others'.
FloorplanProblem layers() {
  FloorplanProblem p;
  p.width = p.height = 80;
  for (int k = 0; k < 9; ++k) p.kinds.push_back({{2 + k, 10 - k, 5}});
  p.kinds.push_back({{3, 3, 5}});
  p.kernels = {9, 9};
  for (int layer = 0; layer < 3; ++layer)
    for (int k = 0; k < 9; ++k) p.kernels.push_back(k);
  p.kernels.push_back(9);
  for (int k = 0; k + 1 < int(p.kernels.size()); ++k) p.wires.push_back({k, k + 1, 1});
  return p;
}

TEST(Repeats, LayersAreFoundAndPlacedAlike) {
  const FloorplanProblem p = layers();
  const std::optional<Repeats> r = find_repeats(p);
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->first, 2U);
  EXPECT_EQ(r->length, 9U);
  EXPECT_EQ(r->count, 3U);
  FloorplanProblem unit = unit_problem(p, *r);
  EXPECT_EQ(unit.kernels.size(), 9U);
  EXPECT_EQ(unit.wires.size(), 8U);
  unit.width = unit.height = 30;
  const auto placed = place_kernels(unit, {});
  ASSERT_TRUE(placed.has_value());
  const std::vector<UnitPlan> units{unit_plan(*placed)};
  const FloorplanProblem outer = problem_of_units(p, *r, units);
  EXPECT_EQ(outer.kernels.size(), 6U);
  EXPECT_EQ(outer.wires.size(), 5U);
  const auto of_units = place_kernels(outer, {});
  ASSERT_TRUE(of_units.has_value());
  const Floorplan all = with_kernels(*of_units, p, *r, units);
  EXPECT_EQ(check_floorplan(p, all), "");
  const auto place = [&](size_t k) { return all.kernels[k].rect; };
  for (const size_t layer : {11, 20})
    for (size_t k = 0; k < 9; ++k) {
      EXPECT_EQ(place(layer + k).x - place(2 + k).x, place(layer).x - place(2).x);
      EXPECT_EQ(place(layer + k).y - place(2 + k).y, place(layer).y - place(2).y);
    }
}

// Where the stretch is longer than the units, they begin where the fewest wires cross.
TEST(Repeats, AreCutWhereTheFewestWiresCross) {
  FloorplanProblem p = layers();
  p.kernels.insert(p.kernels.end() - 1, {0, 1, 2, 3});
  for (Wire& w : p.wires)
    if (w.from == 29) w.to = 33;
  // Kernels 0 and 1 of each layer have a second wire, so that between them and what comes next two wires cross.
  for (int layer = 0; layer < 3; ++layer) p.wires.push_back({2 + 9 * layer, 4 + 9 * layer, 1});
  const std::optional<Repeats> r = find_repeats(p);
  ASSERT_TRUE(r.has_value());
  EXPECT_EQ(r->length, 9U);
  EXPECT_TRUE(r->first == 2 || r->first >= 4) << r->first;
}

TEST(Repeats, AreNotSeenInKernelsThatDiffer) {
  FloorplanProblem p = layers();
  for (size_t k = 0; k < p.kernels.size(); ++k) p.kernels[k] = int(k);
  EXPECT_FALSE(find_repeats(p).has_value());
}

ShapeCurve only(int w, int h) { return {{int16_t(w), int16_t(h)}}; }
std::vector<const ShapeCurve*> all_of(const std::vector<ShapeCurve>& curves) {
  std::vector<const ShapeCurve*> list;
  for (const ShapeCurve& c : curves) list.push_back(&c);
  return list;
}

// 14 kernels of 4 x 1 and two of 10 x 10: halves by area put the two on different sides.
TEST(Arrangement, HalvesByArea) {
  std::vector<ShapeCurve> curves(16, only(4, 1));
  curves[0] = curves[15] = only(10, 10);
  const std::optional<Arrangement> a = arrange_halves(all_of(curves), {28, 11});
  ASSERT_TRUE(a.has_value());
  ASSERT_EQ(a->pairs.size(), 15U);
  const Arrangement::Pair& root = a->pairs.back();
  EXPECT_TRUE(root.beside);
  const auto holds = [&](auto&& self, int node, int kernel) -> bool {
    if (node < 16) return node == kernel;
    const Arrangement::Pair& pair = a->pairs[size_t(node - 16)];
    return self(self, pair.first, kernel) || self(self, pair.second, kernel);
  };
  EXPECT_TRUE(holds(holds, root.first, 0));
  EXPECT_TRUE(holds(holds, root.second, 15));
  EXPECT_FALSE(holds(holds, root.first, 15));
}

// What is beside what is known when the box is: four of 6 x 2 lie in 6 x 8, in 12 x 4 and in 24 x 2, and 47 PEs are too
// few. One of 8 x 8 has two of 4 x 1 below it, in 8 x 9, only if those two are a group.
TEST(Arrangement, HalvesLieAsTheBoxNeedsThem) {
  const std::vector<ShapeCurve> four(4, only(6, 2));
  const auto high = arrange_halves(all_of(four), {6, 8}), wide = arrange_halves(all_of(four), {24, 2});
  ASSERT_TRUE(high && wide);
  for (const Arrangement::Pair& p : high->pairs) EXPECT_FALSE(p.beside);
  for (const Arrangement::Pair& p : wide->pairs) EXPECT_TRUE(p.beside);
  EXPECT_TRUE(arrange_halves(all_of(four), {12, 4}).has_value());
  EXPECT_FALSE(arrange_halves(all_of(four), {23, 2}).has_value());
  EXPECT_FALSE(arrange_halves(all_of(four), {5, 100}).has_value());
  const std::vector<ShapeCurve> three{only(8, 8), only(4, 1), only(4, 1)};
  EXPECT_TRUE(arrange_halves(all_of(three), {8, 9}).has_value());
  EXPECT_TRUE(arrange_halves(all_of({only(3, 3)}), {3, 3})->pairs.empty());
}

TEST(Snake, GoesFromCornerToCornerStepByStep) {
  for (const Rect& r : {Rect{4, 5, 7, 1}, Rect{4, 5, 1, 6}, Rect{4, 5, 3, 4}, Rect{0, 0, 5, 3}}) {
    const int pes = r.w * r.h;
    Coord last = kernels::snake_at(r, 0);
    EXPECT_EQ(last.x, r.x);
    EXPECT_EQ(last.y, r.y);
    for (int i = 1; i < pes; ++i) {
      const Coord next = kernels::snake_at(r, i);
      EXPECT_EQ(std::abs(next.x - last.x) + std::abs(next.y - last.y), 1);
      EXPECT_TRUE(next.x >= r.x && next.x < r.x + r.w && next.y >= r.y && next.y < r.y + r.h);
      last = next;
    }
    EXPECT_EQ(last.x, r.x + r.w - 1);
    EXPECT_EQ(last.y, r.y + r.h - 1);
  }
}

}  // namespace
}  // namespace cs::mapping
