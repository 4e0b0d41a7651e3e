// Streams that find no free color, or none on a link that is less full, take the way of others, which go elsewhere.
#include <cmath>
#include <numeric>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/mapping/link_loads.h"
#include "compiler/mapping/plan.h"
#include "compiler/mapping/route_moves.h"
#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

using mapping::FlowPlan;
using mapping::Instance;
using mapping::InTheWay;
using mapping::Parts;

Machine with_colors(int colors) {
  Machine m = machine("wse2");
  m.router.colors = colors;
  return m;
}

Instance buffer(Coord at) {
  Instance inst;
  inst.name = inst.title = "buffer";
  inst.work.kind = kernels::slack_kind();
  inst.work.operands = 1;
  inst.work.n = inst.work.m = 100;
  inst.slack = 100;
  inst.results.resize(1);
  inst.plan.cut.w = inst.plan.cut.h = 1;
  inst.plan.interval_cycles = 100;
  inst.rect = {at.x, at.y, 1, 1};
  return inst;
}

// From the first of two places to the second one.
using Ways = std::vector<std::pair<Coord, Coord>>;
Parts streams(const Ways& ways) {
  Parts parts;
  for (const auto& [from, to] : ways) {
    mapping::Stream s;
    s.name = "of " + std::to_string(parts.streams.size());
    s.words = 100;
    s.producer = int(parts.instances.size());
    parts.instances.push_back(buffer(from));
    s.takers = {{int(parts.instances.size()), 0}};
    parts.instances.push_back(buffer(to));
    parts.streams.push_back(s);
  }
  return parts;
}

struct Routed {
  bool ok = false;
  FlowPlan plan;
  Diag diag;
};
Routed route(const Ways& ways, const mapping::Extent& fabric, int colors, InTheWay in_the_way = InTheWay::moves) {
  Routed r;
  r.ok =
      mapping::route_flows_in_colors(streams(ways), fabric, with_colors(colors), in_the_way, r.plan, r.diag);
  return r;
}

// Every stream has a way from its core to the other one, and no router two streams of one color.
void expect_right(const FlowPlan& plan, const Ways& ways) {
  std::set<std::tuple<int, int, int>> taken;
  for (size_t s = 0; s < ways.size(); ++s) {
    const mapping::Flow& f = plan.flows[size_t(plan.of_stream[s])];
    const auto& [from, to] = ways[s];
    ASSERT_TRUE(f.routers.contains({from.y, from.x})) << f.name;
    ASSERT_TRUE(f.routers.contains({to.y, to.x})) << f.name;
    EXPECT_EQ(f.routers.at({from.y, from.x}).positions[0].rx, port_bit(Port::ramp)) << f.name;
    EXPECT_EQ(f.routers.at({to.y, to.x}).positions[0].tx, port_bit(Port::ramp)) << f.name;
    for (const auto& router : f.routers)
      EXPECT_TRUE(taken.insert({router.first.y, router.first.x, f.color}).second) << f.name;
  }
}

// The first stream goes straight along the middle row, where the second one begins: with one color it has to go round.
TEST(RouteMoves, AStreamInTheWayGoesRound) {
  const Ways ways = {{{0, 1}, {4, 1}}, {{2, 1}, {2, 0}}};
  EXPECT_FALSE(route(ways, {5, 3}, 1, InTheWay::stays).ok);
  const Routed r = route(ways, {5, 3}, 1);
  ASSERT_TRUE(r.ok) << r.diag.to_string();
  expect_right(r.plan, ways);
  EXPECT_EQ(r.plan.flows[size_t(r.plan.of_stream[0])].routers.size(), 7U);  // by the last row
}

// Without the last row both want the only row that leads past: one more color is needed, and is enough.
TEST(RouteMoves, EndWhereThereIsNoWayForAll) {
  const Ways ways = {{{0, 0}, {4, 0}}, {{2, 0}, {2, 1}}, {{1, 1}, {3, 1}}};
  EXPECT_FALSE(route(ways, {5, 2}, 1).ok);
  EXPECT_THAT(route(ways, {5, 2}, 1).diag.to_string(), testing::HasSubstr("no route was found"));
  const Routed r = route(ways, {5, 2}, 2);
  ASSERT_TRUE(r.ok) << r.diag.to_string();
  expect_right(r.plan, ways);
}

// A pin in each of 16 columns of 16 streams along the rows: the pins lie on them, and free rows are between.
TEST(RouteMoves, ManyStreamsGiveWay) {
  Ways ways;
  for (int i = 0; i < 16; ++i) ways.push_back({{0, 3 * i + 1}, {49, 3 * i + 1}});
  for (int i = 0; i < 16; ++i) ways.push_back({{3 * i + 1, 3 * i + 1}, {3 * i + 2, 3 * i + 1}});
  const Routed r = route(ways, {50, 50}, 1);
  ASSERT_TRUE(r.ok) << r.diag.to_string();
  expect_right(r.plan, ways);
}

// Two streams along the middle row share its links. On the rows beside it streams take all colors, one each way, that
// could as well go by the outer rows, and have no reason to: no link of theirs is full.
TEST(RouteMoves, StreamsRoundTheFullestLinkGiveWay) {
  const Ways ways = {{{0, 1}, {4, 0}}, {{4, 1}, {0, 0}}, {{0, 3}, {4, 4}},
                     {{4, 3}, {0, 4}}, {{0, 2}, {4, 2}}, {{1, 2}, {3, 2}}};
  const mapping::Extent fabric{5, 5};
  const Routed r = route(ways, fabric, 2, InTheWay::stays);
  ASSERT_TRUE(r.ok) << r.diag.to_string();
  expect_right(r.plan, ways);
  EXPECT_DOUBLE_EQ(mapping::busiest_link(streams(ways), r.plan, fabric).wavelets, 100);
}

// Two streams of 50 words along one row fill its links as long as the slowest kernel takes: no reason to leave.
TEST(RouteMoves, StreamsStayWhereNoLinkTakesLongerThanTheSlowestKernel) {
  const Ways ways = {{{0, 1}, {4, 1}}, {{1, 1}, {3, 1}}};
  Parts parts = streams(ways);
  for (mapping::Stream& s : parts.streams) s.words = 50;
  FlowPlan plan;
  Diag diag;
  ASSERT_TRUE(mapping::route_flows_in_colors(parts, {5, 3}, with_colors(2), InTheWay::stays, plan, diag))
      << diag.to_string();
  expect_right(plan, ways);
  EXPECT_EQ(plan.flows[size_t(plan.of_stream[0])].routers.size(), 5U);
  EXPECT_EQ(plan.flows[size_t(plan.of_stream[1])].routers.size(), 3U);
}

// What was moved more often costs twice as much each time, and in the end may not be moved.
TEST(RouteMoves, CostMoreEachTime) {
  mapping::Moves moves(2);
  EXPECT_DOUBLE_EQ(moves.cost({0, 1}), 2 * mapping::Moves::least());
  moves.add({1});
  EXPECT_DOUBLE_EQ(moves.cost({0, 1}), 3 * mapping::Moves::least());
  for (int i = 0; i < 15; ++i) moves.add({1});
  EXPECT_TRUE(std::isinf(moves.cost({0, 1})));
  EXPECT_DOUBLE_EQ(moves.cost({0}), mapping::Moves::least());
}

// Of 80 streams 80 / 8 + 64 may be moved, whichever they are.
TEST(RouteMoves, EndAfterAShareOfAll) {
  mapping::Moves moves(80);
  std::vector<size_t> all(74);
  std::iota(all.begin(), all.end(), size_t(0));
  EXPECT_DOUBLE_EQ(moves.cost(all), 74 * mapping::Moves::least());
  moves.add(all);
  EXPECT_TRUE(std::isinf(moves.cost({79})));
}

}  // namespace
}  // namespace cs::test
