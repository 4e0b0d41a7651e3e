// The assembly form: every row with every operand kind that it accepts prints and reads back to itself.
#include <gtest/gtest.h>

#include "runtime/isa/dsd.h"
#include "runtime/isa/isa.h"

namespace cs::isa {
namespace {

using Operands = std::vector<Operand>;

// Operands worth trying for a letter of the form; also those that only the compiler has.
Operands choices(char letter, bool wide) {
  const OperandKind reg = wide ? OperandKind::pair : OperandKind::reg;
  const Operands registers{{reg, 0}, {reg, wide ? 14 : 15}, {reg, 64}, {reg, 1000}};
  const Operands literals{{OperandKind::imm, 0},
                          {OperandKind::imm, -1},
                          {OperandKind::imm, 65535},
                          {OperandKind::imm, INT32_MIN},
                          {OperandKind::imm, INT32_MAX}};
  auto join = [](Operands a, const Operands& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  };
  const Operands symbols{{OperandKind::global, 3}, {OperandKind::global, 3, -4}, {OperandKind::slot, 0, 12}};
  switch (letter) {
    case 'V':
      return join(registers, {{OperandKind::dest, 0}, {OperandKind::dest, 15}});
    case 'A':
      return join(join(registers, literals), {{OperandKind::src0, 7}, {OperandKind::dest, 3}});
    case 'B':
      return join(join(registers, literals), {{OperandKind::src1, 15}});
    case 'S':
    case 'r':
    case 'p':
      return join(registers, literals);
    case 'R':
    case 'P':
      return registers;
    case 'M':
    case 'I':
      return join(join(literals, symbols), {{OperandKind::reg, 3}, {OperandKind::function, 9}});
    case 'C':
      return literals;
    case 'L':
      return {{OperandKind::label, 0}, {OperandKind::label, 1234}, {OperandKind::label, kReturnToScheduler}};
    case 'F':
      return {{OperandKind::label, 12}, {OperandKind::function, 2}};
    case 'D':
      return {{OperandKind::dest, 5}};
    case '0':
      return {{OperandKind::src0, 6}};
    case '1':
      return {{OperandKind::src1, 7}};
    default:
      return {};
  }
}

void expect_round_trip(const Inst& inst) {
  Diag diag;
  const std::string text = print(inst);
  const auto back = parse_inst(text, {}, diag);
  ASSERT_TRUE(back.has_value()) << text << "\n" << diag.to_string();
  EXPECT_EQ(*back, inst) << text << " reads as " << print(*back);
}

size_t try_all(Inst& inst, size_t index) {
  const std::string_view form = row(inst.op).form;
  if (index == form.size()) {
    expect_round_trip(inst);
    return 1;
  }
  size_t count = 0;
  const Operands list = choices(form[index], operand_bytes(inst.op, int(index)) == 4);
  EXPECT_FALSE(list.empty()) << "unknown letter in the form of " << row(inst.op).mnemonic;
  for (const Operand& a : list) {
    inst.args[index] = a;
    count += try_all(inst, index + 1);
  }
  inst.args[index] = {};
  return count;
}

TEST(Assembly, every_row_and_operand_kind_round_trips) {
  size_t tried = 0;
  for (size_t i = 0; i < table().size(); ++i) {
    Inst inst{Op(i), {}};
    tried += try_all(inst, 0);
  }
  EXPECT_GT(tried, table().size() * 10);
}

TEST(Assembly, reads_what_people_write) {
  Diag diag;
  const Inst add = parse_inst("  fadds  d1,s0_1 , s1_2 ", {}, diag).value();
  EXPECT_EQ(add.op, Op::fadds);
  EXPECT_EQ(add.args[0], (Operand{OperandKind::dest, 1}));
  EXPECT_EQ(add.args[1], (Operand{OperandKind::src0, 1}));
  EXPECT_EQ(add.args[2], (Operand{OperandKind::src1, 2}));
  const Inst load = parse_inst("ld16 r2, [r3+4]", {}, diag).value();
  EXPECT_EQ(load.args[1], (Operand{OperandKind::reg, 3}));
  EXPECT_EQ(load.args[2], (Operand{OperandKind::imm, 4}));
  const Inst down = parse_inst("st16 [r3-2], r1", {}, diag).value();
  EXPECT_EQ(down.args[1], (Operand{OperandKind::imm, -2}));
  const Inst one = parse_inst("fmovs p0, 0x3f800000", {}, diag).value();
  EXPECT_EQ(one.args[1], (Operand{OperandKind::imm, 0x3f800000}));
  const Inst dsr = parse_inst("lddds d0, [96], {async activate=8 ut=2}", {}, diag).value();
  const DsrConfig config = decode_config(dsr.args[3].value);
  EXPECT_TRUE(config.async);
  EXPECT_EQ(config.activate, 8);
  EXPECT_EQ(config.microthread, 2);
  EXPECT_EQ(parse_inst("ldcfg16 r1, coord_y", {}, diag)->args[1].value, int(ConfigReg::coord_y));
  EXPECT_TRUE(diag.ok());
}

TEST(Assembly, says_where_a_line_is_wrong) {
  struct Case {
    const char* text;
    uint32_t column;
    const char* message;
  };
  const Case kCases[] = {{"frob r1", 11, "unknown instruction 'frob'"},
                         {"add16 r1, r2", 11, "add16 needs 3 operands, has 2"},
                         {"add16 r1, r2, x9", 25, "'x9' is not an operand"},
                         {"ld16 r1, [r2", 20, "'[r2' is not a memory operand"},
                         {"lddds d0, [4], {maybe}", 26, "'{maybe}' is not an operand"},
                         {"mov16 r1, 4294967296", 21, "'4294967296' is not an operand"},
                         {"add16 r1, r2, r3, r4, r5", 33, "too many operands: an instruction has at most 4"},
                         {"mov16 r1,", 19, "operand missing after ','"}};
  for (const Case& c : kCases) {
    Diag diag;
    const uint32_t file = diag.sources.add("tile.csptext", c.text);
    EXPECT_FALSE(parse_inst(c.text, {file, 1, 11}, diag).has_value()) << c.text;
    ASSERT_EQ(diag.errors(), 1u) << c.text;
    EXPECT_EQ(diag.all()[0].message, c.message);
    EXPECT_EQ(diag.all()[0].loc.column, c.column) << c.text;
  }
}

}  // namespace
}  // namespace cs::isa
