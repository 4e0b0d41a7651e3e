// The back half: memory plans, clean-up of code, line tables and checks of roles.
#include "link_test_support.h"
#include "compiler/csl/link.h"
#include "runtime/isa/dsd.h"

namespace cs::csl::test {
namespace {

// ---- memory

TEST(LinkMemory, MapIsCompleteAndDisjoint) {
  FunctionText f{"main"};
  f.lines = {"ld16 r64, [global2]", "st16 [global0], r64", "yield"};
  MirTile tile = tile_of({f, {"never", {}, "", {"ret"}}});
  tile.memcpy = true;
  tile.tasks[0].id = 9;
  tile.globals.push_back(global("unused", 100));
  tile.globals.push_back(global("constant", 2, {5, 0}, true));
  Machine m = machine();
  TileProgram p = link(tile, m);
  ASSERT_EQ(p.sections.size(), 4u);  // reserved, main, constant, out; neither `never` nor `unused`
  EXPECT_EQ(p.sections[0].bytes, uint32_t(m.memcpy.memcpy_bytes));
  EXPECT_EQ(p.sections[1].name, "main");
  // wse2: ld16 4 + st16 4 + yield 2 bytes
  EXPECT_EQ(p.sections[1].bytes, 10u);
  for (size_t i = 1; i < p.sections.size(); ++i)
    EXPECT_GE(p.sections[i].address, p.sections[i - 1].address + p.sections[i - 1].bytes);
}

TEST(LinkMemory, EqualConstantsAreOne) {
  FunctionText f{"main"};
  f.lines = {"mov16 r64, global1", "mov16 r65, global2", "sub16 r66, r64, r65", "st16 [global0], r66",
             "yield"};
  MirTile tile = tile_of({f});
  tile.globals.push_back(global("a", 4, {1, 2, 3, 4}, true));
  tile.globals.push_back(global("b", 4, {1, 2, 3, 4}, true));
  tile.globals.push_back(global("c", 4, {1, 2, 3, 5}, true));
  TileProgram p = link(tile);
  Runner run(p);
  run.set(run.symbol("out"), 77, 2);
  run.run(p.tasks[0].entry);
  EXPECT_EQ(run.half(run.symbol("out")), 0);
}

// Two functions called one after the other share frame memory; caller and callee do not.
TEST(LinkMemory, FramesAreOverlaid) {
  FunctionText f{"main"};
  f.slots = {{"m", 100, 2}};
  f.lines = {"st16 [slot0], 1", "call fn1", "call fn2", "ld16 r64, [slot0]", "st16 [global0], r64", "yield"};
  FunctionText a{"a"}, b{"b"};
  a.slots = {{"x", 1000, 2}};
  a.lines = {"st16 [slot0], 2", "ret"};
  b.slots = {{"y", 600, 2}};
  b.lines = {"st16 [slot0], 3", "ret"};
  TileProgram p = link(tile_of({f, a, b}));
  ASSERT_EQ(p.sections.back().name, "frames");
  EXPECT_EQ(p.sections.back().bytes, 1100u);  // 100 + max(1000, 600)
  Runner run(p);
  run.run(p.tasks[0].entry);
  EXPECT_EQ(run.half(run.symbol("out")), 1);
}

// As above, but the array's address goes into a descriptor and an operation is asynchronous: `x` keeps its
// own memory.
TEST(LinkMemory, ArraysOfAsynchronousOperationsAreNotOverlaid) {
  FunctionText f{"main"};
  f.lines = {"call fn1", "call fn2", "yield"};
  FunctionText a{"a"}, b{"b"};
  a.slots = {{"x", 1000, 2}, {"dsd", 8, 2}};
  a.lines = {"mov16 r64, slot0", "st16 [slot1+2], r64", "lddds d0, [slot1], {async}", "ret"};
  b.slots = {{"y", 600, 2}};
  b.lines = {"st16 [slot0], 3", "ret"};
  TileProgram p = link(tile_of({f, a, b}));
  ASSERT_EQ(p.sections.back().name, "a.x");
  EXPECT_EQ(p.sections.back().bytes, 1000u);
  EXPECT_EQ(p.sections[p.sections.size() - 2].bytes, 600u);  // dsd and y share
}

TEST(LinkMemory, OverflowSaysNeedHaveAndWho) {
  FunctionText f{"main"};
  f.lines = {"ld16 r64, [global1]", "st16 [global0], r64", "yield"};
  MirTile tile = tile_of({f});
  tile.globals.push_back(global("weights", 60000));
  Diag diag;
  tile.globals[1].loc = {diag.sources.add("pe.csl", "var weights: [15000]f32;\n"), 1, 5};
  TileProgram out;
  EXPECT_FALSE(link_tile(tile, machine(), out, diag.sources, diag));
  std::string text = diag.to_string();
  // code 10 (rounded to 12 by alignment) + out 64 + weights 60000
  EXPECT_NE(
      text.find(
          "pe.csl:1:5: error: 'test.csl' does not fit in the memory of a PE: need 60076 bytes, have 49152 "
          "(10924 too many); reserved 0, code 10, constants 0, data 60064, frames 0"),
      std::string::npos)
      << text;
  EXPECT_NE(text.find("'weights' takes 60000 bytes"), std::string::npos) << text;
}

// ---- code

TEST(LinkSimplify, JumpsAndDeadValues) {
  FunctionText f{"main"};
  f.lines = {"imov16 r64, 5",  // never read
             "ld16 r65, [global0]", "jmpt r65, @a", "jmp @b", "a:",   "st16 [global0], 1", "jmp @end", "b:",
             "st16 [global0], 2",   "jmp @end",     "end:",   "yield"};
  TileProgram p = link(tile_of({f}));
  std::vector<std::string> text;
  for (const isa::Inst& inst : p.code) text.push_back(isa::print(inst).substr(0, isa::print(inst).find(' ')));
  EXPECT_EQ(text, (std::vector<std::string>{"ld16", "jmpf", "st16", "yield", "st16", "yield"}));
}

TEST(LinkLines, InstructionsKnowTheirSource) {
  FunctionText f{"main"};
  f.lines = {"ld16 r64, [global0]", "st16 [global0+2], r64", "yield"};
  MirTile tile = tile_of({f});
  Diag diag;
  uint32_t file = diag.sources.add("pe.csl", "a\nb\nc\n");
  tile.functions[0].locs = {{file, 1, 1}, {file, 2, 1}, {file, 2, 1}};
  TileProgram p;
  ASSERT_TRUE(link_tile(tile, machine(), p, diag.sources, diag));
  EXPECT_EQ(p.where(0), "pe.csl:1");
  EXPECT_EQ(p.where(1), "pe.csl:2");
  EXPECT_EQ(p.where(2), "pe.csl:2");
}

// ---- roles

std::string role_errors(MirTile tile, const std::string& name = "wse2") {
  Diag diag;
  TileProgram out;
  EXPECT_FALSE(link_tile(tile, machine(name), out, diag.sources, diag));
  return diag.to_string();
}

TEST(LinkRole, IdsOfTheArchitectureAndOfMemcpy) {
  FunctionText f{"main"};
  f.lines = {"yield"};
  MirTile tile = tile_of({f});
  tile.tasks[0].id = 31;
  EXPECT_NE(role_errors(tile).find("local task id 31 does not exist on wse2: the ids are 0 to 30"),
            std::string::npos);
  tile.tasks[0].id = 3;
  EXPECT_NE(role_errors(tile, "wse3").find("local task id 3 does not exist on wse3: the ids are 8 to 30"),
            std::string::npos);
  tile.tasks[0].id = 27;
  tile.memcpy = true;
  EXPECT_NE(role_errors(tile).find("local task id 27 of 'main' is reserved for memcpy"), std::string::npos);
  tile.tasks[0].id = 9;
  tile.tasks.push_back(tile.tasks[0]);
  EXPECT_NE(role_errors(tile).find("is bound to local task id 9, which local task 'main' has already"),
            std::string::npos);
}

TEST(LinkRole, Queues) {
  FunctionText f{"main"};
  f.lines = {"yield"};
  MirTile tile = tile_of({f});
  tile.queues = {{true, 6, 1}};
  EXPECT_NE(role_errors(tile).find("output queue 6 does not exist on wse2: the ids are 0 to 5"),
            std::string::npos);
  tile.queues = {{false, 2, 1}, {false, 2, 4}};
  EXPECT_NE(role_errors(tile).find("input queue 2 is initialised twice, with colors 1 and 4"),
            std::string::npos);
  tile.queues = {{false, 2, 1}, {false, 3, 1}};
  Diag diag;
  EXPECT_TRUE(link::check_role(tile, machine("wse2"), diag));
  EXPECT_NE(diag.to_string().find("warning: color 1 is bound to input queues 2 and 3"), std::string::npos);
}

}  // namespace
}  // namespace cs::csl::test
