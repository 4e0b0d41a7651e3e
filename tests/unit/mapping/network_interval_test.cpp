// Skews, the interval of networks whose paths meet again, slack buffers, and the proof that nothing can stop:
// against calculations by hand.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "compiler/kernels/region_layout.h"
#include "compiler/mapping/network_interval.h"
#include "compiler/mapping/slack.h"
#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

using mapping::Instance;
using mapping::Parts;
using mapping::Skew;

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

TEST(Skews, OfAKernelThatTakesAWholeSample) {
  const Skew s = mapping::skew_of(kernel("k", 2, 10, 25, 40));
  EXPECT_TRUE(s.whole);
  EXPECT_EQ(s.words, (std::vector<int64_t>{10, 10}));
  EXPECT_EQ(s.first, s.words);
  // 40 cycles, of which 10 bring the words and the last 10 the results.
  EXPECT_DOUBLE_EQ(s.until_last, 30);
  EXPECT_DOUBLE_EQ(s.until_first, 20);
}

TEST(Skews, OfAProductThatTakesRowAfterRow) {
  Instance gemm = kernel("k", 1, 8, 4 * 50, 3 * 50 + 60);
  gemm.work.kind = kernels::contraction_kind();
  gemm.work.rows = 4;
  const Skew s = mapping::skew_of(gemm);
  EXPECT_FALSE(s.whole);
  EXPECT_EQ(s.words, std::vector<int64_t>{32});
  EXPECT_EQ(s.first, std::vector<int64_t>{8});
  EXPECT_EQ(s.holds, std::vector<int64_t>{16});  // one row is computed while the next one comes
  // Two rows come at once, the third one when the first is done, 8 + 50 cycles on, the last one 50 later.
  EXPECT_DOUBLE_EQ(s.taking, 8 + 2 * 50 + 8);
  EXPECT_DOUBLE_EQ(s.until_last, 60 - 8);
}

// x goes to `join` and, through `slow`, to `join` again.
Parts residual(int64_t words, const Instance& slow, const Instance& join) {
  Parts parts;
  parts.instances = {slow, join};
  parts.streams = {stream(-1, words, {{0, 0}, {1, 1}}), stream(0, words, {{1, 0}}),
                   stream(1, words, {{-1, 0}})};
  return parts;
}

TEST(NetworkInterval, OfAResidualIsTheLatencyOfTheLongPath) {
  const Machine m = machine("wse2");
  const Parts parts = residual(10, kernel("slow", 1, 10, 100, 10 + 90), kernel("join", 2, 10, 20, 30));
  // A sample: 10 words of x, a way of 14 (stage 6 and 8 hops), 90 cycles until the last word has left `slow`,
  // a way of 14 again; then `join` takes the next word of x, on its way for 14.
  auto now = network_interval(parts, {}, m, false);
  ASSERT_TRUE(now);
  EXPECT_DOUBLE_EQ(now->slowest, 100);
  EXPECT_DOUBLE_EQ(now->cycles, 10 + 14 + 90 + 14 - 14);
  EXPECT_EQ(now->samples, 1);
  ASSERT_FALSE(now->waits.empty());
  EXPECT_EQ(now->waits[0], (std::pair<int, int>{1, 1}));
  // A buffer for one sample: two are under way, and the slowest kernel sets the pace.
  now = network_interval(parts, {{{1, 1}, 1}}, m, false);
  EXPECT_DOUBLE_EQ(now->cycles, 100);
}

// A product sends the last of four rows three times 50 cycles after the first. A region that takes it
// computes for 300 cycles, in which it takes nothing; the product has room for no row beyond those that it
// works on.
TEST(NetworkInterval, OfAProductWhoseTakerTakesNothingWhileItComputes) {
  const Machine m = machine("wse2");
  Parts parts;
  Instance product = kernel("product", 1, 8, 4 * 50, 3 * 50 + 60);
  product.work.kind = kernels::contraction_kind();
  product.work.rows = 4;
  Instance region = kernel("region", 1, 128, 340, 32 + 300 + 128);
  region.work.kind = kernels::region_kind();
  region.region.emplace().program.buffers.resize(2);
  region.region->program.buffers[0].type = {DataType::f32, {32}};
  region.region->program.buffers[1].type = {DataType::f32, {128}};
  region.region->operand_buffer = {0};
  region.region->result_buffer = {1};
  parts.instances = {product, region};
  parts.streams = {stream(-1, 32, {{0, 0}}), stream(0, 32, {{1, 0}}), stream(1, 128, {{-1, 0}})};
  EXPECT_DOUBLE_EQ(mapping::skew_of(product).sending, 3 * 50);
  EXPECT_DOUBLE_EQ(network_interval(parts, {}, m, false)->cycles, 300 + 3 * 50);
}

// Each of two PEs takes five of ten words.
std::shared_ptr<const kernels::Layout> two_pes_take_half() {
  kernels::RegionLayout layout;
  layout.w = 2;
  layout.pes.resize(2);
  for (kernels::RegionPe& pe : layout.pes) pe.filters = {{.first = 0, .keep = 5, .period = 10}};
  return std::make_shared<const kernels::RegionLayout>(std::move(layout));
}

Instance region_of_ten_words() {
  Instance region = kernel("region", 1, 10, 100, 400);
  region.work.kind = kernels::region_kind();
  region.region.emplace().program.buffers.resize(1);
  region.region->program.buffers[0].type = {DataType::f32, {10}};
  region.region->operand_buffer = {0};
  return region;
}

// A region on two PEs takes 10 words and sends the first result 380 cycles after the last of them; its
// interval is 100. Of 10 words of results it asks for the next sample only when they are sent, which ends 400
// - 10 cycles after the last word.
TEST(NetworkInterval, OfARegionWhosePesTakeTheirPartsOneByOne) {
  const Machine m = machine("wse2");
  Parts parts;
  Instance region = region_of_ten_words();
  region.plan.cut.w = 2;
  parts.instances = {region};
  parts.streams = {stream(-1, 10, {{0, 0}}), stream(0, 10, {{-1, 0}})};
  // Each PE may need all words: those of the next sample come when the results are sent.
  EXPECT_DOUBLE_EQ(network_interval(parts, {}, m, false)->cycles, 10 + 390);
  // Each takes five of the ten: the interval is the region's, and the five words that a PE sends while it
  // does nothing else.
  parts.instances[0].layout = two_pes_take_half();
  EXPECT_DOUBLE_EQ(network_interval(parts, {}, m, false)->cycles, 100 + 5);
  // An interval that was walked contains them.
  const auto walked = network_interval(parts, {}, m, false, 1, mapping::PlansBy::walks);
  EXPECT_DOUBLE_EQ(walked->cycles, 95 + 5);
}

// The same on rows of PEs, each of which needs words from the beginning of x to its end: none is ready for the next
// sample before it has computed.
TEST(NetworkInterval, OfARegionWhosePesWaitForTheLastWords) {
  const Machine m = machine("wse2");
  Parts parts;
  Instance region = region_of_ten_words();
  region.plan.cut.h = 2;
  kernels::RegionLayout layout;
  layout.h = 2;
  layout.kinds.resize(1);
  layout.kinds[0].stored = {autogen::interval(0, 4)};
  region.layout = std::make_shared<const kernels::RegionLayout>(layout);
  parts.instances = {region};
  parts.streams = {stream(-1, 10, {{0, 0}}), stream(0, 10, {{-1, 0}})};
  EXPECT_DOUBLE_EQ(network_interval(parts, {}, m, false)->cycles, 100 + 5);
  layout.kinds[0].stored = {autogen::interval(0, 9)};
  parts.instances[0].layout = std::make_shared<const kernels::RegionLayout>(layout);
  EXPECT_DOUBLE_EQ(network_interval(parts, {}, m, false)->cycles, 10 + 390);
}

// As above, taken by a product that takes its ten words in five rows of two, 20 cycles each: it holds two, so
// 100 - 2 x (20 - 2) = 64 cycles pass from the first word to the last one. A PE that sends five of them has room for
// the four that the product holds: the fifth takes 6.4 cycles, the sending of all five no less than 5.
TEST(NetworkInterval, OfWordsThatATakerHasRoomFor) {
  const Machine m = machine("wse2");
  Instance region = kernel("region", 1, 10, 100, 400), product = kernel("product", 1, 2, 100, 100);
  region.work.kind = kernels::region_kind();
  region.region.emplace().program.buffers.resize(1);
  region.region->program.buffers[0].type = {DataType::f32, {10}};
  region.region->operand_buffer = {0};
  region.plan.cut.w = 2;
  region.layout = two_pes_take_half();
  product.work.kind = kernels::contraction_kind();
  product.work.rows = 5;
  Parts parts;
  parts.instances = {region, product};
  parts.streams = {stream(-1, 10, {{0, 0}}), stream(0, 10, {{1, 0}}), stream(1, 10, {{-1, 0}})};
  ASSERT_DOUBLE_EQ(mapping::skew_of(product).taking, 64);
  const auto walked = network_interval(parts, {}, m, false, 1, mapping::PlansBy::walks);
  EXPECT_DOUBLE_EQ(walked->cycles, 95 + 6.4);
  // By formulas, all five behind the interval as the product takes them.
  EXPECT_DOUBLE_EQ(network_interval(parts, {}, m, false)->cycles, 100 + 32);
}

TEST(Slack, IsWhatTheSlowestKernelNeedsAndNoMore) {
  const Machine m = machine("wse2");
  // Five kernels of 100 cycles one behind the other: about 5 x (90 + 14) cycles until x is wanted, so five or
  // six samples are under way, of which `join` has one.
  Parts parts;
  mapping::PlanLists plans;
  constexpr int kDeep = 5;
  for (int i = 0; i < kDeep; ++i) parts.instances.push_back(kernel("k", 1, 10, 100, 100));
  parts.instances.push_back(kernel("join", 2, 10, 20, 30));
  parts.streams.push_back(stream(-1, 10, {{0, 0}, {kDeep, 1}}));
  for (int i = 0; i < kDeep; ++i) parts.streams.push_back(stream(i, 10, {{i + 1, 0}}));
  parts.streams.push_back(stream(kDeep, 10, {{-1, 0}}));
  for (const Instance& inst : parts.instances) plans.push_back({mapping::SizedPlan{inst.plan, 1}});

  const double before = network_interval(parts, {}, m, false)->cycles;
  EXPECT_GT(before, 500);
  const mapping::Slack slack = mapping::plan_slack(parts, plans, m);
  ASSERT_EQ(slack.size(), 1U);
  EXPECT_EQ(slack.begin()->first, (std::pair<int, int>{kDeep, 1}));
  EXPECT_GE(slack.begin()->second, 4);
  EXPECT_LE(slack.begin()->second, 6);

  add_slack(parts, plans, slack, m, 8);
  ASSERT_EQ(parts.instances.size(), size_t(kDeep) + 2);
  EXPECT_EQ(parts.instances.back().slack, slack.begin()->second * 10);
  parts.instances.back().plan = plans.back()[0].plan;
  EXPECT_LT(network_interval(parts, {}, m, false)->cycles, 103);
}

// Two residuals one behind the other, equally long: a buffer for one of them leaves the interval as it is,
// and both are needed.
TEST(Slack, IsThereForEachOfTwoEqualCircles) {
  const Machine m = machine("wse2");
  Parts parts;
  mapping::PlanLists plans;
  constexpr int kDeep = 4, kNext = kDeep + 1;  // kernels on the long way, and with the join behind them
  parts.streams = {stream(-1, 10, {{0, 0}, {kDeep, 1}})};
  for (int first : {0, kNext}) {
    for (int i = 0; i < kDeep; ++i) {
      parts.instances.push_back(kernel("k", 1, 10, 100, 100));
      parts.streams.push_back(stream(first + i, 10, {{first + i + 1, 0}}));
    }
    parts.instances.push_back(kernel("join", 2, 10, 20, 30));
  }
  parts.streams.push_back(stream(kDeep, 10, {{kNext, 0}, {kNext + kDeep, 1}}));
  parts.streams.push_back(stream(kNext + kDeep, 10, {{-1, 0}}));
  for (const Instance& inst : parts.instances) plans.push_back({mapping::SizedPlan{inst.plan, 1}});
  EXPECT_GT(network_interval(parts, {}, m, false)->cycles, 400);
  const mapping::Slack slack = mapping::plan_slack(parts, plans, m);
  EXPECT_EQ(slack.count({kDeep, 1}), 1U);
  EXPECT_EQ(slack.count({kNext + kDeep, 1}), 1U);
  EXPECT_LT(network_interval(parts, slack, m, false)->cycles, 103);
}

// x has 60 words: a buffer would be at work for 60 of 100 cycles. The host sends x once more, and `join` has
// it whenever it wants it.
TEST(Slack, IsInTheHostWhereABufferWouldBeBusy) {
  const Machine m = machine("wse2");
  Parts parts = residual(60, kernel("slow", 1, 60, 100, 60 + 90), kernel("join", 2, 60, 70, 130));
  parts.streams[0].tensor = "x";
  parts.streams[0].port_in = "in_x";
  HostStep send;
  send.kind = HostStep::Kind::send;
  send.port = "in_x";
  send.tensor = "x";
  parts.host.steps = {send};
  mapping::PlanLists plans;
  for (const Instance& inst : parts.instances) plans.push_back({mapping::SizedPlan{inst.plan, 1}});
  const mapping::Slack slack = plan_slack(parts, plans, m);
  EXPECT_EQ(slack, (mapping::Slack{{{1, 1}, mapping::kSentAgain}}));
  EXPECT_DOUBLE_EQ(network_interval(parts, slack, m, false)->cycles, 100);

  add_slack(parts, plans, slack, m, 8);
  EXPECT_EQ(parts.instances.size(), 2u);
  ASSERT_EQ(parts.streams.size(), 4u);
  EXPECT_EQ(parts.streams[0].takers.size(), 1u);
  EXPECT_EQ(parts.streams[0].name, "host -> slow");
  EXPECT_EQ(parts.streams[3].name, "host -> join");
  ASSERT_EQ(parts.host.steps.size(), 2u);
  EXPECT_EQ(parts.host.steps[1].tensor, "x");
  EXPECT_EQ(parts.host.steps[1].port, parts.streams[3].port_in);
  EXPECT_NE(parts.streams[3].port_in, "in_x");
  add_slack(parts, plans, {{{0, 0}, mapping::kSentAgain}}, m, 8);
  EXPECT_EQ(parts.streams.size(), 4u) << "it has a port for itself";
  EXPECT_DOUBLE_EQ(network_interval(parts, {}, m, false)->cycles, 100);
}

// `split`, four PEs that send q and then v in turn, a quarter each, computes for 40 cycles. v goes to `late`,
// which takes 200 cycles for it.
TEST(NetworkInterval, OfSeveralResultsTheLastOneHoldsUpItsSender) {
  const Machine m = machine("wse2");
  Instance split = kernel("split", 1, 10, 60, 10 + 40 + 10);
  split.plan.cut.w = 4;
  split.results.resize(2);
  Instance late = kernel("late", 1, 10, 200, 210);
  late.work.kind = kernels::broadcast_kind();
  Parts parts;
  parts.instances = {split, late};
  parts.streams = {stream(-1, 10, {{0, 0}}), stream(0, 10, {{-1, 0}}), stream(0, 10, {{1, 0}}),
                   stream(1, 10, {{-1, 0}})};
  parts.streams[2].result = 1;
  // When the last of v is gone the last PE computes for 40 cycles and sends its 2.5 cycles of q; v comes
  // behind q and takes 200.
  EXPECT_DOUBLE_EQ(network_interval(parts, {}, m, false)->cycles, 40 + 2.5 + 200);
  parts.instances[1].plan.interval_cycles = 30;
  EXPECT_DOUBLE_EQ(network_interval(parts, {}, m, false)->cycles, 40 + 2.5 + 30);
}

// One PE that computes for 40 cycles and sends two results of 10 words: 60 cycles, in which it does nothing
// else. The first one is out when half of the words are.
TEST(NetworkInterval, OfSeveralResultsTheFirstOneIsOutBeforeTheLast) {
  const Machine m = machine("wse2");
  Instance split = kernel("split", 1, 10, 30, 10 + 40 + 20);
  split.work.m = 20;
  split.results.resize(2);
  Parts parts;
  parts.instances = {split};
  parts.streams = {stream(-1, 10, {{0, 0}}), stream(0, 10, {{-1, 0}}), stream(0, 10, {{-1, 0}})};
  parts.streams[2].result = 1;
  EXPECT_DOUBLE_EQ(network_interval(parts, {}, m, false)->cycles, 40 + 20);
}

// `join` takes x and what is made of it, 100 words each, in ten parts: the first of one goes with the first
// of the other.
Parts in_step(bool buffered) {
  Instance join = kernel("join", 2, 10, 500, 520);
  join.work.rows = 10;
  join.work.kind = kernels::region_kind();
  join.region.emplace();
  join.region->program.buffers.resize(2);
  for (auto& b : join.region->program.buffers) b.type = {DataType::f32, {10}};
  join.region->operand_buffer = {0, 1};
  Parts parts = residual(100, kernel("slow", 1, 100, 300, 320), join);
  parts.streams[0].tensor = "x";
  if (!buffered) return parts;
  Instance slack = kernel("slack", 1, 100, 200, 208);
  slack.work.kind = kernels::slack_kind();
  slack.slack = 100;
  parts.instances.push_back(slack);
  parts.streams[0].takers[1] = {2, 0};
  parts.streams.push_back(stream(2, 100, {{1, 1}}));
  return parts;
}

TEST(VerifyWaiting, AnEarlyOperandNeedsRoomUntilTheOtherOneComes) {
  Diag diag;
  EXPECT_TRUE(mapping::verify_waiting(in_step(true), diag)) << diag.to_string();
  // Without the buffer `slow` waits for the rest of x, which waits behind the first part in front of `join`.
  EXPECT_FALSE(mapping::verify_waiting(in_step(false), diag));
  EXPECT_NE(diag.to_string().find("join"), std::string::npos) << diag.to_string();
  EXPECT_NE(diag.to_string().find("10 of the 100 words of 'x'"), std::string::npos) << diag.to_string();
  EXPECT_FALSE(network_interval(in_step(false), {}, machine("wse2"), false));
  EXPECT_TRUE(network_interval(in_step(true), {}, machine("wse2"), false));
}

// A network that would stop gets room for a sample where it would, whatever its interval is.
TEST(Slack, IsThereWhereTheNetworkWouldStop) {
  const Machine m = machine("wse2");
  Parts parts = in_step(false);
  mapping::PlanLists plans;
  for (const Instance& inst : parts.instances) plans.push_back({mapping::SizedPlan{inst.plan, 1}});
  const mapping::Slack slack = least_slack(parts, plans, m);
  EXPECT_EQ(slack, (mapping::Slack{{{1, 1}, 1}}));
  EXPECT_GE(plan_slack(parts, plans, m).at({1, 1}), 1);
  // What goes on by itself gets none.
  const Parts whole = residual(100, kernel("slow", 1, 100, 300, 320), kernel("join", 2, 100, 500, 520));
  EXPECT_TRUE(least_slack(whole, plans, m).empty());
  add_slack(parts, plans, slack, m, 8);
  EXPECT_EQ(parts.instances.back().slack, 100);
  Diag diag;
  EXPECT_TRUE(mapping::verify_waiting(parts, diag)) << diag.to_string();
}

TEST(VerifyWaiting, ABufferThatIsTooSmallIsNoBuffer) {
  Parts parts = in_step(true);
  parts.instances.back().slack = 80;  // 90 words have to wait, and two PEs hold no more than this one
  Diag diag;
  EXPECT_FALSE(mapping::verify_waiting(parts, diag));
  parts.instances.back().slack = 90;
  EXPECT_TRUE(mapping::verify_waiting(parts, diag));
}

// What moves first makes no difference to what moves at all.
TEST(VerifyWaiting, StreamsMayBeGivenInAnyOrder) {
  for (const int64_t room : {80, 90}) {
    const Parts parts = in_step(true);
    std::vector<size_t> order(parts.streams.size());
    std::iota(order.begin(), order.end(), size_t(0));
    do {
      Parts other = parts;
      other.instances.back().slack = room;
      for (size_t s = 0; s < order.size(); ++s) other.streams[s] = parts.streams[order[s]];
      Diag diag;
      EXPECT_EQ(mapping::verify_waiting(other, diag), room == 90);
    } while (std::ranges::next_permutation(order).found);
  }
}

}  // namespace
}  // namespace cs::test
