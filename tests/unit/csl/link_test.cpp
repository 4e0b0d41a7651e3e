// The back half: linked code computes what the MIR says.
#include <fmt/format.h>

#include <algorithm>

#include "link_test_support.h"

namespace cs::csl::test {
namespace {

using Kind = MirFunction::Kind;

// 1 + 2 + ... + 30 with all thirty values alive before the first addition: twice the registers there are.
TEST(LinkRegisters, ThirtyLiveValues) {
  FunctionText f{"main"};
  for (int i = 0; i < 30; ++i) f.lines.push_back(fmt::format("ld16 r{}, [global1+{}]", 64 + i, 2 * i));
  f.lines.push_back("mov16 r100, 0");
  for (int i = 0; i < 30; ++i) f.lines.push_back(fmt::format("add16 r100, r100, r{}", 64 + i));
  f.lines.push_back("st16 [global0], r100");
  f.lines.push_back("yield");
  MirTile tile = tile_of({f});
  std::vector<uint8_t> init;
  for (int i = 1; i <= 30; ++i) init.insert(init.end(), {uint8_t(i), 0});
  tile.globals.push_back(global("in", 60, init));
  TileProgram p = link(tile);
  for (const isa::Inst& inst : p.code) EXPECT_EQ(isa::verify(inst, machine()), "");
  Runner run(p);
  run.run(p.tasks[0].entry);
  EXPECT_EQ(run.half(run.symbol("out")), 465);  // 30 * 31 / 2
}

// Pairs and single registers at once: 9 pairs (18 halves) and 6 halves do not fit in 15 registers.
TEST(LinkRegisters, PairsAndHalves) {
  FunctionText f{"main"};
  for (int i = 0; i < 9; ++i) f.lines.push_back(fmt::format("imov32 p{}, {}", 64 + i, 100000 * (i + 1)));
  for (int i = 0; i < 6; ++i) f.lines.push_back(fmt::format("ld16 r{}, [global0+{}]", 80 + i, 32 + 2 * i));
  f.lines.push_back("imov32 p90, 0");
  for (int i = 0; i < 9; ++i) f.lines.push_back(fmt::format("add32 p90, p90, p{}", 64 + i));
  f.lines.push_back("imov16 r91, 7");
  for (int i = 0; i < 6; ++i) f.lines.push_back(fmt::format("add16 r91, r91, r{}", 80 + i));
  f.lines.push_back("st32 [global0], p90");
  f.lines.push_back("st16 [global0+4], r91");
  f.lines.push_back("yield");
  TileProgram p = link(tile_of({f}));
  Runner run(p);
  run.run(p.tasks[0].entry);
  EXPECT_EQ(run.word(run.symbol("out")), 4500000u);  // 100000 * 45
  EXPECT_EQ(run.half(run.symbol("out") + 4), 7);     // memory is zero
}

// f(a, B, c, D, e, F, g, H) = a + 2c + 3e + 4g + low(B + D + F + H); pairs are aligned, the last arguments go
// through memory.
TEST(LinkCalls, TenRegistersWorthOfArguments) {
  FunctionText f{"main"};
  f.lines = {"imov16 r64, 1",
             "imov32 p65, 70000",
             "imov16 r66, 2",
             "imov32 p67, 80000",
             "imov16 r68, 3",
             "imov32 p69, 90000",
             "call fn1 r64, p65, r66, p67, r68, p69, 4, #100000 -> r70",
             "st16 [global0], r70",
             "yield"};
  FunctionText g{"callee", {"r64", "p65", "r66", "p67", "r68", "p69", "r70", "p71"}, "r80"};
  g.lines = {"add32 p81, p65, p67", "add32 p81, p81, p69", "add32 p81, p81, p71", "wunpl r80, p81",
             "add16 r80, r80, r64", "imul16 r82, r66, 2",  "add16 r80, r80, r82", "imul16 r82, r68, 3",
             "add16 r80, r80, r82", "imul16 r82, r70, 4",  "add16 r80, r80, r82", "ret"};
  TileProgram p = link(tile_of({f, g}));
  Runner run(p);
  run.run(p.tasks[0].entry);
  EXPECT_EQ(run.half(run.symbol("out")), uint16_t(340000 + 1 + 4 + 9 + 16));
}

// Values that live across calls in a loop: sum over i of f(i) * k with k and the sum kept over the call.
TEST(LinkCalls, ValuesSurviveCallsInLoops) {
  FunctionText f{"main"};
  f.lines = {"imov16 r64, 0",       "imov16 r65, 0",        "ld16 r66, [global1]", "loop:",
             "call fn1 r64 -> r67", "imul16 r67, r67, r66", "add16 r65, r65, r67", "add16 r64, r64, 1",
             "lt16 r68, r64, 10",   "jmpt r68, @loop",      "st16 [global0], r65", "yield"};
  FunctionText square{"square", {"r64"}, "r65"};
  square.lines = {"call fn2 r64, r64 -> r65", "ret"};  // not a leaf: keeps its return address in memory
  FunctionText mul{"mul", {"r64", "r65"}, "r66"};
  mul.lines = {"imul16 r66, r64, r65", "ret"};
  MirTile tile = tile_of({f, square, mul});
  tile.globals.push_back(global("k", 2, {3, 0}));
  TileProgram p = link(tile);
  Runner run(p);
  run.run(p.tasks[0].entry);
  EXPECT_EQ(run.half(run.symbol("out")), 3 * 285);  // 0 + 1 + 4 + ... + 81 = 285
}

TEST(LinkCalls, ThroughPointers) {
  FunctionText f{"main"};
  f.lines = {"ld16 r64, [global1+2]",
             "call r64 5 -> r65",
             "st16 [global0], r65",
             "mov16 r66, fn1",
             "call r66 5 -> r65",
             "st16 [global0+2], r65",
             "yield"};
  FunctionText twice{"twice", {"r64"}, "r65"}, negate{"negate", {"r64"}, "r65"};
  twice.lines = {"add16 r65, r64, r64", "ret"};
  negate.lines = {"neg16 r65, r64", "ret"};
  MirTile tile = tile_of({f, twice, negate});
  MirGlobal table = global("table", 4);
  table.relocations = {{0, true, 1, 0}, {2, true, 2, 0}};
  tile.globals.push_back(table);
  TileProgram p = link(tile);
  Runner run(p);
  run.run(p.tasks[0].entry);
  EXPECT_EQ(run.half(run.symbol("out")), uint16_t(-5));
  EXPECT_EQ(run.half(run.symbol("out") + 2), 10);
}

// The host starts `scale`, which a task calls too; and `only`, which nobody else calls.
TEST(LinkLaunch, ArgumentsAndReturn) {
  FunctionText f{"main"};
  f.lines = {"call fn1 6, #7", "yield"};
  FunctionText scale{"scale", {"r64", "p65"}};
  scale.lines = {"st16 [global0], r64", "st32 [global0+4], p65", "ret"};
  FunctionText only{"only", {"p64"}};
  only.lines = {"st32 [global0+8], p64", "ret"};
  MirTile tile = tile_of({f, scale, only});
  tile.exported_functions = {{"scale", 1, {DataType::i16, DataType::u32}}, {"only", 2, {DataType::f32}}};
  TileProgram p = link(tile);
  Runner run(p);
  const uint32_t out = run.symbol("out");
  run.run(p.tasks[0].entry);
  EXPECT_EQ(run.half(out), 6);
  EXPECT_EQ(run.word(out + 4), 7u);
  const cs::Function* launch = p.function("scale");
  ASSERT_TRUE(launch && launch->parameters.size() == 2);
  EXPECT_EQ(launch->parameters[1].address, launch->parameters[0].address + 4);  // aligned to 4
  run.set(launch->parameters[0].address, 11, 2);
  run.set(launch->parameters[1].address, 123456, 4);
  run.run(launch->entry);
  EXPECT_EQ(run.half(out), 11);
  EXPECT_EQ(run.word(out + 4), 123456u);
  run.set(p.function("only")->parameters[0].address, 99, 4);
  EXPECT_EQ(run.run(p.function("only")->entry), 3);  // load, store, yield
  EXPECT_EQ(run.word(out + 8), 99u);
}

TEST(LinkTasks, WaveletArrivesInTheFirstRegisters) {
  FunctionText f{"main"}, receive{"receive", {"p64"}};
  f.lines = {"yield"};
  receive.kind = Kind::task;
  receive.lines = {"st32 [global0], p64", "yield"};
  MirTile tile = tile_of({f, receive});
  tile.tasks.push_back({TaskKind::data, 3, 1, TaskArgs::word});
  TileProgram p = link(tile);
  Runner run(p);
  run.registers.set_pair(0, 0xDEADBEEF);
  EXPECT_EQ(run.run(p.tasks[1].entry), 2);  // the parameter stays in p0: no move
  EXPECT_EQ(run.word(run.symbol("out")), 0xDEADBEEFu);
}

// ---- random programs against an interpreter of the MIR itself

struct Random {
  uint64_t state;
  uint32_t next(uint32_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return uint32_t(state >> 33) % below;
  }
};

// 24 half and 10 pair variables, straight code with forward branches, a counted loop around it, calls in
// between.
FunctionText random_function(Random& random, int index, int functions) {
  FunctionText f{fmt::format("f{}", index), {"r64", "p90"}, "r65"};
  auto half = [&] { return fmt::format("r{}", 64 + random.next(24)); };
  auto pair = [&] { return fmt::format("p{}", 90 + random.next(10)); };
  for (int i = 0; i < 24; ++i)
    if (i != 0 || index == 0) f.lines.push_back(fmt::format("imov16 r{}, {}", 64 + i, random.next(1000)));
  for (int i = 0; i < 10; ++i)
    if (i != 0 || index == 0) f.lines.push_back(fmt::format("imov32 p{}, {}", 90 + i, random.next(1000000)));
  f.lines.push_back("imov16 r110, 3");
  f.lines.push_back("loop:");
  int label = 0;
  std::vector<std::string> open;
  for (int i = 0; i < 60; ++i) {
    switch (random.next(9)) {
      case 0:
        f.lines.push_back(fmt::format("add16 {}, {}, {}", half(), half(), half()));
        break;
      case 1:
        f.lines.push_back(fmt::format("imul16 {}, {}, {}", half(), half(), half()));
        break;
      case 2:
        f.lines.push_back(fmt::format("xor16 {}, {}, {}", half(), half(), half()));
        break;
      case 3:
        f.lines.push_back(fmt::format("mov16 {}, {}", half(), half()));
        break;
      case 4:
        f.lines.push_back(fmt::format("add32 {}, {}, {}", pair(), pair(), pair()));
        break;
      case 5:
        f.lines.push_back(fmt::format("wpack {}, {}, {}", pair(), half(), half()));
        break;
      case 6:
        f.lines.push_back(fmt::format("{} {}, {}", random.next(2) ? "wunpl" : "wunph", half(), pair()));
        break;
      case 7:
        open.push_back(fmt::format("l{}:", label));
        f.lines.push_back(fmt::format("jmpt {}, @l{}", half(), label++));
        break;
      default:
        if (index + 1 < functions && random.next(3) == 0)
          f.lines.push_back(fmt::format("call fn{} {}, {} -> {}",
                                        index + 1 + int(random.next(uint32_t(functions - index - 1))), half(),
                                        pair(), half()));
        else
          f.lines.push_back(fmt::format("mov32 {}, {}", pair(), pair()));
    }
    if (!open.empty() && random.next(4) == 0) f.lines.push_back(open.back()), open.pop_back();
  }
  for (; !open.empty(); open.pop_back()) f.lines.push_back(open.back());
  f.lines.push_back("sub16 r110, r110, 1");
  f.lines.push_back("jmpt r110, @loop");
  if (index == 0) {
    for (int i = 0; i < 24; ++i) f.lines.push_back(fmt::format("st16 [global0+{}], r{}", 2 * i, 64 + i));
    for (int i = 0; i < 10; ++i) f.lines.push_back(fmt::format("st32 [global0+{}], p{}", 48 + 4 * i, 90 + i));
    f.lines.push_back("yield");
    f.params.clear();
    f.result.clear();
  } else {
    f.lines.push_back("ret");
  }
  return f;
}

// Unlimited registers, one set per call.
class Interpreter {
 public:
  Interpreter(const MirTile& tile, std::vector<uint8_t>& out) : tile_(tile), out_(out) {}

  uint32_t run(uint32_t index, const std::vector<uint32_t>& args) {
    const MirFunction& f = tile_.functions[index];
    std::map<int, uint32_t> r;
    for (size_t i = 0; i < args.size(); ++i) r[f.params[i].value] = args[i];
    auto value = [&](const isa::Operand& a) {
      return a.kind == isa::OperandKind::imm ? uint32_t(a.value) : r[a.value];
    };
    for (size_t pc = 0;; ++pc) {
      const isa::Inst& in = f.code[pc];
      const auto& a = in.args;
      switch (in.op) {
        case isa::Op::imov16:
        case isa::Op::mov16:
          r[a[0].value] = value(a[1]) & 0xFFFF;
          break;
        case isa::Op::imov32:
        case isa::Op::mov32:
          r[a[0].value] = value(a[1]);
          break;
        case isa::Op::add16:
          r[a[0].value] = (value(a[1]) + value(a[2])) & 0xFFFF;
          break;
        case isa::Op::sub16:
          r[a[0].value] = (value(a[1]) - value(a[2])) & 0xFFFF;
          break;
        case isa::Op::imul16:
          r[a[0].value] = (value(a[1]) * value(a[2])) & 0xFFFF;
          break;
        case isa::Op::xor16:
          r[a[0].value] = value(a[1]) ^ value(a[2]);
          break;
        case isa::Op::add32:
          r[a[0].value] = value(a[1]) + value(a[2]);
          break;
        case isa::Op::wpack:
          r[a[0].value] = value(a[1]) | value(a[2]) << 16;
          break;
        case isa::Op::wunpl:
          r[a[0].value] = value(a[1]) & 0xFFFF;
          break;
        case isa::Op::wunph:
          r[a[0].value] = value(a[1]) >> 16;
          break;
        case isa::Op::jmpt:
          if (value(a[0]) != 0) pc = f.labels[size_t(a[1].value)] - 1;
          break;
        case isa::Op::st16:
          store(a[1], value(a[2]), 2);
          break;
        case isa::Op::st32:
          store(a[1], value(a[2]), 4);
          break;
        case isa::Op::jal: {
          auto call =
              std::find_if(f.calls.begin(), f.calls.end(), [&](const MirCall& c) { return c.inst == pc; });
          r[call->result.value] = run(uint32_t(a[1].value), {value(call->args[0]), value(call->args[1])});
          break;
        }
        case isa::Op::jv:
          return r[f.result.value];
        case isa::Op::yield:
          return 0;
        default:
          ADD_FAILURE() << isa::print(in);
          return 0;
      }
    }
  }

 private:
  void store(const isa::Operand& offset, uint32_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) out_[size_t(offset.value + i)] = uint8_t(value >> (8 * i));
  }
  const MirTile& tile_;
  std::vector<uint8_t>& out_;
};

TEST(LinkRandom, LinkedCodeComputesWhatMirSays) {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    Random random{seed};
    std::vector<FunctionText> functions;
    for (int i = 0; i < 4; ++i) functions.push_back(random_function(random, i, 4));
    MirTile tile = tile_of(functions, 88);
    std::vector<uint8_t> expected(88, 0);
    Interpreter(tile, expected).run(0, {});
    TileProgram p = link(tile);
    Runner run(p);
    run.run(p.tasks[0].entry);
    auto out = run.memory.begin() + run.symbol("out");
    ASSERT_TRUE(std::equal(expected.begin(), expected.end(), out)) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cs::csl::test
