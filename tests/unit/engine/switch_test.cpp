// Switches, control wavelets, tasks started by wavelets, arbitration between tasks, conflicts.
#include "simulator/engine/block.h"
#include "tests/unit/engine/program_builder.h"

namespace cs::sim::test {
namespace {

// Layout of three independent encoders: entry 21:16; command i at 22 + 3 i for i < 2, the third one split
// over bits 29:28 and 0, the others from bit 1 on. A command is opcode (2 bits) and ignore (1 bit).
uint32_t control(int entry, const std::vector<std::pair<int, bool>>& commands) {
  uint32_t string = 0;
  for (size_t i = 0; i < commands.size(); ++i)
    string |= uint32_t(commands[i].first | int(commands[i].second) << 2) << (3 * i);
  return uint32_t(entry) << 16 | (string & 0xFF) << 22 | string >> 8;
}

TEST(ControlWavelets, commands_are_read_and_dropped_in_order) {
  uint32_t w = control(
      40, {{1, false}, {2, true}, {3, true}, {0, false}, {1, true}, {2, false}, {3, false}, {1, true}});
  const std::pair<int, bool> kWant[] = {{1, false}, {2, true},  {3, true},  {0, false},
                                        {1, true},  {2, false}, {3, false}, {1, true}};
  for (auto [opcode, ignore] : kWant) {
    EXPECT_EQ(control_entry(w), 40);
    EXPECT_EQ(first_command(w).opcode, opcode);
    EXPECT_EQ(first_command(w).ignore, ignore);
    w = drop_command(w);
  }
  EXPECT_EQ(w, 40u << 16);
  // Command 2 by the published bit numbers: opcode at 29:28, ignore at bit 0.
  EXPECT_EQ(control(0, {{0, false}, {0, false}, {3, true}}), 3u << 28 | 1u);
}

// PE 0 sends data 1, a control wavelet, data 2, ... on color 1 to the east; PE 1 has a switch.
Tile talker(const std::vector<std::pair<uint32_t, bool>>& words) {
  Tile t("talker");
  std::string code = "start: ";
  for (size_t i = 0; i < words.size(); ++i) {
    isa::Dsd d = fabout(2, 1, 1);
    d.control = words[i].second;
    int at = 96 + 16 * int(i);
    t.dsd(at, d);
    code += send_word(at, words[i].first);
  }
  t.output(2, 1).code(code + "yield").task(TaskKind::local, 8, "start").activated(8);
  return t;
}

// A receiver that stores each word it gets by a data task at 1024, 1028, ...; the next address is kept at
// 512.
Tile listener(const Machine& m, const std::string& more = "", int control_id = -1) {
  Tile t("listener");
  t.words(512, {1024});
  t.code("start: ld16 r4, [512+0]\nst32 [r4+0], p0\nadd16 r4, r4, 4\nst16 [512+0], r4\nyield\n" + more);
  t.input(2, 1).task(TaskKind::data, m.queues.data_task_on_queue ? 2 : 1, "start", TaskArgs::word);
  if (control_id >= 0) t.task(TaskKind::control, control_id, "control", TaskArgs::half);
  return t;
}

std::vector<uint32_t> heard(const Simulation& run, int x, int y) {
  std::vector<uint32_t> got;
  uint32_t end = run.word(x, y, 512) & 0xFFFF;
  for (uint32_t a = 1024; a < end; a += 4) got.push_back(run.word(x, y, int(a)));
  return got;
}

// PE (1,1) in the middle of a cross; PE (0,1) talks; listeners in the east, south and north, and in the
// middle.
struct Cross {
  Cross(const Machine& m, const std::vector<std::pair<uint32_t, bool>>& words,
        const std::vector<std::string>& positions, bool ring, PopMode pop)
      : f(m, 3, 3) {
    f.place({0, 1, 1, 1}, talker(words));
    for (Rect r : {Rect{1, 1, 1, 1}, Rect{2, 1, 1, 1}, Rect{1, 0, 1, 1}, Rect{1, 2, 1, 1}})
      f.place(r, listener(m, "control: st16 [516+0], r0\nyield", 40));
    f.route({0, 1, 1, 1}, 1, {"R>E"});
    RouteConfig& c = f.route({1, 1, 1, 1}, 1, positions);
    c.ring_mode = ring;
    c.pop_mode = pop;
    f.route({2, 1, 1, 1}, 1, {"W>R"});
    f.route({1, 0, 1, 1}, 1, {"S>R"});
    f.route({1, 2, 1, 1}, 1, {"N>R"});
  }
  Fabric f;
};

const uint32_t kAdvance = control(40, {{1, false}});

TEST(Switches, control_wavelets_are_routed_with_the_old_position_and_move_it) {
  for (const Machine& m : {wse2(), wse3()}) {
    Cross cross(m,
                {{11, false},
                 {kAdvance, true},
                 {12, false},
                 {kAdvance, true},
                 {13, false},
                 {kAdvance, true},
                 {14, false}},
                {"W>E", "W>S", "W>N"}, true, PopMode::no_pop);
    Simulation run(cross.f);
    run.finish();
    EXPECT_EQ(heard(run, 2, 1), (std::vector<uint32_t>{11, 14}));  // ring: back to the first position
    EXPECT_EQ(heard(run, 1, 2), (std::vector<uint32_t>{12}));
    EXPECT_EQ(heard(run, 1, 0), (std::vector<uint32_t>{13}));
    // Each of them got one control wavelet too; its argument is the low half of the payload.
    EXPECT_EQ(run.trace.wavelets_of(1, 2).size(), 2u);
  }
}

TEST(Switches, without_ring_mode_the_last_position_stays) {
  Cross cross(wse2(), {{kAdvance, true}, {12, false}, {kAdvance, true}, {13, false}}, {"W>E", "W>S"}, false,
              PopMode::no_pop);
  Simulation run(cross.f);
  run.finish();
  EXPECT_EQ(heard(run, 1, 2), (std::vector<uint32_t>{12, 13}));
}

TEST(Switches, reset_goes_to_the_first_position_and_invalid_ones_are_skipped) {
  Cross cross(wse2(), {{kAdvance, true}, {12, false}, {control(40, {{2, false}}), true}, {13, false}},
              {"W>E", "W>S", "W>N"}, true, PopMode::no_pop);
  cross.f.p.routes[1].config.positions[1].valid = false;
  Simulation run(cross.f);
  run.finish();
  EXPECT_EQ(heard(run, 1, 0), (std::vector<uint32_t>{12}));
  EXPECT_EQ(heard(run, 2, 1), (std::vector<uint32_t>{13}));
}

// With always_pop the second command of the list meets the next router: PE (1,1) advances, and so does what
// follows.
TEST(Switches, pop_modes_decide_what_the_next_router_sees) {
  struct Case {
    PopMode mode;
    uint32_t sent;
    int opcode_beyond;
  };
  const Case kCases[] = {{PopMode::no_pop, control(40, {{1, false}, {2, false}}), 1},
                         {PopMode::always_pop, control(40, {{1, false}, {2, false}}), 2},
                         {PopMode::pop_on_advance, control(40, {{1, false}, {2, false}}), 2},
                         {PopMode::pop_on_advance, control(40, {{0, false}, {2, false}}), 0},
                         {PopMode::pop_on_advance_nop, control(40, {{0, false}, {2, false}}), 2}};
  for (const Case& c : kCases) {
    Cross cross(wse2(), {{c.sent, true}}, {"W>E", "W>S"}, true, c.mode);
    Simulation run(cross.f);
    run.finish();
    auto seen = run.trace.wavelets_of(2, 1);
    ASSERT_EQ(seen.size(), 1u);
    EXPECT_EQ(first_command(seen[0].data).opcode, c.opcode_beyond);
  }
}

TEST(Switches, ignored_commands_do_not_reach_the_core) {
  for (bool ignore : {false, true}) {
    Cross cross(wse2(), {{control(40, {{0, ignore}}), true}, {7, false}}, {"W>ER"}, false, PopMode::no_pop);
    Simulation run(cross.f);
    run.finish();
    EXPECT_EQ(run.engine.stats({1, 1}).tasks, ignore ? 1u : 2u);
    EXPECT_EQ(heard(run, 1, 1), (std::vector<uint32_t>{7}));
  }
}

TEST(Switches, control_wavelets_end_at_the_edge_of_the_fabric) {
  // The host takes data; the commands between two wavelets were for the routers on the way.
  Fabric f(wse2(), 2, 1);
  f.place({0, 0, 1, 1}, talker({{11, false}, {kAdvance, true}, {12, false}}));
  f.route({0, 0, 1, 1}, 1, {"R>E"});
  f.route({1, 0, 1, 1}, 1, {"W>E"});
  const int out = f.port("out", false, Port::east, 0, 1);
  Simulation run(f);
  run.finish();
  std::vector<uint32_t> data;
  for (const PortEvent& e : run.engine.received(out)) data.push_back(e.data);
  EXPECT_EQ(data, (std::vector<uint32_t>{11, 12}));
}

TEST(Switches, a_closed_input_holds_its_traffic_back) {
  // Position 0 takes from the core only: what comes from the west waits until the core's control wavelet
  // opens it.
  Cross cross(wse2(), {{11, false}}, {"R>E", "W>E"}, false, PopMode::no_pop);
  Tile opener("opener");
  isa::Dsd d = fabout(2, 1, 1);
  d.control = true;
  opener.dsd(96, d).output(2, 1);
  std::string wait;
  for (int i = 0; i < 100; ++i) wait += "mov16 r0, 1\n";
  opener.code("start: " + wait + send_word(96, kAdvance) + "yield")
      .task(TaskKind::local, 8, "start")
      .activated(8);
  cross.f.p.tiles[1] = opener.t;
  Simulation run(cross.f);
  run.finish();
  EXPECT_EQ(heard(run, 2, 1), (std::vector<uint32_t>{11}));
  auto through = run.trace.wavelets_of(1, 1);
  ASSERT_EQ(through.size(), 2u);
  EXPECT_EQ(through[0].from, Port::ramp);
  EXPECT_EQ(through[1].cycle, through[0].cycle + 1);  // the new position is in force from the next cycle on
  EXPECT_GT(run.engine.stats({1, 1}).blocked[int(Port::east)], 50u);
}

// However long an advance takes, what comes behind the command sees the new position and what came before it
// the old one. The words of this sender land at the switch 5 cycles apart: those that come too early wait for
// it.
TEST(Switches, wavelets_behind_a_command_wait_for_the_new_position) {
  for (Machine m : {wse2(), wse3()})
    for (int delay : {0, 1, 4, 5, 20}) {
      m.router.switch_advance_cycles = delay;
      Cross cross(m, {{11, false}, {kAdvance, true}, {12, false}, {13, false}}, {"W>E", "W>S"}, false,
                  PopMode::no_pop);
      Simulation run(cross.f);
      run.finish();
      EXPECT_EQ(heard(run, 2, 1), (std::vector<uint32_t>{11}));
      EXPECT_EQ(heard(run, 1, 2), (std::vector<uint32_t>{12, 13}));
      const auto through = run.trace.wavelets_of(1, 1, 1);
      ASSERT_EQ(through.size(), 4u);
      const Cycle command = through[1].cycle;
      EXPECT_EQ(command, through[1].landed);
      EXPECT_EQ(through[2].cycle, std::max(through[2].landed, command + 1 + Cycle(delay)));
      EXPECT_EQ(through[3].cycle, std::max(through[3].landed, through[2].cycle + 1));
    }
}

TEST(Switches, advance_switch_of_a_send_acts_after_its_last_wavelet) {
  Fabric f(wse2(), 2, 2);
  Tile t("sender");
  isa::Dsd d = fabout(2, 1, 3);
  d.advance_switch = true;
  t.dsd(96, d).output(2, 1).code("start: " + send_word(96, 5) + send_word(96, 6) + "yield");
  t.task(TaskKind::local, 8, "start").activated(8);
  f.place({0, 0, 1, 1}, t).place({1, 0, 1, 1}, listener(wse2())).place({0, 1, 1, 1}, listener(wse2()));
  f.route({0, 0, 1, 1}, 1, {"R>E", "R>S"});
  f.route({1, 0, 1, 1}, 1, {"W>R"});
  f.route({0, 1, 1, 1}, 1, {"N>R"});
  Simulation run(f);
  run.finish();
  EXPECT_EQ(heard(run, 1, 0), (std::vector<uint32_t>{5, 5, 5}));
  EXPECT_EQ(heard(run, 0, 1), (std::vector<uint32_t>{6, 6, 6}));
}

TEST(Faults, two_inputs_of_one_color_at_once_are_a_colour_conflict) {
  Fabric f(wse2(), 3, 1);
  auto talk = talker({{1, false}, {2, false}, {3, false}});
  f.place({0, 0, 1, 1}, talk).place({2, 0, 1, 1}, talk).place({1, 0, 1, 1}, listener(wse2()));
  f.route({0, 0, 1, 1}, 1, {"R>E"});
  f.route({2, 0, 1, 1}, 1, {"R>W"});
  f.route({1, 0, 1, 1}, 1, {"EW>R"});
  Simulation run(f);
  run.engine.step(10000);
  ASSERT_TRUE(run.engine.faulted());
  EXPECT_EQ(run.engine.fault().fault, "colour-conflict");
  EXPECT_NE(run.engine.fault().message.find("PE (1, 0)"), std::string::npos);
}

TEST(Faults, two_operations_on_one_queue_are_a_queue_conflict) {
  Tile t("conflict");
  t.dsd(96, mem(256, 4)).dsd(104, fabin(2, 1, 4)).input(2, 1);
  t.code(
      "start: lddds d0, [96], {async ut=2}\nlds0ds s0_0, [104], {}\nmov32 d0, s0_0\n"
      "lddds d0, [96], {async ut=3}\nmov32 d0, s0_0\nyield");
  t.task(TaskKind::local, 8, "start").activated(8);
  Fabric f(wse2(), 1, 1);
  f.place({0, 0, 1, 1}, t);
  f.route({0, 0, 1, 1}, 1, {"W>R"});
  Simulation run(f);
  run.engine.step(1000);
  ASSERT_TRUE(run.engine.faulted());
  EXPECT_EQ(run.engine.fault().fault, "queue-conflict");
}

}  // namespace
}  // namespace cs::sim::test
