// What --state writes, and who stands together in a deadlock report.
#include <gmock/gmock.h>

#include <nlohmann/json.hpp>

#include "simulator/report/state_dump.h"
#include "tests/unit/shell/samples.h"
#include "tools/cs-sim/state_file.h"

namespace cs::sim::test {
namespace {

using testing::HasSubstr;
using testing::Not;

// The receiver of samples.h waits for eight words of color 1 on queue 2; here three words come and the sender
// is gone.
struct ThreeOfEight {
  ThreeOfEight() : fabric(one_hop()), engine(fabric.machine, {}) {
    fabric.p.rects.erase(fabric.p.rects.begin());
    fabric.p.tiles[1].symbols = {{"x", DataType::u32, 256, 8, true}};
    fabric.route({0, 0, 1, 1}, 1, {"W>E"});
    fabric.p.routes.erase(fabric.p.routes.begin());
    const int in = fabric.port("in", true, Port::west, 0, 1);
    Diag diag;
    engine.load(fabric.p, {}, diag);
    EXPECT_TRUE(diag.ok()) << diag.to_string();
    engine.send(in, std::vector<uint32_t>{7, 8, 9}, 0);
    engine.step(1000, false);
  }
  Fabric fabric;
  Engine engine;
};

TEST(State, says_what_a_pe_waits_for_and_what_it_has) {
  ThreeOfEight run;
  EXPECT_EQ(run.engine.waiting(), (std::vector<Coord>{{1, 0}}));
  const PeState s = run.engine.state({1, 0});
  ASSERT_EQ(s.operations.size(), 1u);
  EXPECT_EQ(s.operations[0].thread, "microthread 2");
  EXPECT_EQ(s.operations[0].done, 3u);
  EXPECT_EQ(s.operations[0].total, 8u);
  EXPECT_EQ(s.operations[0].waits, "wavelets of color 1 on input queue 2");
  EXPECT_EQ(s.running, "");
  const std::string text = state_text(run.engine, {{1, 0}});
  EXPECT_THAT(
      text, HasSubstr("microthread 2: 3 of 8 elements done, waits for wavelets of color 1 on input queue 2"));
  EXPECT_THAT(text, HasSubstr("x at 256: [7, 8, 9, 0, 0, 0, 0, 0]"));
  const auto json = nlohmann::json::parse(state_json(run.engine, {{0, 0}, {1, 0}}));
  EXPECT_EQ(json["schema"], "wafersmith-state/1");
  ASSERT_EQ(json["pes"].size(), 2u);
  EXPECT_EQ(json["pes"][0]["tile"], "");
  EXPECT_EQ(json["pes"][1]["operations"][0]["done"], 3);
  EXPECT_EQ(json["pes"][1]["variables"][0]["bytes"], "070000000800000009000000" + std::string(40, '0'));
}

// Words that nobody takes: 4 in the queue, the rest at the router.
TEST(State, shows_queues_and_lanes) {
  Fabric f(wse2(), 1, 1);
  Tile t("idle");
  t.input(2, 1);
  t.code("start: yield").task(TaskKind::local, 8, "start");
  f.place({0, 0, 1, 1}, t);
  f.route({0, 0, 1, 1}, 1, {"W>R"});
  const int in = f.port("in", true, Port::west, 0, 1);
  Engine engine(f.machine, {});
  Diag diag;
  engine.load(f.p, {}, diag);
  engine.send(in, std::vector<uint32_t>{1, 2, 3, 4, 5, 6, 7, 8, 9}, 0);
  engine.step(1000, false);
  const PeState s = engine.state({0, 0});
  ASSERT_EQ(s.queues.size(), 1u);
  EXPECT_EQ(s.queues[0].words.size(), size_t(s.queues[0].depth));
  EXPECT_EQ(s.queues[0].words[0].data, 1u);
  ASSERT_EQ(s.lanes.size(), 1u);
  EXPECT_EQ(s.lanes[0].from, Port::west);
  EXPECT_EQ(s.lanes[0].wavelets, s.lanes[0].capacity);
}

// A column of five receivers on the same color, whose sender has nothing to do: one line.
TEST(DeadlockReport, alike_pes_take_one_line) {
  Fabric f(wse3(), 1, 6);
  Tile receive("receiver");
  receive.dsd(96, mem(256, 8)).dsd(104, fabin(2, isa::kQueueColor, 8)).input(2, 1);
  receive.code("start: lddds d0, [96], {async ut=2}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\nyield");
  receive.task(TaskKind::local, 8, "start").activated(8);
  f.place({0, 1, 1, 5}, receive);
  f.route({0, 0, 1, 1}, 1, {"R>S"});
  f.route({0, 1, 1, 4}, 1, {"N>RS"});
  f.route({0, 5, 1, 1}, 1, {"N>R"});
  Engine engine(f.machine, {});
  Diag diag;
  engine.load(f.p, {}, diag);
  engine.step(1000, false);
  const std::string report = engine.deadlock_report();
  EXPECT_THAT(report, HasSubstr("PE (0, 1): microthread 2"));
  EXPECT_THAT(report, HasSubstr("; so do 4 others from PE (0, 1) to PE (0, 5)"));
  EXPECT_THAT(report, Not(HasSubstr("PE (0, 3):")));
}

TEST(State, options_that_do_not_fit_are_named) {
  SimOptions o;
  o.state_region = "0,0,1,1";
  EXPECT_EQ(check_state_options(o), "--state-region needs --state FILE");
  o.state = "s.txt";
  EXPECT_EQ(check_state_options(o), "");
  o.state_region = "0,0,1";
  EXPECT_EQ(check_state_options(o), "--state-region must be X,Y,W,H, got '0,0,1'");
}

}  // namespace
}  // namespace cs::sim::test
