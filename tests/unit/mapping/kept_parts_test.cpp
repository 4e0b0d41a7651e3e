// The interval of walked regions whose PEs keep parts of their operands: against calculations by hand.
#include <gtest/gtest.h>

#include "compiler/kernels/region_coming.h"
#include "compiler/kernels/region_layout.h"
#include "compiler/mapping/network_interval.h"
#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

using mapping::Instance;
using mapping::Parts;

// A kernel on one PE that takes `words` of every operand and sends as many.
Instance kernel(const std::string& name, int operands, int64_t words, double interval, double latency) {
  Instance inst;
  inst.name = inst.title = name;
  inst.work.operands = operands;
  inst.work.n = inst.work.m = words;
  inst.plan.interval_cycles = interval;
  inst.plan.latency_cycles = latency;
  return inst;
}

mapping::Stream stream(int producer, int64_t words, std::vector<mapping::Taker> takers) {
  mapping::Stream s;
  s.producer = producer;
  s.words = words;
  s.takers = std::move(takers);
  return s;
}

Instance region_of_ten_words() {
  Instance region = kernel("region", 1, 10, 100, 400);
  region.work.kind = kernels::region_kind();
  region.work.m = 1;
  region.region.emplace().program.buffers.resize(1);
  region.region->program.buffers[0].type = {DataType::f32, {10}};
  region.region->operand_buffer = {0};
  return region;
}

// Cycles of a region's result, one word, which is sent before it asks for words again.
constexpr double kSending = 1;

// A region computes for 80 cycles from its last word on. PEs that keep all ten words have room for the next sample's
// when they have computed and sent: 10 + 80. Of PEs that keep five each the first one has them 5 cycles after the first
// word: 5 + 80. Where all of them keep words 2 and 3 alone, what is before and behind passes, and the two wait in front
// of the PE until it has computed: 80. Five are more than the shortest queue and a lane hold, 2 + 2.
TEST(NetworkInterval, OfAWalkedRegionIsThatOfThePartsThatItsPesKeep) {
  const Machine m = machine("wse2");
  Parts parts;
  Instance region = region_of_ten_words();
  region.plan.cut.w = 2;
  region.plan.interval_cycles = 50;
  region.plan.computing_cycles = 80;
  kernels::RegionLayout layout;
  layout.w = 2;
  parts.instances = {region};
  parts.streams = {stream(-1, 10, {{0, 0}}), stream(0, 1, {{-1, 0}})};
  const auto interval = [&](kernels::KeptPart kept) {
    layout.kept = {kept};
    parts.instances[0].layout = std::make_shared<const kernels::RegionLayout>(layout);
    return network_interval(parts, {}, m, false, 1, mapping::PlansBy::walks)->cycles;
  };
  EXPECT_NEAR(interval({0, 10, 10}), 10 + 80, kSending);
  EXPECT_NEAR(interval({0, 10, 5}), 5 + 80, kSending);
  EXPECT_NEAR(interval({2, 4, 2}), 80, kSending);
}

// `mean` sends 8 words, one every 40 cycles, to a region whose PEs take one each and compute for 200 cycles: the first
// of them goes on with the next sample while the last ones wait for words of this one. All 8 of every PE are the 280
// cycles in which they come, and 200 of computing.
TEST(NetworkInterval, OfPesThatTakeSlowWordsInTurn) {
  const Machine m = machine("wse2");
  Parts parts;
  Instance mean = kernel("mean", 1, 8, 320, 330), region = region_of_ten_words();
  mean.work.kind = kernels::reduction_kind();
  mean.work.rows = 8, mean.work.n = 4, mean.work.m = 1;
  region.work.n = 8;
  region.region->program.buffers[0].type = {DataType::f32, {8}};
  region.plan.interval_cycles = 210;
  region.plan.computing_cycles = 200;
  kernels::RegionLayout layout;
  layout.w = 2;
  parts.instances = {mean, region};
  parts.streams = {stream(-1, 32, {{0, 0}}), stream(0, 8, {{1, 0}}), stream(1, 1, {{-1, 0}})};
  const double sending = mapping::skew_of(mean).sending;
  ASSERT_DOUBLE_EQ(sending, 7 * 40);
  const auto interval = [&](int64_t longest) {
    layout.kept = {{0, 8, longest}};
    parts.instances[1].layout = std::make_shared<const kernels::RegionLayout>(layout);
    return network_interval(parts, {}, m, false, 1, mapping::PlansBy::walks)->cycles;
  };
  EXPECT_NEAR(interval(8), 7 * 40 + 200, kSending);
  EXPECT_NEAR(interval(1), 320, 1e-6);
}

// Ten PEs keep a word each, compute for 80 cycles and send one word each. The last one has its word ten
// cycles after the first one, when that has long begun: where results leave in the order of the words, its
// own word follows at once, 80 + 1, and it has room for the next one then. Where that is not known, nine
// words leave between.
TEST(NetworkInterval, OfPesThatSendInTheOrderInWhichTheirWordsCome) {
  const Machine m = machine("wse2");
  Parts parts;
  Instance region = region_of_ten_words();
  region.work.m = 10;
  region.plan.cut.w = 10;
  region.plan.interval_cycles = 50;
  region.plan.computing_cycles = 80;
  kernels::RegionLayout layout;
  layout.w = 10;
  layout.kept = {{0, 10, 1}};
  parts.instances = {region};
  parts.streams = {stream(-1, 10, {{0, 0}}), stream(0, 10, {{-1, 0}})};
  const auto interval = [&](bool in_order) {
    layout.in_order = in_order;
    parts.instances[0].layout = std::make_shared<const kernels::RegionLayout>(layout);
    return network_interval(parts, {}, m, false, 1, mapping::PlansBy::walks)->cycles;
  };
  EXPECT_NEAR(interval(true), 80 + 1, kSending);
  EXPECT_NEAR(interval(false), 80 + 10, kSending);
}

// A row of PEs keeps 20 words of every 100 of a picture: its first 20 are held on the way while it computes
// (on WSE-2 two input queues of 6, an output queue of 6 and two routers of 2), and the stream goes on to the
// next hundred. 30 are not, and of a row that takes all there is no gap.
TEST(RegionComing, AFirstRunThatIsHeldOnTheWayComesEarly) {
  const Machine m = machine("wse2");
  ASSERT_EQ(kernels::held_on_the_way(m), 6 + 6 + 6 + 2 * 2);
  const auto row = [](int64_t run) { return autogen::Runs{{{.stride = 100, .count = 6}, {.count = run}}}; };
  EXPECT_DOUBLE_EQ(kernels::come_early({row(20)}, m), 100);
  EXPECT_DOUBLE_EQ(kernels::come_early({row(30)}, m), 0);
  EXPECT_DOUBLE_EQ(kernels::come_early({row(20), row(30)}, m), 0);
  EXPECT_DOUBLE_EQ(kernels::come_early({autogen::interval(0, 19), row(20)}, m), 0);
  EXPECT_DOUBLE_EQ(kernels::come_early({}, m), 0);
}

}  // namespace
}  // namespace cs::test
