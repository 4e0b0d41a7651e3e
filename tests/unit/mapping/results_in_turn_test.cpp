// Kernels of several results that take part after part: of every part they send one result after the other,
// so a taker of two of them goes on without the whole of the first one.
#include <cmath>

#include <gtest/gtest.h>

#include "compiler/autogen/region.h"
#include "compiler/mapping/plan.h"
#include "runtime/ops/loops.h"
#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

using mapping::Instance;
using mapping::Parts;

constexpr int64_t kWords = 100, kParts = 10;

// A region with so many operands and results of ten words in each of ten parts; whole: all words in one.
Instance region(const std::string& name, int operands, int results, bool whole = false) {
  Instance inst;
  inst.name = inst.title = name;
  inst.node_names = {name};
  inst.work.kind = kernels::region_kind();
  inst.work.operands = operands;
  inst.work.rows = whole ? 1 : kParts;
  inst.work.n = inst.work.m = kWords / inst.work.rows;
  inst.plan.interval_cycles = 500;
  inst.plan.latency_cycles = 520;
  inst.results.resize(size_t(results));
  inst.region.emplace();
  inst.region->program.buffers.resize(size_t(operands));
  for (int b = 0; b < operands; ++b) {
    inst.region->program.buffers[size_t(b)].type = {DataType::f32, {inst.work.n}};
    inst.region->operand_buffer.push_back(b);
  }
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

// x -> `split`, both of whose results `join` takes.
Parts split_and_join(bool split_whole) {
  Parts parts;
  parts.instances = {region("split", 1, 2, split_whole), region("join", 2, 1)};
  parts.streams = {stream(-1, 0, {{0, 0}}), stream(0, 0, {{1, 0}}), stream(0, 1, {{1, 1}}),
                   stream(1, 0, {{-1, 0}})};
  return parts;
}

TEST(VerifyWaiting, ResultsOfAPartLeaveInTurn) {
  Diag diag;
  EXPECT_TRUE(mapping::verify_waiting(split_and_join(false), diag)) << diag.to_string();
  // Of a whole sample the second result comes behind all of the first one, of which `join` takes ten words.
  EXPECT_FALSE(mapping::verify_waiting(split_and_join(true), diag));
  EXPECT_NE(diag.to_string().find("10 of the 100 words of the result of 'split'"), std::string::npos)
      << diag.to_string();
}

// Of two results one goes through a kernel that takes all of it before it sends: the first part of the other
// one waits in front of `join`, and so `split` cannot send the second part of either.
TEST(VerifyWaiting, AResultThatIsNotTakenHoldsUpTheNextPartOfTheOthers) {
  Parts parts = split_and_join(false);
  parts.instances.push_back(region("slow", 1, 1, true));
  parts.streams[1].takers = {{2, 0}};
  parts.streams.push_back(stream(2, 0, {{1, 0}}));
  Diag diag;
  EXPECT_FALSE(mapping::verify_waiting(parts, diag));
  EXPECT_NE(diag.to_string().find("'join': error: waits for itself"), std::string::npos) << diag.to_string();
}

// y[a, i, j, k] = p[a, i, k] q[a, j, k]: 2^32 results, more than a cut has parts.
TEST(RegionSlice, OfMoreElementsThanACutHasParts) {
  constexpr int64_t kHeads = 32, kRows = 1024, kInner = 128;
  const ops::TensorType from[] = {{DataType::f32, {kHeads, kRows, kInner}},
                                  {DataType::f32, {kHeads, kRows, kInner}}};
  const ops::TensorType made{DataType::f32, {kHeads, kRows, kRows, kInner}};
  const ops::TensorType* in[] = {&from[0], &from[1]};
  autogen::Region r;
  ops::LoopBuilder builder(r.program, std::span(in, 2), std::span(&made, 1));
  ops::LoopAccess out, p, q;
  out.buffer = int(builder.result().buffer);
  p.buffer = 0, q.buffer = 1;
  out.strides = {kRows * kRows * kInner, kRows * kInner, kInner, 1};
  p.strides = {kRows * kInner, kInner, 0, 1};
  q.strides = {kRows * kInner, 0, kInner, 1};
  builder.statement({kHeads, kRows, kRows, kInner}, out, {p, q}, "x0 * x1");
  r.operands.resize(2);
  r.operand_buffer = {0, 1};
  r.results.resize(1);
  r.result_buffer = {out.buffer};
  const int64_t parts = autogen::slice_region(r);
  EXPECT_GT(parts, 1);
  EXPECT_EQ(r.elements(out.buffer) * parts, made.elements());
}

// x - mean and its square are the two results of one kernel, which another one takes: the parts of a norm of
// rows that no PE holds. 256 x 1,024 elements are more than 16 PEs hold.
TEST(ResultsInTurn, OfANormInTwoKernelsOnTheEngine) {
  const Machine m = machine("wse2");
  const ops::Shape rows{256, 1024}, means{256, 1};
  graph::Graph g;
  const graph::ValueId input = g.add_input("x", {DataType::f32, rows});
  const auto mean = [&](const std::string& name, graph::ValueId of, const std::string& group) {
    const graph::ValueId v = add_op(g, name, "reduce_mean", {of}, means, Origin::autogen, group);
    g.node(*g.find_node(name)).attrs = {{"axes", std::vector<int64_t>{1}}};
    return v;
  };
  const graph::ValueId d =
      add_op(g, "d", "sub", {input, mean("mean", input, "first")}, rows, Origin::autogen, "first");
  const graph::ValueId square = add_op(g, "square", "square", {d}, rows, Origin::autogen, "first");
  const graph::ValueId scale =
      add_op(g, "scale", "rsqrt", {mean("variance", square, "second")}, means, Origin::autogen, "second");
  g.set_output(add_op(g, "y", "mul", {d, scale}, rows, Origin::autogen, "second"));
  for (const graph::NodeId id : g.nodes())
    g.node(id).assignment.kernel = kernels::generated_id(*kernels::region_kind());
  const std::vector<float> x = numbers(size_t(rows[0] * rows[1]), 7);
  const RunResult result = run_graph(g, m, {}, {{"x", x}}, 1);
  ASSERT_TRUE(result.ok) << result.message;
  const std::vector<float>& y = result.outputs.begin()->second;
  ASSERT_EQ(y.size(), x.size());
  for (int64_t i = 0; i < rows[0]; ++i) {
    const float* row = &x[size_t(i * rows[1])];
    double sum = 0, squares = 0;
    for (int64_t j = 0; j < rows[1]; ++j) sum += row[j];
    const double average = sum / double(rows[1]);
    for (int64_t j = 0; j < rows[1]; ++j) squares += (row[j] - average) * (row[j] - average);
    const double by = 1 / std::sqrt(squares / double(rows[1]));
    for (int64_t j = 0; j < rows[1]; ++j)
      ASSERT_NEAR(y[size_t(i * rows[1] + j)], (row[j] - average) * by, 1e-4) << i << ", " << j;
  }
}

}  // namespace
}  // namespace cs::test
