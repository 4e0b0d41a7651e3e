// One row per kind of mistake: the program (its first line is line 3 of pe.csl, behind the prologue), the
// message with its position, and the help. Positions were read off the texts.
#include <gmock/gmock.h>

#include "run_csl.h"

namespace cs::csl::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Row {
  const char* name;
  const char* body;
  const char* message;
  const char* help = "";
  const char* machine = "wse2";
  friend void PrintTo(const Row& r, std::ostream* out) { *out << r.name; }
};

// `body` inside an exported function.
#define IN_MAIN(body) "var v: i16 = 1;\nfn main() void { " body " }\ncomptime { @export_symbol(main); }\n"

const Row kRows[] = {
    // ---- queues
    {"QueueWithTwoColors",
     "const q = @get_input_queue(2);\n"
     "const a = @get_dsd(fabin_dsd, .{ .extent = 1, .fabric_color = @get_color(1), .input_queue = q });\n"
     "const b = @get_dsd(fabin_dsd, .{ .extent = 1, .fabric_color = @get_color(2), .input_queue = q });\n",
     "5:31: error: input queue 2 is bound to color 1, this DSD names color 2", "", "wse3"},
    // ---- syntax
    {"MissingSemicolon", "const a = 1\nconst b = 2;\n",
     "3:12: error: expected ';' after the declaration, found 'const'"},
    {"NoResultType", "fn f() { }\n", "3:8: error: 'f' has no result type", "write void"},
    {"UnaryPlus", "const a = +1;\n", "3:11: error: expected an expression, found '+'", "CSL has no unary +"},
    {"StatementAtTopLevel", "a = 1;\n", "3:1: error:", "comptime {...}"},
    {"FunctionInFunction", "fn f() void { fn g() void {} }\n",
     "3:15: error: 'fn' is only possible at the top level", "move it out"},
    {"ConstWithoutValue", "const a: i16;\n", "3:13: error: constant 'a' has no value", "const NAME = VALUE"},
    {"VarWithoutType", "var a;\n", "3:6: error: variable 'a' has neither type nor value", "var NAME: TYPE"},
    {"ExternWithValue", "extern var a: i16 = 1;\n", "3:21: error: extern variable 'a' has a value",
     "its definition gives it"},
    {"IfWithoutParentheses", "fn f() void { if true {} }\n", "3:18: error: expected '('",
     "conditions stand in parentheses"},
    {"EmptyIndex", "const a = [1]i16 { 1 };\nconst b = a[];\n", "4:13: error: an index is missing",
     "a[i, j]"},
    // ---- names
    {"DeclaredTwice", "const a = 1;\nconst a = 2;\n", "4:7: error: 'a' is declared twice"},
    {"LocalTwice", IN_MAIN("const a = 1; const a = 2;"), "4:37: error: 'a' is declared twice"},
    {"DependsOnItself", "const a = b;\nconst b = a;\n", "4:11: error: 'a' depends on itself"},
    {"UnknownBuiltin", "const a = @zeroes([2]f32);\n", "3:11: error: there is no builtin @zeroes",
     "did you mean '@zeros'?"},
    {"UnknownLibrary", "const a = @import_module(\"<mth>\");\n", "3:26: error: there is no library <mth>",
     "<math>"},
    {"UnknownFile", "const a = @import_module(\"b.csl\");\n", "3:26: error: cannot read 'b.csl'",
     "--import-path"},
    {"UnknownModuleMember", "const t = @import_module(\"<time>\");\nconst a = t.enable;\n",
     "4:13: error: module '<time>' has no 'enable'"},
    {"UnsetParameter", "param n: i16;\nvar a = @zeros([n]f32);\n",
     "3:7: error: parameter 'n' of 'pe.csl' has no value", "@set_tile_code"},
    {"ExternWithoutExport",
     "extern var x: i16;\nfn main() void { x = 1; }\ncomptime { @export_symbol(main); }\n",
     "3:12: error: no module of this PE exports 'x'", "export it"},
    {"ExternOfAnotherType", "extern var x: i32;\nexport var y: i16 linkname(\"x\") = 1;\nconst p = &x;\n",
     "3:12: error: extern 'x' has type 'i32', what is exported has 'i16'"},
    // ---- types and conversions
    {"ConstantTooLarge", "const a: i8 = 128;\n", "3:15: error: initial value 128 does not fit 'i8'",
     "'i8' holds -128 … 127"},
    {"Narrowing", IN_MAIN("const w: i32 = 5; var n: i16 = v; n = w; var m: i8 = n; _ = m;"),
     "error: initial value has type 'i16', here 'i8' is needed", "@as(i8, …)"},
    {"SignedToUnsigned", IN_MAIN("const u: u16 = v; _ = u;"),
     "4:33: error: initial value has type 'i16', here 'u16' is needed", "@as(u16, …)"},
    {"ConditionIsNumber", IN_MAIN("if (v) { v = 2; }"),
     "4:22: error: condition has type 'i16', here 'bool' is needed", "@as(bool, …)"},
    {"MixedOperands", "const a = 1 + true;\n",
     "3:13: error: operator '+' does not fit 'comptime_int' and 'bool'"},
    {"FloatRemainder", "const a: f32 = 1.0;\nconst b = a % a;\n",
     "4:13: error: operator '%' does not fit 'f32'"},
    {"NegativeShift", "const a = 1 << -1;\n", "3:13: error: shift by -1"},
    {"NotAType", "var a: 5 = 1;\n",
     "3:8: error: a type is needed here, this is a value of type 'comptime_int'"},
    {"NullIsNoValue", "const a = null;\n", "3:11: error: 'null' is not supported", "use a flag"},
    {"ConstPointer", "const a = [2]i16 { 1, 2 };\nvar p: [*]i16 = &a;\n",
     "4:17: error: initial value has type '*const [2]i16', here '[*]i16' is needed",
     "cannot become one to var"},
    {"FunctionPointerNotConst", "fn g() void {}\nvar p: *fn() void = &g;\n",
     "4:8: error: a pointer to a function must be a pointer to const", "*const fn"},
    {"RuntimeComptimeInt", IN_MAIN("var a = 1; a += 1;"),
     "4:22: error: a variable of type 'comptime_int' does not exist at run time", "write its type"},
    {"HugeArray", "var a = @zeros([3000, 3000]f32);\n", "3:23: error: an array of 9000000 elements or more"},
    // ---- aggregates
    {"WrongArrayLength", "const a = [3]i16 { 1, 2 };\n",
     "3:11: error: '[3]i16' needs 3 elements, here are 2"},
    {"IndexOutside", "const a = [2]i16 { 1, 2 };\nconst b = a[2];\n",
     "4:11: error: index 2 is outside of 0 … 1"},
    {"WrongDimensions", "var a = @zeros([2, 2]i16);\nconst p = &a[1];\n",
     "4:12: error: [2, 2]i16 has 2 dimensions"},
    {"UnknownField", "const S = struct { left: i16 };\nconst s = S { .lft = 1 };\n",
     "4:15: error: 'struct { left: i16 }' has no field 'lft'", "did you mean 'left'?"},
    {"MissingField", "const S = struct { a: i16, b: i16 };\nconst s: S = .{ .a = 1 };\n",
     "4:14: error: field 'b' of 'struct { a: i16, b: i16 }' is missing"},
    {"FieldTwice", "const s = .{ .a = 1, .a = 2 };\n", "3:22: error: field 'a' is given twice"},
    {"PackedFieldWithoutBits", "const S = packed struct { a: [2]u8 };\n",
     "3:27: error: a field of a packed structure cannot be '[2]u8'", "have a number of bits"},
    {"PackedUnionWidths", "const U = packed union { a: u16, b: u8 };\n",
     "3:34: error: variant 'b' has 8 bits, the others have 16", "the same number of bits"},
    {"AddressOfPackedField",
     "const S = packed struct { a: u8, b: u8 };\nvar s = S { .a = 1, .b = 2 };\nfn main() void { const p = "
     "&s.b; _ = p; }\n"
     "comptime { @export_symbol(main); }\n",
     "5:28: error: a field of a packed structure has no address", "copy it"},
    {"InactiveVariant", "const U = union { i: i16, f: f16 };\nconst u = U { .i = 1 };\nconst a = u.f;\n",
     "5:13: error: variant 'f' of this union is not the active one, which is 'i'",
     "only extern and packed unions"},
    {"TwoVariants", "const U = union { i: i16, f: f16 };\nconst u = U { .i = 1, .f = 2.0 };\n",
     "4:11: error: a union takes the value of one variant, here are 2"},
    {"EnumRepeats", "const E = enum(u16) { a = 1, b = 1 };\n", "3:30: error: enumerator 'b' repeats 'a' = 1"},
    {"EnumTooSmall", "const E = enum(u1) { a, b, c };\n", "3:28: error: enumerator 2 does not fit 'u1'"},
    {"NoSuchEnumerator", "const E = enum(u16) { red };\nconst a = E.rde;\n",
     "4:13: error: enum 'enum { red }' has no 'rde'", "did you mean 'red'?"},
    {"NoSuchNumberOfEnum", "const E = enum(u16) { red };\nconst a = @as(E, 4);\n",
     "4:11: error: enum 'enum { red }' has no value 4"},
    // ---- statements
    {"BreakOutside", IN_MAIN("break;"), "4:18: error: 'break' outside of a loop"},
    {"UnknownLabel", IN_MAIN("while (v < 3) { break :out; }"),
     "4:34: error: no loop or block is labelled 'out'"},
    {"LabelTwice", IN_MAIN("a: while (v < 3) { a: while (v < 2) { v += 1; } }"),
     "4:40: error: label 'a' is that of an enclosing loop or block", "choose another"},
    {"SwitchWithoutElse", IN_MAIN("switch (v) { 1 => {}, 2 => {} }"),
     "4:18: error: not every value of 'i16' has a case", "add 'else"},
    {"CaseTwice", IN_MAIN("switch (v) { 1...5 => {}, 3 => {}, else => {} }"),
     "4:44: error: the case 3 is there already"},
    {"AssignConst", IN_MAIN("const a: i16 = 1; a = 2;"), "4:36: error: 'a' is constant", "'var'"},
    {"AssignParameterOfFunction", "fn f(a: i16) void { a = 1; }\ncomptime { @export_symbol(f); }\n",
     "3:21: error: 'a' is constant"},
    {"ComptimeVarUnderCondition", IN_MAIN("comptime var a: i16 = 1; if (v == 1) { a = 2; }"),
     "4:59: error: comptime variable 'a' would change under a run-time condition or loop", "loop inline"},
    {"InlineLoopTooLong", IN_MAIN("inline for (@range(u16, 2000)) |i| { v += 1; }"),
     "error: inline loop has 2000 iterations, limit 1000", "--max-inlined-iterations"},
    // ---- functions
    {"NoReturn", IN_MAIN("_ = g();") "fn g() i16 { if (v == 1) { return 1; } }\n",
     "6:40: error: 'g' ends without returning 'i16'"},
    {"ReturnFromVoid", IN_MAIN("return 1;"), "error: "},
    {"CallOfTask", "task t() void {}\nfn main() void { t(); }\ncomptime { @export_symbol(main); }\n",
     "error: task 't' cannot be called", "@activate"},
    {"Recursion",
     "fn f(n: i16) i16 { return if (n == 0) 0 else f(n - 1); }\nvar v: i16 = 3;\n"
     "fn main() void { v = f(v); }\ncomptime { @export_symbol(main); }\n",
     "error: ", "use a loop, or tasks"},
    {"AssertionFails", "comptime { @comptime_assert(2 < 1, \"order\"); }\n",
     "3:12: error: assertion does not hold: order"},
    // ---- builtins
    {"TooFewArguments", "const a = @strlen();\n", "3:11: error: @strlen takes 1 argument, here are 0"},
    {"BuiltinInWrongPlace", "comptime { @set_active_prng(1); }\n",
     "3:12: error: @set_active_prng is not allowed here, only in a function or task"},
    {"ByteTooLarge", "const a = @get_string_from_byte(256);\n",
     "3:33: error: a byte must be between 0 and 255, this is 256"},
    {"BitcastSize", "const a = @bitcast(u16, @as(f32, 1.0));\n",
     "3:11: error: @bitcast from 'f32' (4 bytes) to 'u16' (2 bytes)", "the same size"},
    {"NoSuchField", "const a = @field(.{ .x = 1 }, \"y\");\n", "3:11: error: ", ""},
    {"RangeStepZero", "const a = @range(i16, 0, 5, 0);\n", "3:29: error: the step is 0"},
    {"UnknownArchitecture", "const a = @is_arch(\"wse9\");\n", "3:20: error: there is no architecture 'wse9'",
     "\"wse3\""},
    {"SymbolNotExported",
     "var a: i16 = 1;\nfn main() void { const n = @get_symbol_id(a); _ = n; }\ncomptime { "
     "@export_symbol(main); }\n",
     "4:43: error: this is no symbol that the layout exports", "@export_name"},
    {"ExportedTwice",
     "var a: i16 = 1;\nvar b: i16 = 2;\ncomptime { @export_symbol(a, \"s\"); @export_symbol(b, \"s\"); }\n",
     "5:36: error: symbol 's' is exported twice"},
    // ---- tasks, queues, colors
    {"ColorTooHigh", "const c = @get_color(40);\n", "3:22: error: a color must be between 0 and"},
    {"LocalIdOfQueue", "const t = @get_local_task_id(3);\n",
     "3:30: error: a local task id must be between 8 and 30, this is 3", "", "wse3"},
    {"OutputQueueTooHigh", "const q = @get_output_queue(6);\n",
     "3:29: error: an output queue must be between 0 and 5, this is 6"},
    {"DataTaskOnColor", "const t = @get_data_task_id(@get_color(1));\n",
     "3:29: error: data tasks of wse3 are bound to input queues, this is 'color'",
     "@get_data_task_id(input_queue)", "wse3"},
    {"ActivateNothing", "comptime { @activate(@get_local_task_id(9)); }\n",
     "3:12: error: @activate of id 9, to which no local task is bound", "@bind_local_task"},
    {"IdsClash",
     "task a() void {}\ntask b() void {}\ncomptime { @bind_local_task(a, @get_local_task_id(9));\n"
     "@bind_control_task(b, @get_control_task_id(9)); }\n",
     "4:6: error: 'b' is bound to control task id 9, which local task 'a' has already", "another id"},
    {"ReservedId", "task a() void {}\ncomptime { @bind_local_task(a, @get_local_task_id(27)); }\n",
     "3:6: error: local task id 27 of 'a' is reserved for memcpy"},
    {"QueueTwice",
     "const q = @get_input_queue(2);\ncomptime { @initialize_queue(q, .{ .color = @get_color(1) });\n"
     "@initialize_queue(q, .{ .color = @get_color(2) }); }\n",
     "5:1: error: input queue 2 is bound to color 1 already", "", "wse3"},
    {"ControlTableOnWse2", "comptime { @set_control_task_table(); }\n",
     "3:12: error: wse2 has one table for all tasks"},
    {"ControlTableOfAnOutput",
     "comptime { @initialize_queue(@get_output_queue(2), .{ .color = @get_color(1), .ctrl_table_id = 1 }); "
     "}\n",
     "3:52: error: field 'ctrl_table_id' is for input queues of WSE-3", "", "wse3"},
    {"MessagesOnWse2",
     "const m = @import_module(\"<message_passing>\", .{ .input_queue_id = 2, .output_queue_id = 2 });\n",
     "<message_passing> exists on WSE-3 only"},
    {"RoutesTwice",
     "const c = @get_color(1);\ncomptime { @set_local_color_config(c, .{ .routes = .{ .rx = .{RAMP}, .tx = "
     ".{EAST} } });\n"
     "@set_local_color_config(c, .{ .routes = .{ .rx = .{RAMP}, .tx = .{EAST} } }); }\n",
     "5:1: error: color 1 is configured twice"},
    {"MemoryFull",
     "var a = @zeros([30000]f32);\nfn main() void { a[0] = 1.0; }\ncomptime { @export_symbol(main); }\n",
     "need", "a "},
};

class Diagnostics : public ::testing::TestWithParam<Row> {};

TEST_P(Diagnostics, PositionReasonAndHelp) {
  const Row& r = GetParam();
  const std::string text =
      errors_of({{"layout.csl", kOnePe}, {"pe.csl", std::string(kPrologue) + r.body}}, r.machine);
  EXPECT_THAT(text, HasSubstr(r.message));
  EXPECT_THAT(text, HasSubstr(r.help));
}

INSTANTIATE_TEST_SUITE_P(Csl, Diagnostics, ::testing::ValuesIn(kRows),
                         [](const auto& info) { return std::string(info.param.name); });

// ---- the layout

std::string layout_text(const std::string& block) {
  return errors_of({{"layout.csl", "layout {\n" + block + "\n}\n"}, {"pe.csl", ""}});
}

// What compiles all the same, with its warnings.
std::string warnings_of(const std::map<std::string, std::string>& files,
                        std::vector<std::string> chosen = {}) {
  Diag diag;
  CslOptions options = options_for(files);
  options.warnings.entries = std::move(chosen);
  EXPECT_TRUE(compile_csl(options, load("wse2"), diag).has_value()) << diag.to_string();
  return diag.to_string();
}
std::string warnings_of_pe(const std::string& body, std::vector<std::string> chosen = {}) {
  return warnings_of({{"layout.csl", kOnePe}, {"pe.csl", std::string(kPrologue) + body}}, std::move(chosen));
}

TEST(Warnings, WhatIsNoErrorSaysItsName) {
  EXPECT_THAT(warnings_of_pe("const t = @import_module(\"<time>\", .{ .speed = 1 });\n"),
              HasSubstr("3:11: warning: '<time>' has no parameter 'speed' [-Wunknown-parameter]"));
  EXPECT_THAT(warnings_of_pe(IN_MAIN("v + 1;")),
              HasSubstr("warning: this value of type 'i16' is not used [-Wunused-value]"));
  const std::string shared =
      "const q = @get_input_queue(2);\n"
      "const a = @get_dsd(fabin_dsd, .{ .extent = 1, .fabric_color = @get_color(1), .input_queue = q });\n"
      "const b = @get_dsd(fabin_dsd, .{ .extent = 1, .fabric_color = @get_color(2), .input_queue = q });\n";
  EXPECT_THAT(warnings_of_pe(shared),
              AllOf(HasSubstr("5:31: warning: input queue 2 serves color 1 and color 2 [-Wqueue-shared]"),
                    HasSubstr("4:31: note: color 1 is bound to it here")));
}

TEST(Warnings, AreChosenByName) {
  const std::string unused = IN_MAIN("v + 1;");
  EXPECT_EQ(warnings_of_pe(unused, {"no-unused-value"}), "");
  EXPECT_THAT(warnings_of_pe(unused, {"no-unused-value", "unused-value"}), HasSubstr("-Wunused-value"));
  EXPECT_THAT(warnings_of_pe(unused, {"error=export-missing"}), HasSubstr("warning: this value"));
  for (const char* strict : {"error", "error=unused-value"}) {
    Diag diag;
    CslOptions options = options_for({{"layout.csl", kOnePe}, {"pe.csl", std::string(kPrologue) + unused}});
    options.warnings.entries = {strict};
    EXPECT_FALSE(compile_csl(options, load("wse2"), diag).has_value());
    EXPECT_THAT(diag.to_string(), HasSubstr("error: this value of type 'i16' is not used [-Wunused-value]"));
  }
  EXPECT_THAT((WarningChoice{{"unused-value", "no-such", "error=other", "error"}}.unknown()),
              ::testing::ElementsAre("such", "other"));
}

// One cause in three tile programs is said once, and errors stand before warnings.
TEST(Warnings, OnceAndBehindTheErrors) {
  const std::string layout =
      "layout {\n@set_rectangle(3, 1);\nfor (@range(i16, 3)) |x| { @set_tile_code(x, 0, \"pe.csl\", .{ .n = "
      "x }); }\n}\n";
  const std::string pe =
      "param n: i16;\nvar v: i16 = n;\nfn main() void { v + 1; v = w; }\ncomptime { @export_symbol(main); "
      "}\n";
  const std::string text = errors_of({{"layout.csl", layout}, {"pe.csl", pe}});
  const size_t error = text.find("error: "), warning = text.find("-Wunused-value");
  ASSERT_NE(error, std::string::npos);
  ASSERT_NE(warning, std::string::npos);
  EXPECT_LT(error, warning);
  EXPECT_EQ(text.find("-Wunused-value", warning + 1), std::string::npos) << text;
  EXPECT_THAT(text, HasSubstr("the same 3 times in all"));
}

TEST(LayoutDiagnostics, Rectangle) {
  EXPECT_THAT(layout_text("@set_tile_code(0, 0, \"pe.csl\");"),
              HasSubstr("2:1: error: @set_tile_code comes before @set_rectangle"));
  EXPECT_THAT(layout_text("@set_rectangle(0, 1);"),
              HasSubstr("2:16: error: the width must be between 1 and"));
  EXPECT_THAT(layout_text("@set_rectangle(1, 1);\n@set_rectangle(1, 1);"),
              HasSubstr("3:1: error: @set_rectangle is called twice"));
  EXPECT_THAT(layout_text("@set_rectangle(2, 1);\n@set_tile_code(2, 0, \"pe.csl\");"),
              HasSubstr("3:16: error: the column must be between 0 and 1, this is 2"));
  EXPECT_THAT(
      layout_text(
          "@set_rectangle(1, 1);\n@set_tile_code(0, 0, \"pe.csl\");\n@set_tile_code(0, 0, \"pe.csl\");"),
      HasSubstr("4:1: error: PE (0, 0) already runs 'pe.csl'"));
  EXPECT_THAT(layout_text("@set_rectangle(1, 1);\n@export_name(\"a\", struct { x: i16 });"),
              HasSubstr("3:19: error: the host cannot access"));
}

// Public programs leave queues of unused directions alone: a warning.
TEST(Warnings, QueueNotInitialised) {
  Diag diag;
  const std::string body =
      "const d = @get_dsd(fabin_dsd, .{ .extent = 4, .input_queue = @get_input_queue(3) });\n"
      "var a = @zeros([4]f32);\nconst m = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{4} -> a[i] });\n"
      "fn main() void { @fmovs(m, d); }\ncomptime { @export_symbol(main); }\n";
  const auto p =
      compile_csl(options_for({{"layout.csl", kOnePe}, {"pe.csl", kPrologue + body}}), load("wse3"), diag);
  EXPECT_TRUE(p.has_value()) << diag.to_string();
  EXPECT_THAT(diag.to_string(),
              HasSubstr("pe.csl:6:18: warning: input queue 3 is used here but never initialised"));
  EXPECT_THAT(diag.to_string(), HasSubstr("help: @initialize_queue(@get_input_queue(3), .{ .color = … })"));
}

// Receives on queue 3 and sends on queue 3 have one microthread on WSE-2; so have operations that name one on WSE-3.
TEST(Warnings, TwoOperationsOnOneMicrothread) {
  const auto text = [](const std::string& machine, const std::string& second_queue, const std::string& ut) {
    Diag diag;
    const std::string body =
        "const c = @get_color(1);\nconst e = @get_color(2);\nvar a = @zeros([4]f32);\n"
        "const m = @get_dsd(mem1d_dsd, .{ .base_address = &a, .extent = 4 });\n"
        "const iq = @get_input_queue(3);\nconst oq = @get_output_queue(" + second_queue + ");\n"
        "const d = @get_dsd(fabin_dsd, .{ .extent = 4, .fabric_color = c, .input_queue = iq });\n"
        "const o = @get_dsd(fabout_dsd, .{ .extent = 4, .fabric_color = e, .output_queue = oq });\n"
        "fn main() void {\n  @fmovs(m, d, .{ .async = true" + ut + " });\n"
        "  @fmovs(o, m, .{ .async = true" + ut + " });\n}\n"
        "comptime { @export_symbol(main); @initialize_queue(iq, .{ .color = c });\n"
        "if (@is_arch(\"wse3\")) @initialize_queue(oq, .{ .color = e });\n"
        "@set_local_color_config(c, .{ .routes = .{ .rx = .{RAMP}, .tx = .{RAMP} } });\n"
        "@set_local_color_config(e, .{ .routes = .{ .rx = .{RAMP}, .tx = .{RAMP} } }); }\n";
    const CslOptions options = options_for({{"layout.csl", kOnePe}, {"pe.csl", kPrologue + body}});
    const auto p = compile_csl(options, load(machine), diag);
    EXPECT_TRUE(p.has_value()) << diag.to_string();
    return diag.to_string();
  };
  const char* const kWaits = "pe.csl:13:3: warning: this waits for the operation in line 12: both run on microthread ";
  EXPECT_THAT(text("wse2", "3", ""), HasSubstr(std::string(kWaits) + "3"));
  EXPECT_THAT(text("wse2", "2", ""), Not(HasSubstr("warning")));
  EXPECT_THAT(text("wse3", "3", ""), Not(HasSubstr("warning")));
  EXPECT_THAT(text("wse3", "2", ", .ut_id = @get_ut_id(5)"), HasSubstr(std::string(kWaits) + "5"));
}

TEST(LayoutDiagnostics, ExportedTypesMustAgree) {
  const auto errors = [](const std::string& layout_type, const std::string& pe) {
    std::string layout = kOnePe;
    layout.insert(layout.rfind('}'), "  @export_name(\"x\", " + layout_type + ");\n");
    return errors_of({{"layout.csl", layout}, {"pe.csl", kPrologue + pe}});
  };
  EXPECT_THAT(errors("[*]u32", "var a = @zeros([4]f32);\nvar x: [*]f32 = &a;\ncomptime { @export_symbol(x); }\n"),
              HasSubstr("'x' is 'f32' here, the layout exports it as '[*]u32'"));
  EXPECT_THAT(errors("fn (i16) void", "fn x(n: i32) void {}\ncomptime { @export_symbol(x); }\n"),
              HasSubstr("'x' is 'fn (i32) void' here, the layout exports it as 'fn (i16) void'"));
  EXPECT_THAT(errors("[*]f32", "fn x() void {}\ncomptime { @export_symbol(x); }\n"),
              HasSubstr("'x' is 'fn () void' here, the layout exports it as '[*]f32'"));
}

TEST(LayoutDiagnostics, RoutesThatLeadNowhere) {
  const std::string start =
      "const c = @get_color(3);\nlayout {\n@set_rectangle(3, 1);\nfor (@range(i16, 3)) |x| { "
      "@set_tile_code(x, 0, \"pe.csl\"); }\n";
  const std::string first = "@set_color_config(0, 0, c, .{ .routes = .{ .rx = .{RAMP}, .tx = .{EAST} } });\n";
  const auto errors = [&](const std::string& rest) {
    return warnings_of({{"layout.csl", start + first + rest + "}\n"}, {"pe.csl", ""}});
  };
  EXPECT_THAT(errors(""),
              HasSubstr("layout.csl:5:28: warning: color 3 leaves PE (0, 0) to the east and leads nowhere: "
                        "PE (1, 0) has no route for this color"));
  EXPECT_THAT(errors("@set_color_config(1, 0, c, .{ .routes = .{ .rx = .{EAST}, .tx = .{RAMP} } });\n"),
              HasSubstr("PE (1, 0) does not take it from the west"));
  EXPECT_THAT(errors("@set_color_config(1, 0, c, .{ .routes = .{ .rx = .{EAST}, .tx = .{RAMP} } });\n"),
              HasSubstr("layout.csl:6:28: note: its route is set here"));
}

}  // namespace
}  // namespace cs::csl::test
