// What instructions do to values. Expected numbers are worked out by hand or follow from two's complement and
// IEEE 754.
#include <bit>

#include <gtest/gtest.h>

#include "runtime/isa/isa.h"
#include "simulator/exec/exec.h"

namespace cs::sim {
namespace {

isa::Inst make(std::string_view text) {
  Diag diag;
  auto inst = isa::parse_inst(text, {}, diag);
  EXPECT_TRUE(inst.has_value()) << diag.to_string();
  return inst.value_or(isa::Inst{});
}

uint32_t bits(float x) { return std::bit_cast<uint32_t>(x); }

// Runs one instruction; the operands are literals, the result is r0 or p0.
uint32_t run(std::string_view text, Fp16Format format = Fp16Format::f16) {
  Registers registers;
  std::vector<uint8_t> memory(64);
  const isa::Inst inst = make(text);
  const ScalarResult result = execute_scalar(inst, registers, memory, format);
  EXPECT_EQ(result.fault, ExecFault::none) << text;
  return inst.args[0].kind == isa::OperandKind::pair ? registers.pair(0) : registers.r[0];
}

struct Case {
  const char* text;
  uint32_t want;
};

TEST(ExecScalar, integers_16) {
  const Case kCases[] = {{"mov16 r0, -2", 0xFFFE},
                         {"imov16 r0, 7", 7},
                         {"add16 r0, 65535, 2", 1},
                         {"sub16 r0, 3, 5", 0xFFFE},
                         {"and16 r0, 12, 10", 8},
                         {"or16 r0, 12, 10", 14},
                         {"xor16 r0, 12, 10", 6},
                         {"sll16 r0, 3, 15", 0x8000},
                         {"sll16 r0, 3, 16", 0},
                         {"slr16 r0, -1, 12", 15},
                         {"slr16 r0, -1, 16", 0},
                         {"sar16 r0, -32768, 14", 0xFFFE},
                         {"sar16 r0, -1, 40", 0xFFFF},
                         {"clz16 r0, 1", 15},
                         {"clz16 r0, 0", 16},
                         {"ctz16 r0, 8", 3},
                         {"ctz16 r0, 0", 16},
                         {"popcnt16 r0, -1", 16},
                         {"neg16 r0, 1", 0xFFFF},
                         {"not16 r0, 1", 0xFFFE},
                         {"imul16 r0, 300, 300", 24464},
                         {"imul16ud p0, 65535, 65535", 0xFFFE0001},
                         {"imul16sd p0, -1, 300", 0xFFFFFED4},
                         {"div16 r0, -7, 2", 0xFFFD},
                         {"div16 r0, 5, 0", 0},
                         {"div16 r0, -32768, -1", 0x8000},
                         {"divu16 r0, 65535, 2", 32767},
                         {"rem16 r0, -7, 2", 0xFFFF},
                         {"rem16 r0, 5, 0", 5},
                         {"remu16 r0, 65535, 16", 15},
                         {"eq16 r0, -1, 65535", 1},
                         {"lt16 r0, -1, 0", 1},
                         {"ltu16 r0, -1, 0", 0},
                         {"lte16 r0, 4, 4", 1},
                         {"lteu16 r0, 5, 4", 0},
                         {"select16 r0, 2, 10, 20", 10},
                         {"select16 r0, 0, 10, 20", 20},
                         {"wpack p0, 4660, 22136", 0x56781234},
                         {"wunpl r0, 0x56781234", 0x1234},
                         {"wunph r0, 0x56781234", 0x5678},
                         {"ext16 p0, -2", 0xFFFFFFFE},
                         {"extu16 p0, -2", 0xFFFE}};
  for (const Case& c : kCases) EXPECT_EQ(run(c.text), c.want) << c.text;
}

TEST(ExecScalar, integers_32) {
  const Case kCases[] = {{"mov32 p0, -2", 0xFFFFFFFE},
                         {"imov32 p0, 70000", 70000},
                         {"add32 p0, -1, 2", 1},
                         {"sub32 p0, 3, 5", 0xFFFFFFFE},
                         {"and32 p0, 0xFF00FF00, 0x0FF00FF0", 0x0F000F00},
                         {"or32 p0, 0xF0000000, 1", 0xF0000001},
                         {"xor32 p0, 0xFFFFFFFF, 1", 0xFFFFFFFE},
                         {"sll32 p0, 3, 31", 0x80000000},
                         {"sll32 p0, 3, 32", 0},
                         {"slr32 p0, -1, 28", 15},
                         {"sar32 p0, 0x80000000, 30", 0xFFFFFFFE},
                         {"sar32 p0, -5, 99", 0xFFFFFFFF},
                         {"neg32 p0, 1", 0xFFFFFFFF},
                         {"not32 p0, 1", 0xFFFFFFFE},
                         {"imul32 p0, 100000, 100000", 1410065408},
                         {"div32 p0, -7, 2", 0xFFFFFFFD},
                         {"div32 p0, 0x80000000, -1", 0x80000000},
                         {"div32 p0, 1, 0", 0},
                         {"divu32 p0, -1, 16", 0x0FFFFFFF},
                         {"rem32 p0, -7, 2", 0xFFFFFFFF},
                         {"rem32 p0, 9, 0", 9},
                         {"remu32 p0, -1, 16", 15},
                         {"eq32 r0, 5, 5", 1},
                         {"lt32 r0, -1, 0", 1},
                         {"ltu32 r0, -1, 0", 0},
                         {"lte32 r0, 1, 0", 0},
                         {"lteu32 r0, 0, 0", 1},
                         {"select32 p0, 1, 70000, 80000", 70000},
                         {"select32 p0, 0, 70000, 80000", 80000}};
  for (const Case& c : kCases) EXPECT_EQ(run(c.text), c.want) << c.text;
}

// 1.5 = 0x3fc00000, 2.25 = 0x40100000, 2 = 0x40000000, -3 = 0xc0400000
TEST(ExecScalar, floats_32) {
  const Case kCases[] = {{"fmovs p0, 0x3fc00000", bits(1.5f)},
                         {"fadds p0, 0x3fc00000, 0x40100000", bits(3.75f)},
                         {"fsubs p0, 0x3fc00000, 0x40100000", bits(-0.75f)},
                         {"fmuls p0, 0x3fc00000, 0x40100000", bits(3.375f)},
                         {"fmacs p0, 0x3fc00000, 0x40100000, 0x40000000", bits(6.0f)},
                         {"fmaxs p0, 0x3fc00000, 0xc0400000", bits(1.5f)},
                         {"fmins p0, 0x3fc00000, 0xc0400000", bits(-3.0f)},
                         {"fabss p0, 0xc0400000", bits(3.0f)},
                         {"fnegs p0, 0xc0400000", bits(3.0f)},
                         {"fdivs p0, 0xc0400000, 0x40000000", bits(-1.5f)},
                         {"feqs r0, 0x80000000, 0", 1},
                         {"flts r0, 0xc0400000, 0x40000000", 1},
                         {"flteqs r0, 0x7fc00000, 0x7fc00000", 0},
                         {"fnorms p0, 0xc0400000", bits(-1.5f)},
                         {"fscales p0, 0xc0400000, -1", bits(-1.5f)},
                         {"xp162fs p0, -3", bits(-3.0f)},
                         {"xpu162fs p0, -3", bits(65533.0f)},
                         {"xp322fs p0, -70000", bits(-70000.0f)},
                         {"xpu322fs p0, -1", bits(4294967296.0f)},
                         {"fs2xp16 r0, 0xc0400000", 0xFFFD},
                         {"fs2xpu16 r0, 0x40100000", 2},
                         {"fs2xp32 p0, 0xc0400000", 0xFFFFFFFD},
                         {"fs2xpu32 p0, 0xc0400000", 0}};
  for (const Case& c : kCases) EXPECT_EQ(run(c.text), c.want) << c.text;
}

// f16: 1.5 = 0x3e00 (15872), 2.25 = 0x4080 (16512), 2 = 0x4000 (16384), -3 = 0xc200 (49664)
TEST(ExecScalar, floats_16) {
  const Case kCases[] = {{"fmovh r0, 15872", 0x3E00},
                         {"faddh r0, 15872, 16512", 0x4380},         // 3.75
                         {"fsubh r0, 15872, 16512", 0xBA00},         // -0.75
                         {"fmulh r0, 15872, 16512", 0x42C0},         // 3.375
                         {"fmach r0, 15872, 16512, 16384", 0x4600},  // 6
                         {"fmaxh r0, 15872, 49664", 0x3E00},
                         {"fminh r0, 15872, 49664", 0xC200},
                         {"fabsh r0, 49664", 0x4200},
                         {"fnegh r0, 49664", 0x4200},
                         {"fdivh r0, 49664, 16384", 0xBE00},  // -1.5
                         {"feqh r0, 0x8000, 0", 1},
                         {"flth r0, 49664, 16384", 1},
                         {"flteqh r0, 0x7e00, 0x7e00", 0},
                         {"fnormh r0, 49664", 0xBE00},
                         {"fscaleh r0, 49664, -1", 0xBE00},
                         {"faddhs p0, 15872, 0x40100000", bits(3.75f)},
                         {"fmachs p0, 0x3fc00000, 16512, 16384", bits(6.0f)},
                         {"fh2s p0, 49664", bits(-3.0f)},
                         {"fs2h r0, 0xc0400000", 0xC200},
                         {"xp162fh r0, -3", 0xC200},
                         {"fh2xp16 r0, 49664", 0xFFFD}};
  for (const Case& c : kCases) EXPECT_EQ(run(c.text), c.want) << c.text;
  // The same instruction in the other formats: 1 + 1 = 2. bf16 0x3f80 -> 0x4000; cb16 (42 << 9) -> (43 << 9).
  EXPECT_EQ(run("faddh r0, 0x3f80, 0x3f80", Fp16Format::bf16), 0x4000u);
  EXPECT_EQ(run("faddh r0, 21504, 21504", Fp16Format::cb16), 22016u);
}

TEST(ExecScalar, every_value_row_has_a_function_and_its_case_above) {
  for (size_t i = 0; i < isa::table().size(); ++i) {
    const isa::Row& r = isa::table()[i];
    const bool value = r.cost == isa::Cost::alu || r.cost == isa::Cost::fp || r.cost == isa::Cost::divide;
    for (Fp16Format f : {Fp16Format::f16, Fp16Format::bf16, Fp16Format::cb16})
      EXPECT_EQ(element_op(isa::Op(i), f).fn != nullptr, value) << r.mnemonic;
  }
  EXPECT_EQ(element_op(isa::Op::fmacs, Fp16Format::f16).flops, 2);
  EXPECT_EQ(element_op(isa::Op::fadds, Fp16Format::f16).flops, 1);
  EXPECT_EQ(element_op(isa::Op::fmovs, Fp16Format::f16).flops, 0);
  EXPECT_TRUE(element_op(isa::Op::fadds, Fp16Format::f16).vector);
  EXPECT_FALSE(element_op(isa::Op::imul16, Fp16Format::f16).vector);
}

TEST(ExecScalar, carry_links_16_bit_additions) {
  Registers registers;
  std::vector<uint8_t> memory(2);
  const auto step = [&](const char* text) { execute_scalar(make(text), registers, memory, Fp16Format::f16); };
  step("add16 r0, 65535, 1");
  EXPECT_TRUE(registers.carry);
  step("addc16 r1, 65535, 0");  // 0xFFFF + 0 + 1: zero and carry again
  EXPECT_EQ(registers.r[1], 0);
  EXPECT_TRUE(registers.carry);
  step("mov16 r2, 5");  // other instructions leave it alone
  step("addc16 r2, r2, 1");
  EXPECT_EQ(registers.r[2], 7);
  EXPECT_FALSE(registers.carry);
}

TEST(ExecScalar, memory_is_little_endian_and_checked) {
  Registers registers;
  std::vector<uint8_t> memory(100);
  const auto step = [&](const char* text) {
    return execute_scalar(make(text), registers, memory, Fp16Format::f16);
  };
  registers.r[3] = 10;
  step("st32 [r3+2], 0x12345678");
  EXPECT_EQ(memory[12], 0x78);
  EXPECT_EQ(memory[15], 0x12);
  step("ld16 r1, [14]");
  EXPECT_EQ(registers.r[1], 0x1234);
  step("ld8 r1, [r3+3]");
  EXPECT_EQ(registers.r[1], 0x56);
  step("ld32 p4, [r3+2]");
  EXPECT_EQ(registers.pair(4), 0x12345678u);
  step("st8 [r3-1], 511");
  EXPECT_EQ(memory[9], 0xFF);
  EXPECT_EQ(memory[10], 0);
  registers.r[3] = 0xFFFE;  // -2: addresses wrap at 65536
  step("st16 [r3+4], 77");
  EXPECT_EQ(memory[2], 77);

  EXPECT_EQ(step("ld16 r1, [100]").fault, ExecFault::out_of_bounds);
  EXPECT_EQ(step("ld16 r1, [100]").address, 100u);
  EXPECT_EQ(step("ld32 p0, [98]").fault, ExecFault::out_of_bounds);
  EXPECT_EQ(step("st16 [97], 1").fault, ExecFault::misaligned);
  EXPECT_EQ(step("st16 [r3], 1").fault, ExecFault::out_of_bounds);
  EXPECT_EQ(step("ld8 r1, [99]").fault, ExecFault::none);
}

TEST(ExecScalar, what_it_cannot_run_is_illegal) {
  Registers registers;
  std::vector<uint8_t> memory(100);
  for (const char* text :
       {"fadds d0, s0_0, s1_0", "jmp @1", "ldcfg16 r0, coord_x", "actvt r0", "add16 r64, r1, r2",
        "add16 r0, r1, slot1", "fmovs p15, 0", "ld16 r1, [global3]", "lddds d0, [0], {}"})
    EXPECT_EQ(execute_scalar(make(text), registers, memory, Fp16Format::f16).fault, ExecFault::illegal)
        << text;
}

TEST(ExecScalar, a_plan_reads_the_registers_of_the_moment) {
  Registers registers;
  std::vector<uint8_t> memory(100);
  const ScalarPlan plan = plan_scalar(make("sub16 r15, r15, r0"), Fp16Format::f16);
  registers.r[15] = 10;
  registers.r[0] = 3;
  registers.carry = true;  // lies behind r15 in memory
  EXPECT_EQ(execute_plan(plan, registers, memory).fault, ExecFault::none);
  EXPECT_EQ(registers.r[15], 7);
  registers.r[0] = 4;
  execute_plan(plan, registers, memory);
  EXPECT_EQ(registers.r[15], 3);
  EXPECT_TRUE(registers.carry);
  registers.set_pair(14, 0x00030005);
  execute_plan(plan_scalar(make("add32 p14, p14, p14"), Fp16Format::f16), registers, memory);
  EXPECT_EQ(registers.pair(14), 0x0006000Au);
  EXPECT_TRUE(registers.carry);
  EXPECT_EQ(plan_scalar(make("jmp @1"), Fp16Format::f16).kind, ScalarPlan::Kind::illegal);
}

TEST(ExecJump, targets_and_links) {
  Registers registers;
  registers.r[1] = 5;
  EXPECT_EQ(jump_target(make("jmp @12"), registers, 3), 12);
  EXPECT_EQ(jump_target(make("jmpt r1, @12"), registers, 3), 12);
  EXPECT_EQ(jump_target(make("jmpt r0, @12"), registers, 3), std::nullopt);
  EXPECT_EQ(jump_target(make("jmpf r0, @12"), registers, 3), 12);
  EXPECT_EQ(jump_target(make("jmpf r1, @12"), registers, 3), std::nullopt);
  EXPECT_EQ(jump_target(make("jal r15, @40"), registers, 3), 40);
  EXPECT_EQ(registers.r[15], 3);
  EXPECT_EQ(jump_target(make("jv r15"), registers, 9), 3);
  EXPECT_EQ(jump_target(make("jalv r1, r1"), registers, 9), 5);
  EXPECT_EQ(registers.r[1], 9);
  registers.r[15] = 0xFFFF;
  EXPECT_EQ(jump_target(make("jv r15"), registers, 9), isa::kReturnToScheduler);
}

TEST(ExecReduction, is_a_register_destination_with_a_running_value) {
  EXPECT_TRUE(is_reduction(make("fadds p0, p0, s1_0")));
  EXPECT_TRUE(is_reduction(make("fmacs p0, p2, s1_0, p4")));
  EXPECT_TRUE(is_reduction(make("fadds p0, 0, s1_0")));
  EXPECT_FALSE(is_reduction(make("fadds p0, p0, p2")));
  EXPECT_FALSE(is_reduction(make("fadds d0, p0, s1_0")));
  EXPECT_FALSE(is_reduction(make("fmaxs p0, s0_0, s1_0")));
  EXPECT_FALSE(is_reduction(make("fmovs p0, s0_0")));
}

}  // namespace
}  // namespace cs::sim
