// <simprint>: what PEs write to the simulator's log, line by line.
#include <gmock/gmock.h>

#include "run_csl.h"

namespace cs::csl::test {
namespace {

struct Line {
  Cycle cycle;
  Coord pe;
  std::string text;
};

std::vector<Line> lines_of(CslRun& run) {
  std::vector<Line> lines;
  run.engine().set_print([&](Cycle c, Coord pe, const std::string& text) { lines.push_back({c, pe, text}); });
  run.launch("main");
  run.engine().set_print({});
  return lines;
}

std::vector<std::string> texts(const std::string& body, const std::string& machine = "wse2") {
  CslRun run = one_pe(R"(
const log = @import_module("<simprint>");
const quiet = @import_module("<simprint>", .{ .enable = false });
var a: u16 = 42;
var b: u32 = 100000;
var f: f32 = -0.5;
var h: f16 = 42.0;
fn main() void {
)" + body + "  sys.unblock_cmd_stream();\n}\n",
                      machine);
  std::vector<std::string> out;
  for (const Line& l : lines_of(run)) out.push_back(l.text);
  return out;
}

using ::testing::ElementsAre;

TEST(SimPrint, NumbersInTheirForms) {
  EXPECT_THAT(texts(R"(
  log.print_u16_decimal(a); log.print_string(" "); log.print_u16_hex(a); log.print_string(" ");
  log.print_u16_binary(a); log.print_string("\n");
  log.print_u32_decimal(b); log.print_string(" "); log.print_u32_hex(b); log.print_string("\n");
  log.print_u32_binary(b); log.print_string("\n");
  log.print_f32(f); log.print_string(" "); log.print_f16(h); log.print_string("\n");
)"),
              ElementsAre("42 002A 0000000000101010", "100000 000186A0", "00000000000000011000011010100000",
                          "-0.5 42.0"));
}

TEST(SimPrint, FormatStrings) {
  EXPECT_THAT(texts(R"(
  log.fmt("{d} {X} {b} {f}", .{ a, a, a, h });
  log.fmt_no_nl("{d}", .{ b });
  log.fmt("{{x} {f}", .{ f });
  log.fmt_with_coords("at {d}", .{ a });
)",
                    "wse3"),
              ElementsAre("42 002A 0000000000101010 42.0", "100000{x} -0.5", "PE(0,0): at 42"));
}

// Without a newline nothing is shown, and a full buffer of 256 bytes is a line.
TEST(SimPrint, ALineEndsAtANewlineOrWhenTheBufferIsFull) {
  EXPECT_THAT(texts("  log.print_string(\"lost\");\n"), ElementsAre());
  std::string digits;
  for (int i = 0; i < 260; ++i) digits += char('0' + i % 10);
  EXPECT_THAT(texts(R"(
  for (@range(i16, 26)) |i| { log.print_string("0123456789"); }
  log.print_string("\n");
)"),
              ElementsAre(digits.substr(0, 256), "6789"));
}

// Text is one instruction per two characters, a 16-bit number one: "a=" at t, the number at t + 1 (its value is a
// literal) and the newline at t + 2. "b" and its newline are the next two writes: the second line ends at t + 4.
TEST(SimPrint, CyclesAreThoseOfTheWrites) {
  CslRun run = one_pe(R"(
const log = @import_module("<simprint>");
fn main() void {
  log.print_string("a=");
  log.print_u16_decimal(7);
  log.print_string("\n");
  log.print_string("b");
  log.print_string("\n");
  sys.unblock_cmd_stream();
}
)");
  const auto lines = lines_of(run);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].text, "a=7");
  EXPECT_EQ(lines[1].cycle - lines[0].cycle, 2u);
  EXPECT_EQ(lines[0].pe.x, run.program().user.x);
}

TEST(SimPrint, DisabledInstancesCostNothing) {
  EXPECT_THAT(texts(R"(
  quiet.fmt("{d}", .{ a });
  log.print_string("end\n");
)"),
              ElementsAre("end"));
}

std::string print_errors(const std::string& statement) {
  return errors_of({{"layout.csl", kOnePe},
                    {"pe.csl", std::string(kPrologue) + "const log = @import_module(\"<simprint>\");\n" +
                                   "fn main() void { " + statement + " }\ncomptime { @export_symbol(main); }\n"}});
}

TEST(SimPrint, FormatsAreChecked) {
  EXPECT_THAT(print_errors("log.fmt(\"{q}\", .{ @as(u16, 1) });"), ::testing::HasSubstr("unknown specifier at '{q}'"));
  EXPECT_THAT(print_errors("log.fmt(\"{d} {d}\", .{ @as(u16, 1) });"),
              ::testing::HasSubstr("asks for more than the 1 value given"));
  EXPECT_THAT(print_errors("log.fmt(\"x\", .{ @as(u16, 1) });"),
              ::testing::HasSubstr("1 values given, the format prints 0"));
}

}  // namespace
}  // namespace cs::csl::test
