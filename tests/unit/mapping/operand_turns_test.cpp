// Operands that rows take one after the other: which, in which order, that the network cannot stop so, what
// it brings.
#include "compiler/mapping/operand_turns.h"

#include <gtest/gtest.h>

#include "compiler/mapping/plan.h"
#include "compiler/mapping/skew.h"
#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

using mapping::Instance;
using mapping::Parts;

constexpr int kRows = 4;
constexpr int64_t kPart = 256, kWords = kRows * kPart;

struct InTurn : kernels::Layout {
  explicit InTurn(int64_t run_words, bool sends = true) : run(run_words), behind(sends) {}
  kernels::StreamFilter filter(size_t, int, int) const override { return filter_of_feeders; }
  int64_t turn_words(size_t) const override { return run; }
  bool sends_behind() const override { return behind; }
  int64_t run;
  bool behind;
  kernels::StreamFilter filter_of_feeders{0, uint32_t(kPart), uint32_t(kWords)};
};

// A kernel that takes whole samples, an interval of 1,500 cycles: 3 x 1,024 words on the links of its rows
// take longer.
Instance kernel(const std::string& name, int operands, double latency = 4000) {
  Instance inst;
  inst.name = inst.title = name;
  inst.work.operands = operands;
  inst.work.n = inst.work.m = kWords;
  inst.plan.interval_cycles = 1500;
  inst.plan.latency_cycles = latency;
  inst.rect = {0, 0, 2, kRows};
  inst.results.resize(1);
  if (operands > 1) inst.layout = std::make_shared<InTurn>(kPart);
  return inst;
}

mapping::Stream stream(int producer, int result, std::vector<mapping::Taker> takers) {
  mapping::Stream s;
  s.producer = producer;
  s.result = result;
  s.words = kWords;
  s.takers = std::move(takers);
  return s;
}

// x -> `late` -> operand 0 of `join`, whose operand 1 is another input.
Parts late_and_early() {
  Parts parts;
  parts.instances = {kernel("late", 1), kernel("join", 2)};
  parts.streams = {stream(-1, 0, {{0, 0}}), stream(0, 0, {{1, 0}}), stream(-1, 0, {{1, 1}}),
                   stream(1, 0, {{-1, 0}})};
  return parts;
}

TEST(OperandTurns, WhatIsThereFirstComesFirst) {
  Parts parts = late_and_early();
  mapping::choose_operand_turns(parts, machine("wse2"));
  EXPECT_EQ(parts.instances[1].operand_turns, (std::vector<int>{1, 0}));
  EXPECT_TRUE(parts.instances[0].operand_turns.empty());
}

// Two operands of 1,024 words: no kernel waits for links where one takes as long as both.
TEST(OperandTurns, AreLeftOutWhereLinksAreNotShared) {
  for (const double slowest : {2 * kWords, 2 * kWords - 1}) {
    Parts parts = late_and_early();
    parts.instances[0].plan.interval_cycles = slowest;
    mapping::choose_operand_turns(parts, machine("wse2"));
    EXPECT_EQ(parts.instances[1].operand_turns.empty(), slowest == 2 * kWords) << slowest;
  }
}

// A row of `height` gets that share of each of the three streams, and computes for 400 cycles.
Instance& join_of(Parts& parts, int height, bool sends_behind) {
  Instance& join = parts.instances[1];
  join.rect.h = height;
  join.plan.latency_cycles = 2 * kWords + 400;
  join.layout = std::make_shared<InTurn>(kWords / height, sends_behind);
  EXPECT_EQ(mapping::skew_of(join).until_first, 400);
  return join;
}

// Three times 512 words and computing: 1,936 cycles. The result is one of those that take turns where another
// kernel takes about as long, ten percent.
TEST(OperandTurns, TheResultIsOneOfThemWhereNobodyWaitsForThatForLong) {
  for (const double slowest : {1750, 1770}) {
    Parts parts = late_and_early();
    const Instance& join = join_of(parts, 2, true);
    parts.instances[0].plan.interval_cycles = slowest;
    mapping::choose_operand_turns(parts, machine("wse2"));
    EXPECT_EQ(join.gates(), slowest < 1760 ? 1U : 3U) << slowest;
    EXPECT_FALSE(join.operands_held);
  }
}

// Where results cannot take turns with operands: 256 words into the feeder's memory, three times 256 over the
// row's links and computing, 1,424 cycles.
TEST(OperandTurns, FeedersHoldOperandsWhereTheirRowsAreDoneInTime) {
  for (const double slowest : {1423, 1424}) {
    Parts parts = late_and_early();
    const Instance& join = join_of(parts, 4, false);
    for (Instance& inst : parts.instances) inst.plan.interval_cycles = slowest;
    mapping::choose_operand_turns(parts, machine("wse2"));
    EXPECT_EQ(join.operands_held, slowest == 1424) << slowest;
    EXPECT_EQ(join.gates(), slowest == 1424 ? 0U : 1U) << slowest;
  }
}

// A third operand: what is held is later by a part of four, not of three, and nothing waits for its turn.
TEST(OperandTurns, FeedersHoldMoreThanTwoOperands) {
  Parts parts = late_and_early();
  parts.instances[1] = kernel("join", 3);
  parts.streams.push_back(stream(-1, 0, {{1, 2}}));
  Instance& join = join_of(parts, 4, true);
  parts.instances[0].plan.interval_cycles = 2 * kWords;  // of 3 x 1,024
  mapping::choose_operand_turns(parts, machine("wse2"));
  EXPECT_TRUE(join.operands_held);
  EXPECT_EQ(join.gates(), 0U);
}

// A row's feeder takes 256 words and sends them beside 256 of the other operand, until cycle 768. Behind a filter that
// counts half of the stream, of which 512 words pass, it sends nothing in 512 cycles more, without a filter in 768.
TEST(OperandTurns, FeedersHoldOperandsWhereWordsForOthersLeaveTimeToSend) {
  using Filter = kernels::StreamFilter;
  for (const auto& [filter, cycles] : {std::pair{Filter{0, 512, 512}, 1280}, std::pair{Filter{}, 1536}})
    for (const int slowest : {cycles - 1, cycles}) {
      Parts parts = late_and_early();
      const Instance& join = join_of(parts, 4, false);
      parts.instances[1].plan.latency_cycles = 2 * kWords;  // computes in no time: the row is done in cycle 1,024
      const auto layout = std::make_shared<InTurn>(kPart, false);
      layout->filter_of_feeders = filter;
      parts.instances[1].layout = layout;
      for (Instance& inst : parts.instances) inst.plan.interval_cycles = slowest;
      mapping::choose_operand_turns(parts, machine("wse2"));
      EXPECT_EQ(join.operands_held, slowest == cycles) << cycles;
    }
}

TEST(OperandTurns, FeedersHoldWhatTheyHaveRoomFor) {
  for (const int bytes : {2048 + 4 * int(kPart) - 1, 2048 + 4 * int(kPart)}) {
    Parts parts = late_and_early();
    const Instance& join = join_of(parts, 4, false);
    Machine small = machine("wse2");
    small.core.memory_bytes = bytes;
    mapping::choose_operand_turns(parts, small);
    EXPECT_EQ(join.operands_held, bytes == 2048 + 4 * int(kPart));
  }
}

TEST(OperandTurns, AreOfRowsWithOneRunOfEachOperand) {
  Parts parts = late_and_early();
  parts.instances[1].layout = std::make_shared<InTurn>(kPart / 2);
  mapping::choose_operand_turns(parts, machine("wse2"));
  EXPECT_TRUE(parts.instances[1].operand_turns.empty());
  EXPECT_FALSE(parts.instances[1].operands_held);
}

// The first result of `split` is operand 1 of `join`, and leaves before the other one: it would wait in front
// of a row that waits for operand 0.
TEST(OperandTurns, AreLeftOutWhereTheNetworkWouldStop) {
  for (const bool crossed : {false, true}) {
    Parts parts;
    parts.instances = {kernel("split", 1), kernel("join", 2)};
    parts.instances[0].results.resize(2);
    parts.streams = {stream(-1, 0, {{0, 0}}), stream(0, crossed ? 1 : 0, {{1, 0}}),
                     stream(0, crossed ? 0 : 1, {{1, 1}}), stream(1, 0, {{-1, 0}})};
    for (const bool in_time : {false, true}) {  // what feeders hold stops nobody
      if (in_time) join_of(parts, 4, true);
      mapping::choose_operand_turns(parts, machine("wse2"));
      EXPECT_EQ(parts.instances[1].operand_turns.empty(), crossed);
      EXPECT_EQ(parts.instances[1].operands_held, crossed && in_time);
    }
    Diag diag;
    EXPECT_TRUE(mapping::verify_waiting(parts, diag)) << diag.to_string();
    parts.instances[1].operand_turns = {0, 1};
    EXPECT_EQ(mapping::verify_waiting(parts, diag), !crossed);
  }
}

// The inputs are added up on a rectangle of PEs, and no sample comes later than `cycles` behind the one before.
void expect_sum_within(const graph::Graph& g, const char* machine_name, int width, int height, int samples,
                       unsigned cycles) {
  mapping::MapOptions options;
  options.force_width = width, options.force_height = height;
  std::map<std::string, std::vector<float>> inputs;
  for (const graph::ValueId v : g.inputs)
    inputs[g.value(v).name] = numbers(size_t(g.value(v).type.elements() * samples), unsigned(inputs.size() + 1));
  const RunResult r = run_graph(g, machine(machine_name), options, inputs, samples);
  ASSERT_TRUE(r.ok) << r.message;
  const std::vector<float>& out = r.outputs.begin()->second;
  ASSERT_EQ(out.size(), inputs.begin()->second.size());
  for (size_t i = 0; i < out.size(); ++i) {
    float sum = 0;
    for (const auto& [name, values] : inputs) sum += values[i];
    EXPECT_EQ(out[i], sum);
  }
  ASSERT_EQ(r.sample_ends.size(), size_t(samples));
  for (size_t s = 1; s < r.sample_ends.size(); ++s)
    EXPECT_LE(r.sample_ends[s] - r.sample_ends[s - 1], cycles) << machine_name << ", sample " << s;
}

// Two operands, each by a column of feeders of its own, to rows of PEs: a word a cycle, so a sample takes a
// cycle for each word and what the collectors need to change turns, 20 cycles for each row at most, the
// last of many samples too. Where the parts of a row share its links, the first ones take twice as long and
// more. 11 lines of 96 words on 32 x 4 PEs: a PE has three words of each of three lines, so the PEs of a row
// send in three rounds of 32 turns, each with a control wavelet behind it, and 28 cycles more a round. On 8
// rows feeders hold the operands.
TEST(OperandTurns, BringAWordACycleFromTheFirstSampleOn) {
  for (const char* name : {"wse2", "wse3"})
    for (const auto& [shape, width, height, beyond] :
         {std::tuple{ops::Shape{24, 64}, 4, 4, 20U}, std::tuple{ops::Shape{5, 1024}, 4, 4, 20U},
          std::tuple{ops::Shape{11, 96}, 32, 4, 3 * 28U}, std::tuple{ops::Shape{32, 128}, 4, 8, 20U}}) {
      graph::Graph g;
      g.name = "turns";
      const ops::TensorType type{DataType::f32, shape};
      const graph::ValueId x = g.add_input("x", type), y = g.add_input("y", type);
      const graph::ValueId sum = add_op(g, "sum", "add", {x, y}, shape, Origin::autogen);
      g.node(g.value(sum).producer).assignment.kernel = graph::KernelId("dtg-region");
      g.set_output(sum);
      constexpr int kSamples = 24;
      expect_sum_within(g, name, width, height, kSamples, unsigned(shape[0] * shape[1]) + unsigned(height) * beyond);
    }
}

// 86 lines of 768 words are 66,048, and a filter counts 65,536: of each half of the stream as many words pass a row's
// feeder as the row has, of one half another row's. Three operands come to 6 rows, a word a cycle.
TEST(OperandTurns, HeldOperandsLongerThanFiltersCountComeAWordACycle) {
  graph::Graph g;
  g.name = "held";
  const ops::Shape shape{86, 768};
  const ops::TensorType type{DataType::f32, shape};
  const graph::ValueId x = g.add_input("x", type), y = g.add_input("y", type), z = g.add_input("z", type);
  const graph::ValueId some = add_op(g, "some", "add", {x, y}, shape, Origin::autogen);
  const graph::ValueId sum = add_op(g, "sum", "add", {some, z}, shape, Origin::autogen);
  for (const graph::ValueId v : {some, sum}) {
    graph::Assignment& assignment = g.node(g.value(v).producer).assignment;
    assignment.kernel = graph::KernelId("dtg-region");
    assignment.group = "sums";
  }
  g.set_output(sum);
  expect_sum_within(g, "wse2", 6, 6, 4, 86 * 768 + 6 * 20);
}

}  // namespace
}  // namespace cs::test
