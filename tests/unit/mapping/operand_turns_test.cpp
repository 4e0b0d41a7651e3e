// Operands that rows take one after the other: which, in which order, that the network cannot stop so, what it brings.
#include "compiler/mapping/operand_turns.h"

#include <gtest/gtest.h>

#include "compiler/mapping/plan.h"
#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

using mapping::Instance;
using mapping::Parts;

constexpr int kRows = 4;
constexpr int64_t kPart = 256, kWords = kRows * kPart;

struct InTurn : kernels::Layout {
  kernels::StreamFilter filter(size_t, int, int) const override { return {}; }
  int64_t turn_words(size_t) const override { return kPart; }
  bool sends_behind() const override { return true; }
};

// A kernel that takes whole samples, an interval of 1,500 cycles: 3 x 1,024 words on the links of its rows take longer.
Instance kernel(const std::string& name, int operands, double latency = 4000) {
  Instance inst;
  inst.name = inst.title = name;
  inst.work.operands = operands;
  inst.work.n = inst.work.m = kWords;
  inst.plan.interval_cycles = 1500;
  inst.plan.latency_cycles = latency;
  inst.rect = {0, 0, 2, kRows};
  inst.results.resize(1);
  if (operands > 1) inst.layout = std::make_shared<InTurn>();
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

TEST(OperandTurns, AreLeftOutWhereLinksAreNotShared) {
  Parts parts = late_and_early();
  parts.instances[0].plan.interval_cycles = 3 * kWords;  // as long as the three streams one after the other
  mapping::choose_operand_turns(parts, machine("wse2"));
  EXPECT_TRUE(parts.instances[1].operand_turns.empty());
  parts.instances[0].plan.interval_cycles = 3 * kWords - 1;
  mapping::choose_operand_turns(parts, machine("wse2"));
  EXPECT_FALSE(parts.instances[1].operand_turns.empty());
}

// The first result of `split` is operand 1 of `join`, and leaves before the other one: it would wait in front of a row
// that waits for operand 0.
TEST(OperandTurns, AreLeftOutWhereTheNetworkWouldStop) {
  for (const bool crossed : {false, true}) {
    Parts parts;
    parts.instances = {kernel("split", 1), kernel("join", 2)};
    parts.instances[0].results.resize(2);
    parts.streams = {stream(-1, 0, {{0, 0}}), stream(0, crossed ? 1 : 0, {{1, 0}}),
                     stream(0, crossed ? 0 : 1, {{1, 1}}), stream(1, 0, {{-1, 0}})};
    mapping::choose_operand_turns(parts, machine("wse2"));
    EXPECT_EQ(parts.instances[1].operand_turns.empty(), crossed);
    Diag diag;
    EXPECT_TRUE(mapping::verify_waiting(parts, diag)) << diag.to_string();
    parts.instances[1].operand_turns = {0, 1};
    EXPECT_EQ(mapping::verify_waiting(parts, diag), !crossed);
  }
}

// Two operands, each by a column of feeders of its own, to 4 rows of 4 PEs: a word a cycle, so a sample takes a cycle
// for each word and what the collectors need to change turns, 20 cycles for each of 4 rows at most, the last of many
// samples too. Where the parts of a row share its links, the first ones take twice as long and more.
TEST(OperandTurns, BringAWordACycleFromTheFirstSampleOn) {
  for (const char* name : {"wse2", "wse3"})
    for (const ops::Shape& shape : {ops::Shape{24, 64}, ops::Shape{5, 1024}}) {
      graph::Graph g;
      g.name = "turns";
      const ops::TensorType type{DataType::f32, shape};
      const graph::ValueId x = g.add_input("x", type), y = g.add_input("y", type);
      const graph::ValueId sum = add_op(g, "sum", "add", {x, y}, shape, Origin::autogen);
      g.node(g.value(sum).producer).assignment.kernel = graph::KernelId("dtg-region");
      g.set_output(sum);
      mapping::MapOptions options;
      options.force_width = 4, options.force_height = 4;
      const unsigned elements = unsigned(shape[0] * shape[1]);
      constexpr int kSamples = 24;
      std::map<std::string, std::vector<float>> inputs{{"x", numbers(elements * kSamples, 1)},
                                                       {"y", numbers(elements * kSamples, 2)}};
      const RunResult r = run_graph(g, machine(name), options, inputs, kSamples);
      ASSERT_TRUE(r.ok) << r.message;
      const std::vector<float>& out = r.outputs.begin()->second;
      ASSERT_EQ(out.size(), inputs["x"].size());
      for (size_t i = 0; i < out.size(); ++i) EXPECT_EQ(out[i], inputs["x"][i] + inputs["y"][i]);
      for (size_t s = 1; s < kSamples; ++s)
        EXPECT_LE(r.sample_ends[s] - r.sample_ends[s - 1], elements + 4 * 20U)
            << name << ", " << shape[0] << " lines, sample " << s;
    }
}

}  // namespace
}  // namespace cs::test
