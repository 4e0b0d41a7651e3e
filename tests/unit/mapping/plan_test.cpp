// Cuts, costs, routes and roles, checked against rules written here and against hand calculations.
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/mapping/emit.h"
#include "tests/unit/mapping/harness.h"

namespace cs {
namespace {

using mapping::FlowPlan;
using mapping::Parts;

TEST(Kernels, CutIsRaggedAtTheEnds) {
  kernels::Work work;
  work.kind = kernels::contraction_kind();
  work.n = 784;
  work.m = 20;
  std::optional<kernels::Cut> cut = kernels::cut_work(work, 28, 3);
  ASSERT_TRUE(cut);
  EXPECT_EQ(cut->n_slice, 28);
  EXPECT_EQ(cut->n_last, 28);
  EXPECT_EQ(cut->m_slice, 7);  // 7 + 7 + 6
  EXPECT_EQ(cut->m_last, 6);
  // Ceil(20 / 11) = 2, and ten rows hold everything: the eleventh would be empty.
  EXPECT_FALSE(kernels::cut_work(work, 1, 11));
  EXPECT_FALSE(kernels::cut_work(work, 785, 1));
}

TEST(Kernels, IdealCyclesByHand) {
  Machine m = test::machine("wse2");
  kernels::Work work;
  work.kind = kernels::contraction_kind();
  work.n = 784;
  work.m = 20;
  work.flops_per_element = 0;
  // One PE: 2 * 784 * 20 operations at 2 per cycle = 15680; (784 * 20 + 784 + 20) * 4 bytes / 16 = 4121;
  // 784 words over 4 links = 196. No hops.
  EXPECT_DOUBLE_EQ(kernels::ideal_cycles(work, 4, 1, 1, m), 15680);
  // 28 x 20 PEs: 28 cycles of operations; 784 words over 2 * 48 links = 8.17; 46 hops of one cycle.
  EXPECT_DOUBLE_EQ(kernels::ideal_cycles(work, 4, 28, 20, m), 28 + 46);
}

TEST(Kernels, IdealOfAStreamIsTheRamp) {
  Machine m = test::machine("wse2");
  kernels::Work work;
  work.n = work.m = 1200;
  // One PE: 1200 operations at 2 per cycle; 2400 words of 4 bytes at 16 per cycle; 1200 words through one
  // ramp; over four links 300.
  kernels::Bound one = kernels::ideal_bound(work, 4, 1, 1, m);
  EXPECT_DOUBLE_EQ(one.compute, 600);
  EXPECT_DOUBLE_EQ(one.memory, 600);
  EXPECT_DOUBLE_EQ(one.ramp, 1200);
  EXPECT_DOUBLE_EQ(one.link, 300);
  EXPECT_DOUBLE_EQ(one.cycles(), 1200);
  EXPECT_EQ(one.largest(), "ramp");
  // 20 x 20 PEs: 3 words per ramp, 1200 words over 80 links, 38 hops.
  kernels::Bound many = kernels::ideal_bound(work, 4, 20, 20, m);
  EXPECT_DOUBLE_EQ(many.ramp, 3);
  EXPECT_DOUBLE_EQ(many.link, 15);
  EXPECT_DOUBLE_EQ(many.cycles(), 15 + 38);
  EXPECT_EQ(many.largest(), "link");
}

TEST(Kernels, LibraryMatchesOnlyWhatItComputes) {
  graph::Graph g;
  g.name = "match";
  graph::ValueId x = g.add_input("x", {DataType::f32, {1, 8}});
  graph::ValueId w = g.add_constant("w", ops::Tensor::from_floats({8, 4}, test::numbers(32, 1)));
  graph::ValueId y = test::add_op(g, "product", "matmul", {x, w}, {1, 4}, Origin::handwritten);
  graph::ValueId t = test::add_op(g, "bend", "tanh", {y}, {1, 4}, Origin::autogen);
  graph::ValueId s = test::add_op(g, "self", "matmul", {x, x}, {1, 1}, Origin::host);
  g.set_output(t);
  g.set_output(s);
  std::string why;
  const kernels::Row* row = kernels::match_handwritten(g, *g.find_node("product"), why);
  ASSERT_NE(row, nullptr);
  EXPECT_EQ(row->name, "gemv");
  EXPECT_EQ(kernels::match_handwritten(g, *g.find_node("bend"), why), nullptr);
  EXPECT_EQ(why, "no library kernel computes tanh");
  EXPECT_EQ(kernels::match_handwritten(g, *g.find_node("self"), why), nullptr);
  EXPECT_EQ(why, "the second operand must be the only constant one");
}

TEST(Roles, ControlWaveletsByHand) {
  // Advance: opcode 1 in bits 23:22. Ignore bits of all eight commands: 24, 27, 0, 3, 6, 9, 12, 15.
  constexpr uint32_t kIgnore =
      1U << 24 | 1U << 27 | 1U << 0 | 1U << 3 | 1U << 6 | 1U << 9 | 1U << 12 | 1U << 15;
  EXPECT_EQ(kernels::control_wavelet({1}), kIgnore | 1U << 22);
  EXPECT_EQ(kernels::control_wavelet({2, 1}), kIgnore | 2U << 22 | 1U << 25);
}

TEST(Emit, RunsCoverExactlyThePes) {
  // A 3 x 2 block, a row with step 2, and one PE alone.
  const std::vector<Coord> pes = {{1, 0}, {2, 0}, {3, 0}, {1, 1}, {2, 1}, {3, 1}, {0, 4}, {2, 4}, {4, 4}, {5, 6}};
  std::set<std::pair<int, int>> covered, all;
  for (const Coord& c : pes) all.insert({c.y, c.x});
  std::vector<mapping::Run> runs = kernels::runs_of(pes);
  EXPECT_EQ(runs.size(), 3U);
  for (const mapping::Run& r : runs) {
    for (int y = r.y; y < r.y + r.h; ++y) {
      for (int i = 0; i < r.count; ++i) EXPECT_TRUE(covered.insert({y, r.x + i * r.step}).second);
    }
  }
  EXPECT_EQ(covered, all);
}

struct Planned {
  Parts parts;
  FlowPlan plan;
  mapping::Extent fabric;
};

// Three layers with 24 × 16 × 12 × 8 elements on rectangles of 3 × 2 PEs.
Planned planned(const Machine& machine) {
  graph::Graph g;
  g.name = "net";
  graph::ValueId v = g.add_input("x", {DataType::f32, {1, 24}});
  int sizes[] = {24, 16, 12, 8};
  for (int l = 0; l < 3; ++l) {
    graph::ValueId w = g.add_constant(
        "w" + std::to_string(l), ops::Tensor::from_floats({sizes[l], sizes[l + 1]},
                                                          test::numbers(size_t(sizes[l] * sizes[l + 1]), 1)));
    v = test::add_op(g, "fc" + std::to_string(l), "matmul", {v, w}, {1, sizes[l + 1]}, Origin::handwritten);
  }
  g.set_output(v);
  mapping::MapOptions options;
  options.force_width = 3;
  options.force_height = 2;
  Planned p;
  Diag diag;
  EXPECT_TRUE(mapping::build_parts(g, options, machine, p.parts, diag)) << diag.to_string();
  mapping::PlanLists plans;
  mapping::PlacementFigures figures;
  std::vector<mapping::Misfit> without;
  mapping::list_plans(p.parts.instances, options, machine, plans, without);
  EXPECT_TRUE(without.empty());
  bool placed = false;
  for (int attempt = 0; attempt < 5 && !placed; ++attempt)
    placed = mapping::place_instances(p.parts, plans, {100, 100}, attempt, {}, p.fabric, figures);
  EXPECT_TRUE(placed);
  EXPECT_EQ(figures.area, 4 * 2 + 4 * 2 + 5 * 2);  // feeders to the west, the last one's relay to the east
  mapping::add_relays(p.parts);
  EXPECT_TRUE(mapping::route_flows(p.parts, p.fabric, machine, p.plan, diag)) << diag.to_string();
  EXPECT_TRUE(mapping::color_flows(p.plan, machine, diag)) << diag.to_string();
  return p;
}

TEST(Plan, RectanglesDoNotOverlapAndTheRelayComesLast) {
  Planned p = planned(test::machine("wse2"));
  ASSERT_EQ(p.parts.instances.size(), 4U);
  EXPECT_EQ(p.parts.instances[3].kernel, "relay");
  std::set<std::pair<int, int>> taken;
  for (const mapping::Instance& inst : p.parts.instances) {
    for (int y = inst.rect.y; y < inst.rect.y + inst.rect.h; ++y) {
      for (int x = inst.rect.x - inst.feeders(); x < inst.rect.x + inst.rect.w; ++x) {
        bool kernel = x >= inst.rect.x || y == inst.rect.y;
        if (!kernel) continue;
        EXPECT_TRUE(taken.insert({x, y}).second) << inst.name << " at " << x << ", " << y;
      }
    }
  }
}

// An independent walk: from the source along the routers of a flow every sink is reached, and nothing else.
TEST(Plan, StreamsReachTheirTakers) {
  Planned p = planned(test::machine("wse3"));
  for (size_t s = 0; s < p.parts.streams.size(); ++s) {
    const mapping::Stream& stream = p.parts.streams[s];
    const mapping::Flow& flow = p.plan.flows[size_t(p.plan.of_stream[s])];
    Coord at;
    if (stream.producer >= 0) {
      at = p.parts.instances[size_t(stream.producer)].exit();
    } else {
      for (size_t k = 0; k < p.plan.ports.size(); ++k) {
        const HostPort& port = p.plan.ports[k];
        if (port.name != stream.port_in) continue;
        bool row = port.side == Port::east || port.side == Port::west;
        int far_x = p.fabric.width - 1, far_y = p.fabric.height - 1;
        at = row ? Coord{port.side == Port::east ? far_x : 0, port.position}
                 : Coord{port.position, port.side == Port::south ? far_y : 0};
      }
    }
    std::set<std::pair<int, int>> ramps;
    std::vector<Coord> open{at};
    size_t steps = 0;
    while (!open.empty() && steps++ < 1000) {
      Coord c = open.back();
      open.pop_back();
      ASSERT_TRUE(flow.routers.count({c.y, c.x})) << stream.name << " is lost at " << c.x << ", " << c.y;
      PortSet tx = flow.routers.at({c.y, c.x}).positions[0].tx;
      for (Port out : {Port::east, Port::west, Port::south, Port::north}) {
        if ((tx & port_bit(out)) == 0) continue;
        Coord next = neighbour(c, out);
        bool inside = next.x >= 0 && next.y >= 0 && next.x < p.fabric.width && next.y < p.fabric.height;
        if (inside) open.push_back(next);
      }
      if ((tx & port_bit(Port::ramp)) != 0) ramps.insert({c.x, c.y});
    }
    std::set<std::pair<int, int>> expected;
    for (const mapping::Taker& t : stream.takers) {
      if (t.instance < 0) continue;
      Coord entry = p.parts.instances[size_t(t.instance)].entry(t.operand);
      expected.insert({entry.x, entry.y});
    }
    EXPECT_EQ(ramps, expected) << stream.name;
  }
}

TEST(Plan, NoRouterHasTwoFlowsOfOneColorAndSwitchesHavePositions) {
  Machine machine = test::machine("wse3");
  Planned p = planned(machine);
  std::set<std::tuple<int, int, int>> seen;
  for (const mapping::Flow& f : p.plan.flows) {
    for (const auto& [key, config] : f.routers)
      EXPECT_TRUE(seen.insert({key.x, key.y, f.color}).second) << f.name;
    if (!f.switches) continue;
    EXPECT_THAT(machine.router.switchable_colors, testing::Contains(f.color)) << f.name;
  }
}

// Each stream on a way on which one color is free: the same verifier accepts it, with as many host ports.
TEST(Plan, RoutesAndColorsTogether) {
  for (const std::string name : {"wse2", "wse3"}) {
    const Machine machine = test::machine(name);
    const Planned p = planned(machine);
    Diag diag;
    FlowPlan plan;
    EXPECT_TRUE(mapping::route_flows_in_colors(p.parts, p.fabric, machine, mapping::InTheWay::stays, plan, diag))
        << diag.to_string();
    EXPECT_TRUE(mapping::verify_flows(plan, p.parts, p.fabric, machine, diag)) << diag.to_string();
    EXPECT_EQ(plan.ports.size(), p.plan.ports.size());
    for (const mapping::Flow& f : plan.flows) {
      if (!f.switches) continue;
      EXPECT_THAT(machine.router.switchable_colors, testing::Contains(f.color)) << f.name;
    }
  }
}

TEST(Plan, TheVerifierSeesABrokenRoute) {
  Machine machine = test::machine("wse2");
  Planned p = planned(machine);
  Diag diag;
  EXPECT_TRUE(mapping::verify_flows(p.plan, p.parts, p.fabric, machine, diag)) << diag.to_string();
  FlowPlan broken = p.plan;
  mapping::Flow& flow = broken.flows[size_t(broken.of_stream.front())];
  flow.routers.rbegin()->second.positions[0].tx = port_bit(Port::east);
  EXPECT_FALSE(mapping::verify_flows(broken, p.parts, p.fabric, machine, diag));
  FlowPlan doubled = p.plan;
  for (mapping::Flow& f : doubled.flows) f.color = 0;
  Diag second;
  EXPECT_FALSE(mapping::verify_flows(doubled, p.parts, p.fabric, machine, second));
  EXPECT_THAT(second.to_string(), testing::HasSubstr("color 0 at"));
}

TEST(Roles, EveryResourceIsUsedOnceAndExhaustionIsReported) {
  Machine machine = test::machine("wse2");
  mapping::Role role;
  role.name = "many";
  mapping::ModuleUse use;
  for (int i = 0; i < 4; ++i) {
    use.needs.push_back({mapping::Resource::input_queue, "q" + std::to_string(i), i, -1});
    use.needs.push_back({mapping::Resource::local_task, "t" + std::to_string(i), -1, -1});
  }
  role.modules.push_back(use);
  Diag diag;
  EXPECT_TRUE(mapping::allocate_role(role, machine, diag)) << diag.to_string();
  EXPECT_TRUE(mapping::verify_role(role, machine, diag)) << diag.to_string();
  role.modules[0].needs[2].id = role.modules[0].needs[0].id;
  EXPECT_FALSE(mapping::verify_role(role, machine, diag));
  for (int i = 4; i < 9; ++i) role.modules[0].needs.push_back({mapping::Resource::input_queue, "q", i, -1});
  Diag full;
  EXPECT_FALSE(mapping::allocate_role(role, machine, full));
  EXPECT_THAT(full.to_string(), testing::HasSubstr("needs 9 input queues, a PE has 8"));
}

TEST(Map, TheSameInputGivesTheSameText) {
  test::GemmCase c{1, 40, 12, "sigmoid", Origin::autogen, {}, {}};
  graph::Graph g = test::gemm_graph(c);
  Diag diag;
  std::optional<mapping::Mapped> a = mapping::map_graph(g, test::machine("wse2"), {}, diag);
  std::optional<mapping::Mapped> b = mapping::map_graph(g, test::machine("wse2"), {}, diag);
  ASSERT_TRUE(a && b) << diag.to_string();
  EXPECT_EQ(a->files, b->files);
  EXPECT_EQ(a->weights.bytes(), b->weights.bytes());
  EXPECT_EQ(a->host, b->host);
}

TEST(Map, HostOperatorsBecomeStepsBetweenTransfers) {
  test::GemmCase c{1, 8, 4, "", Origin::handwritten, {}, {}};
  graph::Graph g = test::gemm_graph(c);
  graph::ValueId fc = g.outputs[0];
  g.outputs.clear();
  g.value(fc).is_output = false;
  graph::ValueId act = test::add_op(g, "act", "sigmoid", {fc}, {1, 4}, Origin::host);
  graph::ValueId w = g.add_constant("w2", ops::Tensor::from_floats({4, 2}, test::numbers(8, 1)));
  g.set_output(test::add_op(g, "fc2", "matmul", {act, w}, {1, 2}, Origin::handwritten));
  Diag diag;
  std::optional<mapping::Mapped> m = mapping::map_graph(g, test::machine("wse2"), {}, diag);
  ASSERT_TRUE(m) << diag.to_string();
  std::vector<std::string> steps;
  for (const HostStep& s : m->host.steps) {
    steps.push_back(s.kind == HostStep::Kind::op     ? s.op
                    : s.kind == HostStep::Kind::send ? "send " + s.tensor
                                                     : "receive " + s.tensor);
  }
  EXPECT_THAT(steps,
              testing::ElementsAre("send x", "receive fc_out", "sigmoid", "send act_out", "receive fc2_out"));
  EXPECT_EQ(m->ports.size(), 4U);
}

TEST(Map, BaselinesStandOnTheSameRectangle) {
  test::GemmCase c{1, 64, 24, "leaky_relu", Origin::autogen, {}, {}};
  graph::Graph g = test::gemm_graph(c);
  Machine machine = test::machine("wse2");
  Diag diag;
  std::optional<mapping::Mapped> m = mapping::map_graph(g, machine, {}, diag);
  ASSERT_TRUE(m) << diag.to_string();
  std::vector<mapping::MissingBaseline> missing;
  std::vector<mapping::Baseline> list = mapping::make_baselines(g, *m, machine, {}, missing);
  EXPECT_TRUE(missing.empty());
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(m->host.kernels[0].baseline, list[0].kernel);
  EXPECT_EQ(list[0].counterpart, "gemv + relu");
  EXPECT_EQ(list[0].self.host.kernels[0].origin, Origin::autogen);
  ASSERT_EQ(list[0].bases.size(), 1U);
  EXPECT_EQ(list[0].bases[0].host.kernels[0].origin, Origin::handwritten);
  Rect rect = m->host.kernels[0].rect;
  for (const mapping::Mapped* one : {&list[0].self, &list[0].bases[0]}) {
    EXPECT_EQ(one->host.kernels[0].rect.w, rect.w);
    EXPECT_EQ(one->host.kernels[0].rect.h, rect.h);
    test::RunResult r = test::run(*one, machine, {{"x", test::numbers(128, 3)}}, 2);
    EXPECT_TRUE(r.ok) << r.message;
  }
}

}  // namespace
}  // namespace cs
