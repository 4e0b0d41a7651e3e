// Every simulated fault as a user meets it: name, cycle, PE and source line, exit code 3; and --allow, which
// lets it pass and counts it. Host calls take no time here, so a launched function issues its first
// instruction in cycle 3 (core.task_start_cycles) and the cycles below follow from docs/timing.md.
#include <gmock/gmock.h>

#include "tests/e2e/run_tool.h"

namespace cs::e2e {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class Faults : public Scratch {
 protected:
  // W PEs in a row; `globals` and `body` see `x`, the column, as a comptime parameter; `routes` is code of the layout.
  void compile(int width, const std::string& globals, const std::string& body, const std::string& comptime = "",
               const std::string& routes = "") {
    write("pe.csl",
          "param memcpy_params: comptime_struct;\nparam x: u16;\n"
          "const sys = @import_module(\"<memcpy/memcpy>\", memcpy_params);\n" +
              globals + "\nfn run() void {\n" + body + "\n}\ncomptime {\n" + comptime +
              "\n  @export_symbol(run);\n}\n");
    const std::string w = std::to_string(width);
    const std::string layout =
        write("layout.csl",
              "const memcpy = @import_module(\"<memcpy/get_params>\", .{ .width = " + w +
                  ", .height = 1 });\nlayout {\n  @set_rectangle(" + w + ", 1);\n  for (@range(u16, " + w +
                  ")) |x| {\n    @set_tile_code(x, 0, \"pe.csl\", .{ .memcpy_params = memcpy.get_params(x), "
                  ".x = x });\n" +
                  routes + "  }\n  @export_name(\"run\", fn()void);\n}\n");
    const ChildResult r = run("cs-compile", {layout, "-m", "wse2", "--opt-level", "0", "-o", path("p.csp")});
    ASSERT_EQ(r.exit_code, 0) << r.err;
  }
  ChildResult simulate(std::vector<std::string> more = {}) {
    std::vector<std::string> args{path("p.csp"), "--launch", "run", "--set", "machine.memcpy.command_cycles=0",
                                  "--on-other-machine"};
    args.insert(args.end(), more.begin(), more.end());
    return run("cs-sim", args);
  }
};

const std::string kTwoArrays =
    "var a = @zeros([4]f32);\nvar b = @zeros([4]f32);\nvar n: u16 = 6;\n"
    "var to = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> a[i] });\n";

TEST_F(Faults, ADescriptorThatLeavesItsArray) {
  compile(1, kTwoArrays, "  to = @set_dsd_length(to, n);\n  @fmovs(to, 1.0);\n  sys.unblock_cmd_stream();");
  const ChildResult r = simulate();
  EXPECT_EQ(r.exit_code, 3) << r.err;
  // The code as it is written: ld16 3, st16 4, lddds 5, fmovs 5 + 4 = 9; from 13 on two elements per cycle: 4 and 5 in
  // cycle 15.
  EXPECT_THAT(r.err, AllOf(HasSubstr("out-of-bounds"), HasSubstr("cycle 15, PE (4, 1)"),
                           HasSubstr("element 4 of 6"), HasSubstr("'a'"), HasSubstr("16 bytes"),
                           HasSubstr("pe.csl:11")));
}

TEST_F(Faults, AllowedOutOfBoundsGoesOnAndIsCounted) {
  compile(1, kTwoArrays, "  to = @set_dsd_length(to, n);\n  @fmovs(to, 1.0);\n  sys.unblock_cmd_stream();");
  const ChildResult r = simulate({"--allow", "out-of-bounds", "--json"});
  EXPECT_EQ(r.exit_code, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("\"out-of-bounds\": 1"));
}

TEST_F(Faults, AnAddressBeyondTheMemory) {
  compile(1, "var a = @zeros([4]u16);\nvar i: u16 = 24000;\nvar y: u16 = 0;\n",
          "  y = a[i];\n  sys.unblock_cmd_stream();");
  const ChildResult r = simulate();
  EXPECT_EQ(r.exit_code, 3) << r.err;
  EXPECT_THAT(r.err, AllOf(HasSubstr("out-of-bounds"), HasSubstr("PE (4, 1)"), HasSubstr("49152"),
                           HasSubstr("pe.csl:9")));
}

const std::string kNeverWritten =
    "var from: [8]f32 = undefined;\nvar to = @zeros([8]f32);\n"
    "const f = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{8} -> from[i] });\n"
    "const t = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{8} -> to[i] });\n";

TEST_F(Faults, AVectorThatReadsWhatNothingHasWritten) {
  compile(1, kNeverWritten, "  from[0] = 1.0;\n  from[1] = 2.0;\n  @fmovs(t, f);\n  sys.unblock_cmd_stream();");
  const ChildResult r = simulate();
  EXPECT_EQ(r.exit_code, 3) << r.err;
  EXPECT_THAT(r.err, AllOf(HasSubstr("uninitialised-read"), HasSubstr("PE (4, 1)"),
                           HasSubstr("'from', 8 bytes from its start,"), HasSubstr("pe.csl:12")));
}

TEST_F(Faults, AScalarThatReadsWhatNothingHasWritten) {
  compile(1, "var s: u16 = undefined;\nvar y: u16 = 0;\n", "  y = s;\n  sys.unblock_cmd_stream();");
  const ChildResult r = simulate();
  EXPECT_EQ(r.exit_code, 3) << r.err;
  EXPECT_THAT(r.err, AllOf(HasSubstr("uninitialised-read"), HasSubstr("cycle 3, PE (4, 1)"), HasSubstr("'s'"),
                           HasSubstr("pe.csl:8")));
  const ChildResult allowed = simulate({"--allow", "uninitialised-read", "--json"});
  EXPECT_EQ(allowed.exit_code, 0) << allowed.err;
  EXPECT_THAT(allowed.out, HasSubstr("\"uninitialised-read\": 1"));
}

TEST_F(Faults, GlobalsWithoutAValueAreZero) {
  compile(1, "var s: [2]u16;\nvar y: u16 = 0;\n", "  y = s[1];\n  sys.unblock_cmd_stream();");
  EXPECT_EQ(simulate().exit_code, 0);
}

TEST_F(Faults, WhatWasWrittenMayBeRead) {
  compile(1, kNeverWritten,
          "  @fmovs(f, 3.0);\n  @fmovs(t, f);\n  from[0] += 1.0;\n  sys.unblock_cmd_stream();");
  const ChildResult r = simulate();
  EXPECT_EQ(r.exit_code, 0) << r.err;
}

const std::string kThree =
    "var d = @zeros([4]f32);\nconst c = @get_color(4);\nconst q = @get_input_queue(2);\n"
    "const m = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{2} -> d[i] });\n"
    "const m4 = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> d[i] });\n"
    "const in = @get_dsd(fabin_dsd, .{ .extent = 4, .fabric_color = c, .input_queue = q });\n"
    "const out = @get_dsd(fabout_dsd, .{ .extent = 2, .fabric_color = c, .output_queue = @get_output_queue(3) });\n";

// PE 0 and PE 2 send to PE 1, whose router accepts the color from both sides. The sends issue in cycle 8 (loads 3 and
// 4), the first element executes in 12, departs in 15 and lands in 16 on either side.
TEST_F(Faults, TwoInputsOfOneColor) {
  compile(3, kThree, "  if (x == 1) { @fmovs(m4, in); } else { @fmovs(out, m); }\n  sys.unblock_cmd_stream();",
          "  if (x == 1) @initialize_queue(q, .{ .color = c });",
          "    if (x == 0) @set_color_config(x, 0, @get_color(4), .{ .routes = .{ .rx = .{RAMP}, .tx = .{EAST} } });\n"
          "    if (x == 2) @set_color_config(x, 0, @get_color(4), .{ .routes = .{ .rx = .{RAMP}, .tx = .{WEST} } });\n"
          "    if (x == 1) @set_color_config(x, 0, @get_color(4), .{ .routes = .{ .rx = .{EAST, WEST}, .tx = .{RAMP} "
          "} });\n");
  const ChildResult r = simulate();
  EXPECT_EQ(r.exit_code, 3) << r.err;
  EXPECT_THAT(r.err, AllOf(HasSubstr("colour-conflict"), HasSubstr("cycle 16, PE (5, 1)"), HasSubstr("color 4"),
                           HasSubstr("EAST"), HasSubstr("WEST")));
  const ChildResult allowed = simulate({"--allow", "colour-conflict", "--json"});
  EXPECT_EQ(allowed.exit_code, 0) << allowed.err;
  EXPECT_THAT(allowed.out, HasSubstr("\"colour-conflict\":"));
}

const std::string kEastward =
    "    if (x == 0) @set_color_config(x, 0, @get_color(4), .{ .routes = .{ .rx = .{RAMP}, .tx = .{EAST} } });\n"
    "    if (x == 1) @set_color_config(x, 0, @get_color(4), .{ .routes = .{ .rx = .{WEST}, .tx = .{RAMP} } });\n";

TEST_F(Faults, WaveletsThatNobodyTakes) {
  compile(2, kThree, "  if (x == 0) @fmovs(out, m);\n  sys.unblock_cmd_stream();",
          "  if (x == 1) @initialize_queue(q, .{ .color = c });", kEastward);
  const ChildResult r = simulate();
  EXPECT_EQ(r.exit_code, 3) << r.err;
  EXPECT_THAT(r.err, AllOf(HasSubstr("leftover-wavelets"), HasSubstr("PE (5, 1)"), HasSubstr("input queue 2"),
                           HasSubstr("color 4"), HasSubstr("2 wavelets")));
  EXPECT_EQ(simulate({"--allow", "leftover-wavelets"}).exit_code, 0);
}

// Two words are sent, four are waited for: PE 1 waits for PE 0, whose function has ended.
TEST_F(Faults, ADeadlockNamesTheWaiterAndWhoCouldSend) {
  compile(2, kThree, "  if (x == 0) { @fmovs(out, m); } else { @fmovs(m4, in); }\n  sys.unblock_cmd_stream();",
          "  if (x == 1) @initialize_queue(q, .{ .color = c });", kEastward);
  const ChildResult r = simulate();
  EXPECT_EQ(r.exit_code, 3) << r.err;
  EXPECT_THAT(r.err, AllOf(HasSubstr("deadlock"), HasSubstr("PE (5, 1): function 'run' at pe.csl:13"),
                           HasSubstr("2 of 4 elements done"), HasSubstr("input queue 2"),
                           HasSubstr("PE (4, 1) could send it"),
                           HasSubstr("the command stream is taken by 'run' until then")));
}

// Each of two PEs waits for the other.
TEST_F(Faults, ADeadlockShowsTheCycleOfWaiting) {
  compile(2,
          "var d = @zeros([4]f32);\nconst mine = @get_color(4 + x);\nconst theirs = @get_color(5 - x);\n"
          "const q = @get_input_queue(2);\n"
          "const m = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> d[i] });\n"
          "const in = @get_dsd(fabin_dsd, .{ .extent = 4, .fabric_color = theirs, .input_queue = q });\n"
          "const out = @get_dsd(fabout_dsd, .{ .extent = 4, .fabric_color = mine, .output_queue = "
          "@get_output_queue(3) });\n",
          "  @fmovs(m, in);\n  @fmovs(out, m);\n  sys.unblock_cmd_stream();",
          "  @initialize_queue(q, .{ .color = theirs });",
          "    const to = if (x == 0) EAST else WEST;\n"
          "    @set_color_config(x, 0, @get_color(4 + x), .{ .routes = .{ .rx = .{RAMP}, .tx = .{to} } });\n"
          "    @set_color_config(x, 0, @get_color(5 - x), .{ .routes = .{ .rx = .{to}, .tx = .{RAMP} } });\n");
  const ChildResult r = simulate();
  EXPECT_EQ(r.exit_code, 3) << r.err;
  EXPECT_THAT(r.err, AllOf(HasSubstr("cycle of waiting: PE (4, 1) -> PE (5, 1) -> PE (4, 1)"), HasSubstr("pe.csl:13")));
}

TEST_F(Faults, ACommandStreamThatIsNeverGivenBack) {
  compile(1, "var d = @zeros([1]u16);\n", "  d[0] = 1;");
  const ChildResult r = simulate();
  EXPECT_EQ(r.exit_code, 3) << r.err;
  EXPECT_THAT(r.err, AllOf(HasSubstr("deadlock"), HasSubstr("PE (4, 1)"), HasSubstr("'run'"),
                           HasSubstr("unblock_cmd_stream")));
}

TEST_F(Faults, ALoopWithoutAnEndRunsIntoTheLimit) {
  compile(1, "var d: u16 = 0;\n", "  while (true) { d += 1; }");
  const ChildResult r = simulate({"--max-cycles", "5000"});
  EXPECT_EQ(r.exit_code, 3) << r.err;
  EXPECT_THAT(r.err, AllOf(HasSubstr("timeout"), HasSubstr("5000")));
}

TEST_F(Faults, AllowNamesOnlyWhatAProgramSurvives) {
  compile(1, "", "  sys.unblock_cmd_stream();");
  EXPECT_EQ(simulate({"--allow", "illegal-instruction"}).exit_code, 2);
  EXPECT_EQ(simulate({"--allow", "uninitialized-read"}).exit_code, 2);
}

}  // namespace
}  // namespace cs::e2e
