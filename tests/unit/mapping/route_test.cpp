// Ways of streams round links that would carry more words than a sample has cycles, and the link that carries most.
#include <gtest/gtest.h>

#include "compiler/mapping/route_paths.h"
#include "compiler/mapping/route_priced.h"

namespace cs::test {
namespace {

using mapping::Flow;
using mapping::Parts;

// From the core of (x, 0).
Flow from(int x) {
  Flow f;
  f.routers[{0, x}] = mapping::fixed_route(port_bit(Port::ramp), 0);
  return f;
}

struct Fabric {
  mapping::Extent extent{5, 2};
  mapping::Paths paths{extent, 24, 100};
  Flow first = from(0);
  Fabric() {
    EXPECT_TRUE(paths.to_pe(first, {0, 0}, {4, 0}));
    paths.add(first, 80);
  }
};

TEST(Routes, GoRoundALinkThatIsFull) {
  Fabric on;
  on.paths.carry(50);
  Flow second = from(1);
  ASSERT_TRUE(on.paths.to_pe(second, {1, 0}, {3, 0}));
  EXPECT_EQ(second.routers.count({0, 2}), 0U);  // by the second row
  EXPECT_EQ(second.routers.count({1, 2}), 1U);
}

TEST(Routes, ShareALinkThatHasRoom) {
  Fabric on;
  on.paths.carry(20);
  Flow second = from(1);
  ASSERT_TRUE(on.paths.to_pe(second, {1, 0}, {3, 0}));
  EXPECT_EQ(second.routers.size(), 3U);
  EXPECT_EQ(second.routers.count({0, 2}), 1U);
}

// A link had better carry 100, or what one stream has; the first one has 80.
TEST(Routes, AreOverByWhatALinkWouldCarryTooMuch) {
  Fabric on;
  Flow second = from(1);
  ASSERT_TRUE((mapping::Paths{on.extent, 24, 1000}.to_pe(second, {1, 0}, {3, 0})));
  EXPECT_DOUBLE_EQ(on.paths.over(second, 20), 0);
  EXPECT_DOUBLE_EQ(on.paths.over(second, 50), 30);
  EXPECT_DOUBLE_EQ(on.paths.over(second, 150), 80);
}

TEST(Routes, ShareAFullLinkWhereThereIsNoOther) {
  mapping::Extent line{5, 1};
  mapping::Paths paths{line, 24, 100};
  Flow first = from(0), second = from(1);
  ASSERT_TRUE(paths.to_pe(first, {0, 0}, {4, 0}));
  paths.add(first, 80);
  paths.carry(50);
  EXPECT_TRUE(paths.to_pe(second, {1, 0}, {3, 0}));
}

// The first of two streams goes along the whole first row, to the core at its end or to the host behind it, the second
// one from (4, 0) to (5, 0).
class Sharing : public ::testing::TestWithParam<bool> {
 protected:
  bool find_way(const mapping::Paths& paths, size_t i) {
    flows[i] = from(begin[i].x);
    if (i == 0 && GetParam()) return place(paths);
    return paths.to_pe(flows[i], begin[i], end[i]);
  }
  bool place(const mapping::Paths& paths) {
    const mapping::Site site{Port::east, 0, {8, 0}};
    return paths.in_rounds() ? paths.to_site(flows[0], site) : paths.to_edge(flows[0], begin[0], site);
  }

  const mapping::Extent extent{9, 2};
  const Coord begin[2] = {{0, 0}, {4, 0}}, end[2] = {{8, 0}, {5, 0}};
  std::vector<Flow> flows{2};
};

// A way round the link that they share has two links more. At first that is more than the link costs both of them;
// since they share it round after round, it costs so much that one of them goes round it.
TEST_P(Sharing, EndsInRounds) {
  mapping::Paths paths{extent, 24, 100};
  constexpr double kWavelets = 51;
  for (const size_t i : {0, 1}) {
    ASSERT_TRUE(find_way(mapping::Paths{extent, 24, 1000}, i));
    paths.add(flows[i], kWavelets);
  }
  ASSERT_TRUE(paths.is_crowded(flows[0], kWavelets));
  paths.begin_rounds();
  paths.carry(kWavelets);
  int rounds = 0;
  for (; rounds < 20 && paths.is_crowded(flows[0], kWavelets); ++rounds) {
    for (const size_t i : {0, 1}) {
      paths.remove(flows[i], kWavelets);
      ASSERT_TRUE(find_way(paths, i));
      paths.add(flows[i], kWavelets);
    }
    paths.end_round({&flows[0], &flows[1]});
  }
  EXPECT_GT(rounds, 1);
  for (const Flow& f : flows) EXPECT_DOUBLE_EQ(paths.worst(f), kWavelets);
  EXPECT_EQ(flows[0].routers.size() + flows[1].routers.size(), 9U + 2U + 2U);  // the way round has two routers more
  const PortSet last = flows[0].routers.at({0, 8}).positions[0].tx;
  EXPECT_EQ(last, port_bit(GetParam() ? Port::east : Port::ramp));
}

INSTANTIATE_TEST_SUITE_P(Routes, Sharing, ::testing::Bool(),
                         [](const auto& test) { return test.param ? "WithTheHost" : "OnTheWafer"; });

// No way parts streams that leave the fabric at one place.
TEST(Routes, AreNotCrowdedByWhatLeavesTheFabric) {
  const mapping::Extent extent{3, 1};
  mapping::Paths paths{extent, 24, 100};
  Flow flows[] = {from(2), from(2)};
  for (Flow& f : flows) {
    ASSERT_TRUE(paths.to_edge(f, {2, 0}, {Port::east, 0, {2, 0}}));
    paths.add(f, 80);
  }
  EXPECT_FALSE(paths.is_crowded(flows[0], 80));
}

// A wall of 150 full routers between two neighbours, whose end is far away.
TEST(Routes, ASearchAtPricesGoesAsFarAsItHasTo) {
  const mapping::Extent extent{300, 200};
  std::vector<int> flows_at(size_t(extent.width) * size_t(extent.height), 0);
  constexpr int kWall = 101, kHigh = 150;
  for (int y = 0; y < kHigh; ++y) flows_at[size_t(y) * size_t(extent.width) + kWall] = 1;
  const mapping::Avoid avoid{extent, &flows_at, 1};
  mapping::PricedSearch search(extent);
  Flow f = from(kWall - 1);
  const mapping::LinkPrices prices(extent, 100);
  const mapping::LinkLoads loads(extent);
  const Rect target{kWall + 1, 0, 1, 1};
  const mapping::PricedSearch::Task task{f, target, Port::ramp, prices, loads, 10};
  EXPECT_FALSE(search.to_target(task, avoid, avoid, false));  // not with little effort
  ASSERT_TRUE(search.to_target(task, avoid, avoid, true));
  EXPECT_EQ(f.routers.count({kHigh, kWall}), 1U);
  EXPECT_EQ(f.routers.size(), size_t(2 * kHigh + 3));
}

// A wall of full routers parts the fabric; a gap in it joins both sides. What the flow itself passes is no wall to it.
TEST(Routes, RegionsArePartedByWalls) {
  const mapping::Extent extent{9, 5};
  std::vector<int> flows_at(size_t(extent.width) * size_t(extent.height), 0);
  for (int y = 0; y < extent.height; ++y) flows_at[size_t(y * extent.width + 4)] = 1;
  const mapping::Avoid avoid{extent, &flows_at, 1};
  const Flow f = from(1);
  EXPECT_TRUE(mapping::Regions(avoid).part(f, {6, 2, 1, 1}));
  EXPECT_TRUE(mapping::Regions(avoid).part(f, {4, 0, 3, 1}));
  EXPECT_FALSE(mapping::Regions(avoid).part(f, {3, 2, 3, 1}));
  EXPECT_FALSE(mapping::Regions(avoid).part(from(4), {6, 2, 1, 1}));
  flows_at[size_t(3 * extent.width + 4)] = 0;
  EXPECT_FALSE(mapping::Regions(avoid).part(f, {6, 2, 1, 1}));
  // Two arms that meet in the last row are one region; a bay without a way out is none.
  flows_at.assign(flows_at.size(), 0);
  for (int y = 0; y < 4; ++y) flows_at[size_t(y * extent.width + 4)] = 1;
  flows_at[size_t(1 * extent.width + 7)] = flows_at[size_t(0 * extent.width + 6)] = flows_at[8] = 1;
  EXPECT_FALSE(mapping::Regions(avoid).part(f, {5, 0, 1, 1}));
  EXPECT_TRUE(mapping::Regions(avoid).part(f, {7, 0, 1, 1}));
}

// Where a color was searched in vain it is not again, until rounds begin, in which flows leave their ways.
TEST(Routes, WallsOfAColorStay) {
  const mapping::Extent extent{9, 1};
  mapping::Paths paths{extent, 24, 1000};
  Flow wall = from(4);
  wall.color = 3;
  paths.add(wall, 10.0);
  for (const int color : {3, 3, 5, -1}) {
    paths.only(color);
    Flow f = from(1);
    EXPECT_EQ(paths.to_pe(f, {1, 0}, {7, 0}), color != 3);
    EXPECT_EQ(f.routers.size(), color != 3 ? 7U : 1U);
  }
  paths.begin_rounds();
  paths.remove(wall, 10.0);
  paths.only(3);
  Flow f = from(1);
  EXPECT_TRUE(paths.to_pe(f, {1, 0}, {7, 0}));
}

TEST(Routes, TheBusiestLinkIsThatOfAllStreamsOverIt) {
  Fabric on;
  Parts parts;
  parts.streams.resize(2);
  parts.streams[0].words = 80;
  parts.streams[1].words = 50;
  mapping::FlowPlan plan;
  plan.flows = {on.first, from(1)};
  ASSERT_TRUE((mapping::Paths{on.extent, 24, 1000}.to_pe(plan.flows[1], {1, 0}, {3, 0})));
  for (int s : {0, 1}) plan.flows[size_t(s)].stream = s, plan.flows[size_t(s)].name = s == 0 ? "a" : "b";
  const mapping::BusiestLink link = busiest_link(parts, plan, on.extent);
  EXPECT_DOUBLE_EQ(link.wavelets, 130);
  EXPECT_EQ(link.flows, (std::vector<std::string>{"a", "b"}));
}

// Two rows of a product whose results leave four PEs, four words each: behind each of the eight turns goes a
// control wavelet.
TEST(Routes, CarryTheControlWaveletsBehindTurns) {
  Parts parts;
  mapping::Instance product;
  product.work.kind = kernels::contraction_kind();
  product.work.rows = 2;
  product.work.n = product.work.m = 16;
  product.plan.cut = *kernels::cut_work(product.work, 1, 4);
  product.rect = {0, 0, 1, 4};
  parts.instances = {product};
  mapping::Stream s;
  s.words = 32;
  EXPECT_DOUBLE_EQ(wavelets_of(parts, s).all, 32);  // the host's
  s.producer = 0;
  EXPECT_DOUBLE_EQ(wavelets_of(parts, s).all, 32 + 8);
}

}  // namespace
}  // namespace cs::test
