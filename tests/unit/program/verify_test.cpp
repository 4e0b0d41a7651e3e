// verify(): the sample is accepted; each way of breaking it is named with its numbers.
#include <gmock/gmock.h>

#include <functional>

#include "tests/unit/program/sample_program.h"

namespace cs {
namespace {

using ::testing::HasSubstr;

std::string problems(const Program& p, const std::string& machine_name = "wse2") {
  Diag diag;
  const bool ok = verify(p, machine(machine_name), diag);
  EXPECT_EQ(ok, diag.ok());
  return diag.to_string();
}

TEST(Verify, AcceptsTheSample) { EXPECT_EQ(problems(sample_program()), ""); }

// 120 streams at 60 places of an edge are 60 ports.
TEST(Verify, StreamsAtOnePlaceAreOneHostPort) {
  Program p = sample_program();
  p.fabric_height = 100;
  for (int i = 0; i < 59; ++i)
    for (const int color : {10, 11}) {
      const std::string name = "w" + std::to_string(i) + (color == 10 ? "a" : "b");
      p.ports.push_back({name, true, Port::west, 10 + i, uint8_t(color)});
    }
  for (const int color : {10, 11}) p.routes.push_back({{0, 10, 4, 59}, uint8_t(color), p.routes[0].config});
  EXPECT_THAT(problems(p), testing::Not(HasSubstr("host ports")));
}

struct Break {
  const char* message;
  std::function<void(Program&)> damage;
};

void expect_each(const std::vector<Break>& breaks) {
  for (const Break& b : breaks) {
    Program p = sample_program();
    b.damage(p);
    EXPECT_THAT(problems(p), HasSubstr(b.message));
  }
}

TEST(Verify, CopiesMustFitTheirSymbols) {
  Program good = sample_program();
  good.host = resident_host();
  EXPECT_EQ(problems(good), "");
  good.host->inputs[0].type = DataType::i64;  // as words, all of them on both PEs
  good.host->steps[0].tiling = {{1, 1, 2, 1}, 5, 1, 5, {1, 3, 0, 0, 0}};
  EXPECT_EQ(problems(good), "");
  good.host = resident_host();
  const std::vector<std::pair<const char*, std::function<void(HostPart&)>>> breaks = {
      {"has copies and launches beside streams",
       [](HostPart& h) {
         h.steps.push_back({});
         h.steps.back().op = "relu";
       }},
      {"a matrix of 1 x 16 does not lie in 1 x 2 tiles of 1 x 7",
       [](HostPart& h) { h.steps[0].tiling.tile_columns = 7; }},
      {"a matrix of 2 x 8 does not lie in 1 x 2 tiles of 1 x 8",
       [](HostPart& h) { h.steps[0].tiling.columns = 8; }},
      {"needs 36 bytes per PE, tile program 'pe.csl' has 32",
       [](HostPart& h) { h.steps[0].tiling.tile_columns = 9; }},
      {"covers 3 PEs, of which 2 have a tile program", [](HostPart& h) { h.steps[0].tiling.rect.w = 3; }},
      {"is f64; only types of 16 and 32 bits, integers of 64 and truth values lie on PEs",
       [](HostPart& h) { h.inputs[0].type = DataType::f64; }},
      {"3 planes of 2 x 5 are not the 15 elements of tensor 'in'",
       [](HostPart& h) {
         h.steps[0].tiling = {{1, 1, 2, 1}, 5, 1, 2, {3, 2, 0, 0, 1}};
       }},
      {"needs 36 bytes per PE, tile program 'pe.csl' has 32",
       [](HostPart& h) {
         h.steps[0].tiling = {{1, 1, 2, 1}, 5, 1, 3, {3, 1, -1, 0, 1}};
       }},
      {"brings windows back; only tiles can be put together again",
       [](HostPart& h) {
         h.steps[2].tiling = {{1, 1, 2, 1}, 5, 1, 2, {3, 1, 0, 0, 1}};
       }},
      {"has windows in an order that only tiles have",
       [](HostPart& h) {
         h.steps[0].tiling = {{1, 1, 2, 1}, 5, 1, 2, {3, 1, 0, 0, 1}, TileOrder::ring};
       }},
      {"exports no function 'go'", [](HostPart& h) { h.steps[1].symbol = "go"; }},
      {"no step gives the output 'out'", [](HostPart& h) { h.steps.pop_back(); }},
  };
  for (const auto& [message, damage] : breaks) {
    Program p = good;
    damage(*p.host);
    EXPECT_THAT(problems(p), HasSubstr(message));
  }
}

TEST(Verify, NamesWhatIsWrongWithPlaces) {
  expect_each({
      {"needs 4 x 997 PEs, machine wse2 has 757 x 996", [](Program& p) { p.fabric_height = 997; }},
      {"[1, 1, 4, 1] is not inside the fabric of 4 x 3", [](Program& p) { p.user.w = 4; }},
      {"uses tile program 7, there are 2", [](Program& p) { p.rects[0].tile = 7; }},
      {"PE (2, 1) has two tile programs", [](Program& p) { p.rects[0].rect.w = 2; }},
      {"tile rectangle [-1, 1, 1, 1]: error: is not inside", [](Program& p) { p.rects[0].rect.x = -1; }},
      {"tile rectangle [1, 1, 2147483647, 1]", [](Program& p) { p.rects[0].rect.w = 2147483647; }},
      {"there are 24 colors", [](Program& p) { p.routes[0].color = 24; }},
      {"PE (0, 1) has two routes of this color", [](Program& p) { p.routes[0].color = 6; }},
      {"current switch position is 1, which is not valid",
       [](Program& p) { p.routes[0].config.current = 1; }},
      {"current switch position is 200", [](Program& p) { p.routes[0].config.current = 200; }},
      {"names a sixth port", [](Program& p) { p.routes[0].config.positions[0].tx = 0x21; }},
      {"changes inputs and outputs",
       [](Program& p) {
         p.routes[0].config.positions[2] = {true, 16, 1};
       }},
      {"leaves the fabric to the east at row 1", [](Program& p) { p.ports.pop_back(); }},
      {"no route of color 7 at PE (0, 1) takes input from the west",
       [](Program& p) { p.ports[0].color = 7; }},
      {"is at row 3, there are 3", [](Program& p) { p.ports[0].position = 3; }},
      {"port names must be unique", [](Program& p) { p.ports[1].name = "in"; }},
      {"needs 61 host ports, machine wse2 has 60",
       [](Program& p) {
         p.fabric_height = 100;
         for (int i = 0; i < 60; ++i) {
           p.ports.push_back({"w" + std::to_string(i), true, Port::west, 10 + i, 5});
         }
         p.routes.push_back({{0, 10, 4, 60}, 5, p.routes[0].config});
       }},
      {"no tile program exports a variable", [](Program& p) { p.exports[0].name = "z"; }},
      {"is exported as i16", [](Program& p) { p.exports[0].type = DataType::i16; }},
      {"memcpy uses the colors 21, 22, 23",
       [](Program& p) {
         p.memcpy = true;
         p.routes[1].color = 22;
       }},
  });
}

TEST(Verify, NamesWhatIsWrongWithATile) {
  expect_each({
      {"needs 49200 bytes of memory, a PE has 49152",
       [](Program& p) { p.tiles[0].sections[1].bytes = 49136; }},
      {"section 'data' begins at 12, the one before it ends at 14",
       [](Program& p) { p.tiles[0].sections[1].address = 12; }},
      {"code takes bytes 0 to 13, which lie in no section",
       [](Program& p) { p.tiles[0].sections[0].bytes = 12; }},
      {"two initial contents for byte 98", [](Program& p) { p.tiles[0].segments[1].address = 98; }},
      {"continues at instruction 9, there are 5", [](Program& p) { p.tiles[0].code[2].args[1].value = 9; }},
      {"from pe.csl:12", [](Program& p) { p.tiles[0].code[2].args[1].value = 9; }},
      {"instruction 1", [](Program& p) { p.tiles[0].code[1].args[0].value = 16; }},
      {"last instruction can be run over",
       [](Program& p) {
         p.tiles[0].code.pop_back();
         p.tiles[0].code.pop_back();
       }},
      {"data task 'recv' (id 24): ids are 0 to 23", [](Program& p) { p.tiles[0].tasks[0].id = 24; }},
      {"begins at instruction 5, there are 5", [](Program& p) { p.tiles[0].tasks[0].entry = 5; }},
      {"the id is bound to task 'recv' already", [](Program& p) { p.tiles[0].tasks[2].id = 5; }},
      {"input queue 8: there are 8", [](Program& p) { p.tiles[0].queues[0].queue = 8; }},
      {"output queue 6: there are 6", [](Program& p) { p.tiles[0].queues[1].queue = 6; }},
      {"is bound twice", [](Program& p) { p.tiles[0].queues.push_back(p.tiles[0].queues[0]); }},
      {"activates the local task id 9", [](Program& p) { p.tiles[0].activated = {9}; }},
      {"blocks the task id 64", [](Program& p) { p.tiles[0].blocked = {64}; }},
      {"symbol 'x' takes bytes 64 to 131", [](Program& p) { p.tiles[0].symbols[0].elements = 17; }},
      {"symbol 'n' is at the odd address", [](Program& p) { p.tiles[0].symbols[1].address = 121; }},
      {"a parameter of function 'run'",
       [](Program& p) { p.tiles[0].functions[0].parameters[0].address = 126; }},
      {"entry 1 of the line table", [](Program& p) { p.tiles[0].lines[1].file = 2; }},
  });
}

TEST(Verify, NamesWhatIsWrongWithTheHostPart) {
  expect_each({
      {"dtype 'fp64'", [](Program& p) { p.host->dtype = "fp64"; }},
      {"uses tensor 'v' before any step gives it",
       [](Program& p) { std::swap(p.host->steps[1], p.host->steps[2]); }},
      {"there is no port 'inn'", [](Program& p) { p.host->steps[0].port = "inn"; }},
      {"port 'out' is an output port", [](Program& p) { p.host->steps[0].port = "out"; }},
      {"port 'in' is used by two steps", [](Program& p) { p.host->steps.push_back(p.host->steps[0]); }},
      {"there is no tensor 'w'", [](Program& p) { p.host->steps[0].tensor = "w"; }},
      {"no step gives the output 'y'", [](Program& p) { p.host->steps.pop_back(); }},
      {"needs 33 bytes per PE, tile program 'pe.csl' has 32",
       [](Program& p) { p.host->constants[0].bytes_per_pe = 33; }},
      {"covers 3 PEs, of which 2 have a tile program", [](Program& p) { p.host->constants[0].rect.w = 3; }},
      {"needs 8 bytes, has 9", [](Program& p) { p.host->host_constants[0].bytes = 9; }},
      {"negative dimension",
       [](Program& p) {
         p.host->inputs[0].shape = {1, -1};
       }},
      {"the sample dimension is 2, the rank 2", [](Program& p) { p.host->inputs[0].sample_dim = 2; }},
      {"no kernel 'k9'", [](Program& p) { p.host->ops[0].kernels = {"k9"}; }},
  });
}

// The sample twice: the streams of the other copy pass below those of the first one.
Program sample_twice() {
  Program p = sample_program();
  HostPart& h = *p.host;
  h.copies = 2;
  for (RouteRun run : std::vector<RouteRun>(p.routes)) {
    ++run.rect.y;
    p.routes.push_back(run);
  }
  for (HostPort port : std::vector<HostPort>(p.ports)) {
    port.name += "1";
    ++port.position;
    p.ports.push_back(port);
  }
  for (HostStep step : std::vector<HostStep>(h.steps)) {
    step.copy = 1;
    if (!step.port.empty()) step.port += "1";
    h.steps.push_back(step);
  }
  return p;
}

TEST(Verify, EveryCopyOfTheNetworkHasItsSteps) {
  EXPECT_EQ(problems(sample_twice()), "");
  const std::vector<std::pair<const char*, std::function<void(HostPart&)>>> breaks = {
      {"uses tensor 'v' before any step gives it in copy 1", [](HostPart& h) { h.steps.erase(h.steps.begin() + 4); }},
      {"no step gives the output 'y' in every copy", [](HostPart& h) { h.steps.pop_back(); }},
      {"gives tensor 'y', which is there already",
       [](HostPart& h) {
         h.steps.back().whole_batch = true;
         h.steps.back().copy = 0;
       }},
      {"takes the samples of all copies of the network, and names copy 1",
       [](HostPart& h) { h.steps.back().whole_batch = true; }},
      {"host step 5: error: belongs to copy 2 of the network, of 2", [](HostPart& h) { h.steps.back().copy = 2; }},
      {"kernel 'k0': error: belongs to copy 7 of the network, of 2", [](HostPart& h) { h.kernels[0].copy = 7; }},
      {"has 129 copies of the network, 1 to 128 are possible", [](HostPart& h) { h.copies = 129; }},
  };
  for (const auto& [message, damage] : breaks) {
    Program p = sample_twice();
    damage(*p.host);
    EXPECT_THAT(problems(p), HasSubstr(message));
  }
  Program resident = sample_program();
  resident.host = resident_host();
  resident.host->copies = 2;
  EXPECT_THAT(problems(resident), HasSubstr("has 2 copies of a network that is launched"));
}

TEST(Verify, StatesAreSomewhereAndGoOn) {
  Program good = sample_program();
  good.host = training_host();
  EXPECT_EQ(problems(good), "");
  const std::vector<std::pair<const char*, std::function<void(HostPart&)>>> breaks = {
      {"names of states must be unique", [](HostPart& h) { h.states[1].name = "w"; }},
      {"needs 40 bytes per PE", [](HostPart& h) { h.states[0].parts[0].bytes_per_pe = 40; }},
      {"state 'w': error: is on no PE", [](HostPart& h) { h.states[0].parts.clear(); }},
      {"PEs keep words of f32 and i32", [](HostPart& h) { h.states[0].type = DataType::f16; }},
      {"state 'w.m': error: needs 4 bytes, has 5", [](HostPart& h) { h.states[1].bytes = 5; }},
      {"there is no tensor 'n'", [](HostPart& h) { h.states[1].input = "n"; }},
      {"'in:0' is of another type", [](HostPart& h) { h.states[1].output = "in:0"; }},
      {"'m' is there already", [](HostPart& h) { h.scalars[1].input = "m"; }},
      {"no step gives the state 'm.next'", [](HostPart& h) { h.steps.erase(h.steps.begin() + 1); }},
      {"one element in floating point", [](HostPart& h) { h.values[0].shape = {2}; }},
      {"of several copies", [](HostPart& h) { h.copies = 2; }},
  };
  for (const auto& [message, damage] : breaks) {
    Program p = sample_program();
    p.host = training_host();
    damage(*p.host);
    EXPECT_THAT(problems(p), HasSubstr(message));
  }
}

TEST(Verify, RulesOfTheMachineDecide) {
  Program p = sample_program();
  EXPECT_THAT(problems(p, "wse3"), HasSubstr("the program is for wse2, the machine is wse3"));
  // WSE-3: instructions of 4 bytes, queues 0 to 7 for data tasks, one input per color, switches only on some
  // colors.
  p.arch = Arch::wse3;
  for (TileProgram& t : p.tiles) t.sections[0].bytes = 20;
  EXPECT_EQ(problems(p, "wse3"), "");
  p.tiles[0].tasks[0].id = 8;
  p.tiles[0].queues.push_back({true, 3, 7, 0});
  p.routes[0].config.positions[0].rx |= port_bit(Port::north);
  p.routes.push_back({{0, 0, 1, 1}, 10, p.routes[0].config});
  const std::string text = problems(p, "wse3");
  EXPECT_THAT(text, HasSubstr("data task 'recv' (id 8): ids are 0 to 7"));
  EXPECT_THAT(text, HasSubstr("output queue 3 is bound twice"));
  EXPECT_THAT(text, HasSubstr("has several inputs, wse3 allows one"));
  EXPECT_THAT(text, HasSubstr("color 10 cannot switch on wse3"));
  Program q = sample_program();  // both are fine on WSE-2
  q.tiles[0].queues.push_back({true, 3, 7, 0});
  q.routes.push_back({{1, 0, 1, 1}, 10, q.routes[0].config});
  EXPECT_EQ(problems(q), "");
}

TEST(Verify, WeightsMustLieInTheFile) {
  Diag diag;
  EXPECT_TRUE(verify_weights(sample_program(), 72, diag));  // 2 PEs x 32 bytes, then 8 bytes at 64
  EXPECT_FALSE(verify_weights(sample_program(), 71, diag));
  EXPECT_THAT(diag.to_string(), HasSubstr("needs bytes 64 to 72 of weights.bin, which has 71"));
}

TEST(Where, FollowsTheLineTable) {
  const TileProgram t = sample_tile("t");
  EXPECT_EQ(t.where(0), "pe.csl:12");
  EXPECT_EQ(t.where(2), "pe.csl:12");
  EXPECT_EQ(t.where(3), "lib/a b.csl:7");
  EXPECT_EQ(TileProgram{}.where(0), "");
}

}  // namespace
}  // namespace cs
