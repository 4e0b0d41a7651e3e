// Messages for wrong programs: position, reason, help. And that limits end what would not end.
#include <gmock/gmock.h>

#include "run_csl.h"

namespace cs::csl::test {
namespace {

using ::testing::HasSubstr;

std::string pe_errors(const std::string& body, const std::string& machine = "wse2") {
  return errors_of({{"layout.csl", kOnePe}, {"pe.csl", kPrologue + body}}, machine);
}
std::string layout_errors(const std::string& block) {
  return errors_of({{"layout.csl", "layout {\n" + block + "\n}\n"}, {"pe.csl", ""}});
}

TEST(SemaErrors, UnknownName) {
  EXPECT_EQ(
      pe_errors("var counter: i16 = 0;\nfn f() void { countr = 1; }\ncomptime { @export_symbol(f); }\n"),
      "pe.csl:4:15: error: 'countr' is not declared\n"
      "    fn f() void { countr = 1; }\n"
      "                  ^\n"
      "help: did you mean 'counter'?\n"
      "layout.csl:5:3: note: for the tile program 'pe.csl (memcpy_params=.{ .width = 1, .height = 1 })'\n"
      "      @set_tile_code(0, 0, \"pe.csl\", .{ .memcpy_params = memcpy.get_params(0) });\n"
      "      ^\n");
}

TEST(SemaErrors, Types) {
  EXPECT_THAT(pe_errors("const x: u8 = 256;\n"),
              HasSubstr("3:15: error: initial value 256 does not fit 'u8'"));
  EXPECT_THAT(pe_errors("const x: u8 = 256;\n"), HasSubstr("help: 'u8' holds 0 … 255"));
  EXPECT_THAT(pe_errors("var a: i16 = 1;\nvar f: f32 = 0.0;\nfn g() void { f = f + a; }\ncomptime { "
                        "@export_symbol(g); }\n"),
              HasSubstr("operator '+' does not fit 'f32' and 'i16'"));
  EXPECT_THAT(pe_errors("const a = [2]i16 {1, 2};\nconst b = a[2];\n"),
              HasSubstr("index 2 is outside of 0 … 1"));
  EXPECT_THAT(pe_errors("const a = 1 / 0;\n"), HasSubstr("3:13: error: division by zero"));
  EXPECT_THAT(pe_errors("const S = struct { left: i16 };\nvar s = S { .left = 1 };\nfn g() void { s.lfet = "
                        "2; }\ncomptime { @export_symbol(g); }\n"),
              HasSubstr("help: did you mean 'left'?"));
  EXPECT_THAT(pe_errors("fn g(a: i16) i16 { return a; }\nconst x = g(1, 2);\n"),
              HasSubstr("takes 1 argument, here are 2"));
  EXPECT_THAT(pe_errors("var v: i16 = 1;\nconst x = v + 1;\n"),
              HasSubstr("the value of a run-time variable is not known at comptime"));
}

TEST(SemaErrors, Builtins) {
  EXPECT_THAT(pe_errors("comptime { @bind_locl_task(1, 2); }\n"),
              HasSubstr("there is no builtin @bind_locl_task"));
  EXPECT_THAT(pe_errors("comptime { @bind_locl_task(1, 2); }\n"),
              HasSubstr("did you mean '@bind_local_task'?"));
  EXPECT_THAT(pe_errors("var b = @zeros([4]f32);\nconst f = @get_tensor_ptr(b);\n"),
              HasSubstr("@get_tensor_ptr is not allowed here, only in a function or task"));
  EXPECT_THAT(pe_errors("comptime { @set_rectangle(1, 1); }\n"),
              HasSubstr("@set_rectangle is not allowed here, only in the layout"));
  EXPECT_THAT(pe_errors("const c = @get_color(40);\n"),
              HasSubstr("a color must be between 0 and 30, this is 40"));
  EXPECT_THAT(pe_errors("comptime { @comptime_assert(1 == 2, \"sizes\"); }\n"),
              HasSubstr("assertion does not hold: sizes"));
  EXPECT_THAT(pe_errors("comptime { @activate(3); }\n"),
              HasSubstr("a task id is needed here, this is 'comptime_int'"));
  EXPECT_THAT(pe_errors("fn f() void { @stcfg16(6, 1); }\ncomptime { @export_symbol(f); }\n"),
              HasSubstr("@stcfg16 is for library modules"));
}

TEST(SemaErrors, Dsds) {
  EXPECT_THAT(pe_errors("var a = @zeros([4]f32);\n"
                        "const d = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{5} -> a[i - 1] });\n"),
              HasSubstr("this access reaches element -1 of '[4]f32', which has 4"));
  EXPECT_THAT(pe_errors("var a = @zeros([4]f32);\nconst d = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{3} "
                        "-> a[i * i] });\n"),
              HasSubstr("this access is not affine in its variables"));
  EXPECT_THAT(
      pe_errors(
          "var a = @zeros([4]f32);\nconst d = @get_dsd(mem1d_dsd, .{ .base_address = &a, .extnt = 4 });\n"),
      HasSubstr("field 'extent' is missing"));
  EXPECT_THAT(
      pe_errors(
          "var a = @zeros([4]f32);\nconst d = @get_dsd(mem1d_dsd, .{ .base_address = &a, .extent = 4 });\n"
          "fn f() void { @fmovs(d, d, .{ .async = true }); }\ncomptime { @export_symbol(f); }\n"),
      HasSubstr("an asynchronous operation needs a fabric operand"));
  EXPECT_THAT(
      pe_errors(
          "const c = @get_color(1);\nconst d = @get_dsd(fabin_dsd, .{ .fabric_color = c, .extent = 4 });\n",
          "wse3"),
      HasSubstr("field 'input_queue' is missing"));
}

// Public programs make descriptors that are longer than their first array and move them before use.
TEST(SemaErrors, LongAccessIsAWarning) {
  Diag diag;
  const auto files = std::map<std::string, std::string>{
      {"layout.csl", kOnePe},
      {"pe.csl", std::string(kPrologue) +
                     "var a = @zeros([4]f32);\n"
                     "const d = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{5} -> a[i] });\n"}};
  EXPECT_TRUE(compile_csl(options_for(files), load("wse2"), diag).has_value());
  EXPECT_THAT(diag.to_string(), HasSubstr("warning: this access reaches element 4 of '[4]f32', which has 4"));
}

TEST(SemaErrors, UnsetParameterIsWrongWhenUsed) {
  EXPECT_THAT(pe_errors("param n: i16;\nconst m = n + 1;\n"),
              HasSubstr("parameter 'n' of 'pe.csl' has no value"));
  Diag diag;
  const std::map<std::string, std::string> files{{"layout.csl", kOnePe},
                                                 {"pe.csl", std::string(kPrologue) + "param n: i16;\n"}};
  EXPECT_TRUE(compile_csl(options_for(files), load("wse2"), diag).has_value()) << diag.to_string();
}

TEST(SemaErrors, Tasks) {
  const std::string t = "const id = @get_local_task_id(8);\n";
  EXPECT_THAT(pe_errors(t + "fn f() void {}\ncomptime { @bind_local_task(f, id); }\n"),
              HasSubstr("help: declare it with 'task' instead of 'fn'"));
  EXPECT_THAT(pe_errors(t + "task f(a: u32) void {}\ncomptime { @bind_local_task(f, id); }\n"),
              HasSubstr("a local task has no parameters"));
  EXPECT_THAT(pe_errors(t + "task f() void {}\ntask g() void {}\ncomptime { @bind_local_task(f, id); "
                            "@bind_local_task(g, id); }\n"),
              HasSubstr("local_task_id 8 is bound to 'f' already"));
}

TEST(SemaErrors, Layout) {
  EXPECT_THAT(layout_errors("@set_tile_code(0, 0, \"pe.csl\", .{});"),
              HasSubstr("@set_tile_code comes before @set_rectangle"));
  EXPECT_THAT(layout_errors("@set_rectangle(2, 2);\n@set_tile_code(2, 0, \"pe.csl\", .{});"),
              HasSubstr("the column must be between 0 and 1, this is 2"));
  EXPECT_THAT(layout_errors("@set_rectangle(1, 1);\nconst c = @get_color(1);\n@set_color_config(0, 0, c, .{ "
                            ".routes = .{ .rx = .{RAMP}, .tx = .{WSET} } });"),
              HasSubstr("help: did you mean 'WEST'?"));
  EXPECT_THAT(errors_of({{"layout.csl", "const x = 1;\n"}}), HasSubstr("there is no layout block"));
}

TEST(SemaErrors, Recursion) {
  EXPECT_THAT(
      pe_errors("fn f(n: i16) i16 { if (n == 0) { return 0; } return f(n - 1) + 1; }\nvar v: i16 = 3;\n"
                "fn main() void { v = f(v); }\ncomptime { @export_symbol(main); }\n"),
      HasSubstr("recursion does not exist at run time"));
  // The jump would give the place of `x` to the next round, which still reads it.
  EXPECT_THAT(
      pe_errors(
          "var out: i16 = 0;\nvar v: i16 = 3;\nfn f(n: i16, p: *i16) void { if (n == 0) { out = p.*; return; "
          "} var x: "
          "i16 = n; f(n - 1, &x); }\nfn main() void { f(v, &v); }\ncomptime { @export_symbol(main); }\n"),
      HasSubstr("recursion does not exist at run time"));
  EXPECT_THAT(pe_errors("fn f(n: i32) i32 { return f(n + 1); }\nconst x = f(0);\n"),
              HasSubstr("nested more than 200 deep"));
}

TEST(SemaErrors, EndlessComptime) {
  Diag diag;
  CslOptions o = options_for({{"layout.csl", "layout {\n  var x = 0;\n  while (x >= 0) : (x += 1) {}\n}\n"}});
  o.comptime_step_limit = 100000;
  EXPECT_FALSE(compile_csl(o, load("wse2"), diag).has_value());
  EXPECT_THAT(diag.to_string(), HasSubstr("comptime evaluation does not end"));
}

TEST(SemaErrors, EndlessUnrolling) {
  EXPECT_THAT(
      pe_errors("var v: i16 = 0;\nfn main() void {\n"
                "  inline for (@range(u16, 1000)) |i| { inline for (@range(u16, 1000)) |j| { v += 1; } }\n}\n"
                "comptime { @export_symbol(main); }\n"),
      HasSubstr("this function has more than 100000 instructions, far beyond a PE's 49152 bytes"));
}

TEST(SemaErrors, SeveralPerRun) {
  const std::string all = pe_errors("const a: u8 = 300;\nconst b = nothing;\nconst c = @get_color(99);\n");
  EXPECT_THAT(all, HasSubstr("pe.csl:3:"));
  EXPECT_THAT(all, HasSubstr("pe.csl:4:"));
  EXPECT_THAT(all, HasSubstr("pe.csl:5:"));
}

}  // namespace
}  // namespace cs::csl::test
