// The table itself, the verifier, and docs/isa.md against the table (WAFERSMITH_UPDATE=1 rewrites the page).
#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "runtime/isa/isa.h"

namespace cs::isa {
namespace {

Inst make(std::string_view text) {
  Diag diag;
  auto inst = parse_inst(text, {}, diag);
  EXPECT_TRUE(inst.has_value()) << diag.to_string();
  return inst.value_or(Inst{});
}

TEST(Table, mnemonics_are_unique_and_found) {
  std::set<std::string_view> names;
  for (size_t i = 0; i < table().size(); ++i) {
    EXPECT_TRUE(names.insert(table()[i].mnemonic).second) << table()[i].mnemonic;
    EXPECT_EQ(op_from_mnemonic(table()[i].mnemonic), Op(i));
    EXPECT_LE(table()[i].form.size(), 4u);
  }
  EXPECT_FALSE(op_from_mnemonic("").has_value());
  EXPECT_FALSE(op_from_mnemonic("zzz").has_value());
}

TEST(Table, operand_widths) {
  EXPECT_EQ(operand_bytes(Op::fadds, 0), 4);
  EXPECT_EQ(operand_bytes(Op::fh2s, 0), 4);
  EXPECT_EQ(operand_bytes(Op::fh2s, 1), 2);
  EXPECT_EQ(operand_bytes(Op::fs2h, 0), 2);
  EXPECT_EQ(operand_bytes(Op::fs2h, 1), 4);
  EXPECT_EQ(operand_bytes(Op::fscales, 2), 2) << "the exponent is 16 bits";
  EXPECT_EQ(operand_bytes(Op::fmachs, 1), 4) << "accumulator";
  EXPECT_EQ(operand_bytes(Op::fmachs, 2), 2);
  EXPECT_EQ(operand_bytes(Op::fmachs, 3), 2);
  EXPECT_EQ(operand_bytes(Op::faddhs, 1), 2);
  EXPECT_EQ(operand_bytes(Op::faddhs, 2), 4);
  EXPECT_EQ(operand_bytes(Op::ld16, 1), 0);
  EXPECT_EQ(operand_bytes(Op::fadds, 3), 0) << "beyond the form";
}

TEST(Inst, vector_means_dsr_operands_but_not_dsr_loads) {
  EXPECT_TRUE(make("fadds d0, s0_0, s1_0").is_vector());
  EXPECT_TRUE(make("fadds p0, p0, s1_0").is_vector());
  EXPECT_FALSE(make("fadds p0, p0, p2").is_vector());
  EXPECT_FALSE(make("lddds d0, [96], {}").is_vector());
}

TEST(Verify, accepts_what_the_form_says) {
  const Machine m;
  for (const char* text :
       {"fadds d1, s0_1, s1_1", "fadds p0, p0, s1_1", "fadds d1, d1, s1_1", "mov16 r1, -32768",
        "mov32 p14, 2147483647", "jmp @end", "lddds d15, [49000], {async ut=7 activate=30}",
        "ldcfg16 r3, random", "st16 [r2+65535], r1", "blk 1, r0", "fscales p2, p2, r1"})
    EXPECT_EQ(verify(make(text), m), "") << text;
}

TEST(Verify, says_what_is_wrong) {
  const Machine m;
  const std::pair<const char*, const char*> kCases[] = {
      {"fadds r1, p0, p2", "operand 1 of fadds: needs a register pair, has a register"},
      {"add16 p0, r1, r2", "operand 1 of add16: needs a register, has a pair"},
      {"fadds p1, p0, p2", "operand 1 of fadds: pair p1 does not begin at an even register"},
      {"fadds p16, p0, p2", "operand 1 of fadds: pair p16 not below p15"},
      {"add16 r64, r1, r2", "operand 1 of add16: number 64 of a register not below 16"},
      {"fadds d1, s1_1, s0_1", "operand 3 of fadds: cannot be a source-0 DSR"},
      {"fadds d16, s0_1, s1_1", "operand 1 of fadds: number 16 of a destination DSR not below 16"},
      {"add16 r1, 65536, r2", "operand 2 of add16: literal 65536 does not fit 16 bits"},
      {"ld16 r1, [global2:4]", "operand 2 of ld16: cannot be an unresolved global"},
      {"jmp @65536", "operand 1 of jmp: label @65536 out of range"},
      {"lddds d0, [4], {ut=9}", "operand 4 of lddds: microthread 9 not below 8"},
      {"lddds d0, [4], {unblock=64}", "operand 4 of lddds: task id 64 not below 64"},
      {"ldcfg16 r3, 60", "operand 2 of ldcfg16: no configuration register 60"},
      {"ublk 2, r0", "operand 1 of ublk: 2 is neither 0 nor 1"}};
  for (const auto& [text, message] : kCases) EXPECT_EQ(verify(make(text), m), message) << text;
  Inst extra = make("jmp @1");
  extra.args[1] = {OperandKind::reg, 0};
  EXPECT_EQ(verify(extra, m), "jmp has 1 operands, not more");
}

// ---- docs/isa.md: a hand-written head, and a table between the marks that is this table.

constexpr const char* kBegin = "<!-- table -->\n";

std::string table_text() {
  constexpr std::string_view kCosts[] = {"alu", "fp",     "load", "store", "jump",
                                         "dsr", "divide", "task", "config"};
  std::ostringstream out;
  out << "| mnemonic | operands | cost | bytes wse2 / wse3 | what it does |\n|---|---|---|---|---|\n";
  for (const Row& r : table())
    out << "| `" << r.mnemonic << "` | `" << (r.form.empty() ? "-" : r.form) << "` | "
        << kCosts[size_t(r.cost)] << " | " << int(r.bytes_wse2) << " / " << int(r.bytes_wse3) << " | "
        << r.summary << " |\n";
  return out.str();
}

TEST(Docs, isa_page_shows_the_table) {
  const std::string path = std::string(CS_SOURCE_DIR) + "/docs/isa.md";
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  const size_t begin = text.str().find(kBegin);
  ASSERT_NE(begin, std::string::npos) << "docs/isa.md has no table mark";
  const std::string head = text.str().substr(0, begin) + kBegin;
  if (std::getenv("WAFERSMITH_UPDATE")) std::ofstream(path) << head << table_text();
  EXPECT_EQ(text.str(), head + table_text()) << "run test_isa with WAFERSMITH_UPDATE=1";
}

}  // namespace
}  // namespace cs::isa
