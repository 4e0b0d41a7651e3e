// Costs that are found once: of statements, against the code itself; keys, by what they must tell apart; and sizing
// that gives up.
#include <limits>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "compiler/autogen/autogen.h"
#include "compiler/autogen/expression.h"
#include "compiler/autogen/loop_key.h"
#include "compiler/autogen/region_estimate.h"
#include "compiler/passes/known_costs.h"
#include "tests/unit/mapping/harness.h"

namespace cs::test {
namespace {

using autogen::Region;
using autogen::RegionShare;

// A padded convolution of two channels, its bias and a leaky relu.
Region picture(bool by_library) {
  graph::Graph g;
  const graph::ValueId x = g.add_input("x", {DataType::f32, {1, 2, 12, 10}});
  const graph::ValueId w = g.add_constant("w", ops::Tensor::from_floats({4, 2, 3, 3}, numbers(72, 1)));
  const graph::ValueId b = g.add_constant("b", ops::Tensor::from_floats({4, 1, 1}, numbers(4, 2)));
  const Origin origin = by_library ? Origin::handwritten : Origin::autogen;
  const graph::ValueId c = add_op(g, "c", "conv", {x, w}, {1, 4, 12, 10}, origin);
  const graph::ValueId d = add_op(g, "d", "add", {c, b}, {1, 4, 12, 10}, Origin::autogen);
  g.set_output(add_op(g, "e", "leaky_relu", {d}, {1, 4, 12, 10}, Origin::autogen));
  const std::vector<graph::NodeId> nodes = {*g.find_node("c"), *g.find_node("d"), *g.find_node("e")};
  g.node(nodes[0]).attrs = {{"kernel_shape", std::vector<int64_t>{3, 3}}, {"pads", std::vector<int64_t>{1, 1, 1, 1}}};
  Region region;
  std::string why;
  EXPECT_TRUE(autogen::build_region(g, nodes, region, why)) << why;
  return region;
}

// Of every PE of a row, with costs that PEs before it have left behind and without.
TEST(StatementCosts, AreThoseOfTheCode) {
  const Machine machine = test::machine("wse2");
  for (const bool by_library : {false, true}) {
    const Region r = picture(by_library);
    autogen::StatementCosts shared(machine);
    for (int x = 0; x < 6; ++x) {
      RegionShare share = autogen::shard_region(r, autogen::in_row({10, 48}, 6), x, 0);
      autogen::receive_in_place(r, share);
      const autogen::RegionCode code = autogen::region_code(r, share, machine);
      autogen::StatementCosts own(machine);
      for (autogen::StatementCosts* costs : {&shared, &own, &shared}) {
        const autogen::RegionEstimate e = autogen::estimate_region(r, share, *costs);
        EXPECT_NEAR(e.compute_cycles, code.cycles, 1e-9 * code.cycles);
        EXPECT_GT(e.compute_cycles, 0);
        EXPECT_EQ(e.words, autogen::words_stored(r, share) + code.scratch_words);
        EXPECT_EQ(e.code_bytes, 900 + 60 * (code.lines.size() - code.short_lines) + 16 * code.short_lines);
      }
    }
  }
}

// y = x0 + x1 over eight elements: sums of 32-bit floats are one vector instruction, integers a loop of scalars.
TEST(StatementCosts, TellIntegersFromFloats) {
  const Machine machine = test::machine("wse2");
  autogen::StatementCosts costs(machine);
  const auto cycles = [&](DataType type) {
    graph::Graph g;
    graph::Node node;
    node.name = node.op = "add";
    node.inputs = {g.add_input("x", {type, {8}}), g.add_input("y", {type, {8}})};
    const graph::NodeId id = g.add_node(node);
    g.set_output(g.add_result(id, "z"));
    Diag diag;
    EXPECT_TRUE(graph::infer_node(g, id, diag));
    Region r;
    std::string why;
    EXPECT_TRUE(autogen::build_region(g, std::span(&id, 1), r, why)) << why;
    const ops::LoopStatement& s = r.program.blocks[0].statements[0];
    EXPECT_DOUBLE_EQ(costs.of(r, s, 1, {}).cycles, autogen::StatementCosts(machine).of(r, s, 1, {}).cycles);
    return costs.of(r, s, 1, {}).cycles;
  };
  const double floats = cycles(DataType::f32);
  EXPECT_GT(cycles(DataType::i32), 2 * floats);
  EXPECT_DOUBLE_EQ(cycles(DataType::f32), floats);
}

std::string key_of(const Region& r) {
  autogen::LoopKey key;
  key.region(r);
  return key.bytes();
}

TEST(LoopKey, DependsOnAllButNames) {
  const Region r = picture(false);
  Region same = r;
  for (ops::LoopBuffer& b : same.program.buffers) b.name += "_renamed";
  EXPECT_EQ(key_of(same), key_of(r));
  const std::vector<void (*)(Region&)> changes = {
      [](Region& c) { c.may_wait = !c.may_wait; },
      [](Region& c) { c.by_library = !c.by_library; },
      [](Region& c) { c.program.buffers[0].type.dtype = DataType::f16; },
      [](Region& c) { c.program.buffers[0].type.shape = {2, 120}; },
      [](Region& c) { c.program.buffers[0].kind = ops::BufferKind::temporary; },
      [](Region& c) { c.program.blocks[0].steps = 2; },
      [](Region& c) { c.program.blocks[0].statements.pop_back(); },
      [](Region& c) { c.program.blocks[0].statements[0].combine = ops::Combine::max; },
      [](Region& c) { c.program.blocks[0].statements[0].extents[0] += 1; },
      [](Region& c) { c.program.blocks[0].statements[0].out.offset -= 1; },
      [](Region& c) { c.program.blocks[0].statements[0].out.strides[0] += 64; },
      [](Region& c) { c.program.blocks[0].statements[0].out.buffer += 1; },
      [](Region& c) { c.program.blocks[0].statements[0].value.nodes[0].value += 1; },
      [](Region& c) { c.constant_buffer.clear(); },
  };
  std::set<std::string> keys = {key_of(r)};
  for (const auto& change : changes) {
    Region changed = r;
    change(changed);
    EXPECT_TRUE(keys.insert(key_of(changed)).second) << keys.size();
  }
}

// Whoever asks first, and for what.
TEST(KnownCosts, AreThoseThatAreFoundAlone) {
  const Machine machine = test::machine("wse2");
  const Region r = picture(false);
  constexpr double kNever = std::numeric_limits<double>::infinity();
  const auto alone = [&](double enough) {
    passes::KnownCosts known(machine);
    return known.of(r, known.find(r), enough);
  };
  const double row = alone(kNever).interval_cycles;
  passes::KnownCosts known(machine);
  for (const double enough : {kNever, 0.0, row, row - 1, kNever}) {
    const kernels::Cost now = known.of(r, known.find(r), enough), want = alone(enough);
    EXPECT_EQ(now.interval_cycles, want.interval_cycles) << enough;
    EXPECT_EQ(now.pes, want.pes) << enough;
    EXPECT_EQ(now.latency_cycles, want.latency_cycles) << enough;
  }
}

// A kernel whose stream alone takes 40 cycles a sample is not placed where 40 are too many, and is where they are not.
TEST(TooSlow, IsKnownBeforeAnythingIsPlaced) {
  GemmCase c{1, 40, 8};
  const graph::Graph g = gemm_graph(c);
  const Machine machine = test::machine("wse2");
  Diag diag;
  mapping::MapOptions options;
  options.too_slow = 40;
  std::optional<mapping::Mapped> mapped = mapping::map_graph(g, machine, options, diag);
  ASSERT_TRUE(mapped) << diag.to_string();
  EXPECT_TRUE(mapped->too_slow);
  EXPECT_TRUE(mapped->placement.empty());
  options.too_slow = mapping::map_graph(g, machine, {}, diag)->estimate.interval_cycles + 1;
  mapped = mapping::map_graph(g, machine, options, diag);
  ASSERT_TRUE(mapped) << diag.to_string();
  EXPECT_FALSE(mapped->too_slow);
  EXPECT_GE(mapped->estimate.interval_cycles, 40);
}

// Six runs of 32 words, 64 apart, and nine words of the third one. All end with word 351.
TEST(Hull, OfASetThatHoldsTheOtherIsThatSet) {
  const autogen::Runs all = autogen::cover(0, {{64, 6}, {1, 32}}, {64}), some = autogen::cover(128, {{1, 9}}, {64});
  EXPECT_EQ(all.words(), 192);
  for (const int64_t elements : {352, 1000}) {
    EXPECT_EQ(autogen::hull(all, some, elements), all);
    EXPECT_EQ(autogen::hull(some, all, elements), all);
    EXPECT_EQ(autogen::hull(all, all, elements), all);
  }
  // The first run and those nine words are in two runs of 32 words, 128 apart, but their last word is number 159.
  const autogen::Runs first = autogen::interval(0, 31);
  EXPECT_EQ(autogen::hull(first, some, 160).words(), 64);
  EXPECT_EQ(autogen::hull(first, some, 137).words(), 137);
}

// Code of chains that differ in one thing only, one after the other: what a thread remembers has to be what a thread
// that remembers nothing writes.
TEST(KnownExpressions, AreThoseThatANewThreadWrites) {
  using autogen::ExpressionTarget;
  ops::Expr sum, function;
  sum.root = sum.make(ops::ExprKind::add, sum.input(0), sum.input(1));
  const int tanh = function.make(ops::ExprKind::tanh, function.input(0));
  function.root = function.make(ops::ExprKind::mul, tanh, function.input(1));
  ExpressionTarget first;
  first.inputs = {{"a[i]", "a_dsd", 1, 0}, {"b[i]", "b_dsd", 1, 1}};
  first.out = {"y[i]", "y_dsd", 1, 0};
  first.n = 40;
  std::vector<ExpressionTarget> targets(9, first);
  targets[1].inputs[0].descriptor = "c_dsd";
  targets[2].inputs[1].phase = 0;
  targets[3].numbers = {false, true};
  targets[4].out.descriptor = "z_dsd";
  targets[5].fabric_out = "y_out";
  targets[6].temporary = "s";
  targets[7].n = 8000;
  targets[8].inputs[1].element = "b[i + 1]";
  const auto code = [&](const ops::Expr& e, const ExpressionTarget& t, const Machine& m) {
    const autogen::ExpressionResult r = autogen::generate_expression(e, t, m);
    const kernels::ChainCost cost = autogen::chain_cost(e, {t.inputs[0].phase, t.inputs[1].phase}, m, t.n == first.n);
    std::string text = fmt::format("{} {} {} {} {} {} {}\n", r.to_fabric, r.code.in_loop, r.code.words,
                                   r.code.cycles_per_element, r.code.cycles_per_run, cost.per_element, cost.to_fabric);
    for (const std::string& line : r.code.lines) text += line + "\n";
    return text;
  };
  std::set<std::string> texts;
  for (int round = 0; round < 2; ++round) {
    for (const char* name : {"wse2", "wse3"}) {
      const Machine machine = test::machine(name);
      for (const ops::Expr& e : {sum, function}) {
        for (const ExpressionTarget& t : targets) {
          std::string alone;
          std::thread([&] { alone = code(e, t, machine); }).join();
          EXPECT_EQ(code(e, t, machine), alone);
          texts.insert(alone);
        }
      }
    }
  }
  // Targets 6 and 8 name what the sum, a single instruction, does not use; of both expressions seven differ.
  EXPECT_GE(texts.size(), 14U);
}

}  // namespace
}  // namespace cs::test
