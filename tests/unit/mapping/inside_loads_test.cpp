// What kernels send inside loads links, which streams go round.
#include <gtest/gtest.h>

#include "compiler/mapping/link_loads.h"
#include "compiler/mapping/plan.h"
#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

using mapping::Instance;
using mapping::LinkLoads;
using mapping::Parts;

constexpr int64_t kWords = 1000;
constexpr mapping::Extent kFabric{12, 5};

Instance instance(const std::string& name, const kernels::Kind* kind, const Rect& rect) {
  Instance inst;
  inst.name = inst.title = name;
  inst.node_names = {name};
  inst.work.kind = kind;
  inst.work.operands = 1;
  inst.work.rows = 1;
  inst.work.n = inst.work.m = kWords;
  inst.plan.interval_cycles = inst.plan.latency_cycles = double(kWords);
  inst.plan.cut.w = rect.w, inst.plan.cut.h = rect.h;
  inst.results.resize(1);
  inst.rect = rect;
  return inst;
}
Instance buffer(const std::string& name, const Rect& rect) {
  Instance inst = instance(name, kernels::slack_kind(), rect);
  inst.slack = kWords;
  return inst;
}

mapping::Stream stream(int producer, mapping::Taker taker) {
  mapping::Stream s;
  s.name = "of " + std::to_string(producer);
  s.producer = producer;
  s.words = kWords;
  s.takers = {taker};
  if (producer < 0) s.port_in = "in" + std::to_string(taker.instance);
  if (taker.instance < 0) s.port_out = "out" + std::to_string(producer);
  return s;
}

mapping::FlowPlan route(const Parts& parts) {
  mapping::FlowPlan plan;
  Diag diag;
  EXPECT_TRUE(route_flows(parts, kFabric, machine("wse2"), plan, diag)) << diag.to_string();
  return plan;
}

// a -> b past or through a buffer of four PEs, which lies between them.
TEST(InsideLoads, AStreamGoesRoundWhatABufferHandsOn) {
  Parts parts;
  parts.instances = {buffer("a", {1, 2, 1, 1}), buffer("b", {10, 2, 1, 1}), buffer("buffer", {4, 2, 4, 1})};
  parts.streams = {stream(-1, {0, 0}), stream(0, {1, 0}), stream(1, {-1, 0}), stream(-1, {2, 0}),
                   stream(2, {-1, 0})};
  const mapping::FlowPlan plan = route(parts);
  const LinkLoads inside = inside_loads(parts, plan, kFabric);
  for (int x = 4; x < 7; ++x) EXPECT_DOUBLE_EQ(inside.at({x, 2}, Port::east), double(kWords)) << x;
  EXPECT_DOUBLE_EQ(inside.at({7, 2}, Port::east), 0);
  EXPECT_DOUBLE_EQ(inside.fullest(plan.flows[size_t(plan.of_stream[1])]).wavelets, 0);
  EXPECT_DOUBLE_EQ(busiest_link(parts, plan, kFabric).wavelets, double(kWords));
}

// A product of two rows of five PEs and 1,000 words, of which 200 go to each column: a router of the first row keeps
// its part and passes the rest, and partial sums go from PE to PE.
TEST(InsideLoads, ColumnsTakeTheirPartsOneAfterTheOther) {
  Parts parts;
  Instance product = instance("product", kernels::contraction_kind(), {3, 1, 5, 2});
  product.plan.cut = *kernels::cut_work(product.work, 5, 2);
  parts.instances = {product};
  parts.streams = {stream(-1, {0, 0}), stream(0, {-1, 0})};
  const mapping::FlowPlan plan = route(parts);
  const LinkLoads inside = inside_loads(parts, plan, kFabric);
  const double sums = double(kWords) / 2;  // of a row
  EXPECT_DOUBLE_EQ(inside.at({2, 1}, Port::east), 1000);  // the feeder
  for (int c = 0; c < 4; ++c) EXPECT_DOUBLE_EQ(inside.at({3 + c, 1}, Port::east), 800 - 200 * c + sums) << c;
  for (int c = 0; c < 5; ++c) EXPECT_DOUBLE_EQ(inside.at({3 + c, 1}, Port::south), 200) << c;
  for (int c = 0; c < 4; ++c) EXPECT_DOUBLE_EQ(inside.at({3 + c, 2}, Port::east), sums) << c;
}

// Of four PEs that send a result in turns the first one's link carries a quarter of it.
TEST(InsideLoads, AStreamGrowsFromSenderToSender) {
  mapping::Flow f;
  for (int x = 1; x < 7; ++x) f.routers[{0, x}] = {{{{true, port_bit(Port::west), port_bit(Port::east)}}}};
  LinkLoads loads(kFabric);
  const mapping::Wavelets wavelets(double(kWords), {1, 0, 4, 1});
  loads.add(f, wavelets);
  for (int x = 1; x < 5; ++x) EXPECT_DOUBLE_EQ(loads.at({x, 0}, Port::east), 250 * x) << x;
  EXPECT_DOUBLE_EQ(loads.at({6, 0}, Port::east), 1000);
  loads.add(f, -wavelets);
  EXPECT_DOUBLE_EQ(loads.fullest(f).wavelets, 0);
}

}  // namespace
}  // namespace cs::test
