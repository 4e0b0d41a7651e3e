// The formatter: what moves, what stays, comments, widths. Every text is formatted twice.
#include "compiler/csl/format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cs::csl {
namespace {

std::string formatted(const std::string& text, int width = 120) {
  Diag diag;
  const std::optional<std::string> once = format(diag.sources.add("a.csl", text), diag, {width});
  EXPECT_TRUE(once) << diag.to_string();
  if (!once) return {};
  const std::optional<std::string> twice = format(diag.sources.add("b.csl", *once), diag, {width});
  EXPECT_EQ(once, twice) << "formatting again changes the text";
  return *once;
}

TEST(Format, SpacesAndLines) {
  EXPECT_EQ(formatted("param n:u16;const a=[_]u16 { 1,2 };var p : [ * ]const f32=&b ;"),
            "param n: u16;\nconst a = [_]u16{1, 2};\nvar p: [*]const f32 = &b;\n");
  EXPECT_EQ(formatted("fn f ( x:i16 )i16{return -x*( 2+ ~x );}"),
            "fn f(x: i16) i16 { return -x * (2 + ~x); }\n");
  EXPECT_EQ(formatted("fn f() void { a(); b(); }"), "fn f() void {\n  a();\n  b();\n}\n");
  EXPECT_EQ(
      formatted("const F=fn(i16)void;const d=@get_dsd(mem1d_dsd,.{.tensor_access=|i|{ n }->a[ i+1 ]});"),
      "const F = fn (i16) void;\nconst d = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{n} -> a[i + 1] });\n");
  EXPECT_EQ(formatted("fn f() void { l: while(a):(i+=1) { for (r)|*v,k| break:l; } }"),
            "fn f() void { l: while (a) : (i += 1) { for (r) |*v, k| break :l; } }\n");
  EXPECT_EQ(formatted(""), "");
}

TEST(Format, TheAuthorsLinesStay) {
  EXPECT_EQ(formatted("const a = [4]u16{1, 2,\n3, 4};\n"),
            "const a = [4]u16{1, 2,\n                 3, 4};\n");
  EXPECT_EQ(formatted("const a = .{\n.b = 1, .c = 2 };\n"), "const a = .{\n  .b = 1, .c = 2\n};\n");
  EXPECT_EQ(formatted("const a =\n  1;\n\n\n\nconst b = 2;\n\n\n"), "const a =\n    1;\n\nconst b = 2;\n");
  EXPECT_EQ(formatted("fn f() void\n{\n\n  if (a)\n    b();\n  else\n    c();\n\n}\n"),
            "fn f() void {\n  if (a)\n    b();\n  else\n    c();\n}\n");
}

TEST(Format, BlocksOfOneIfAreAlike) {
  EXPECT_EQ(formatted("fn f() void {\n  if (a) { b(); }\n  else if (c) { d(); }\n  else { e(); }\n}\n"),
            "fn f() void {\n  if (a) { b(); }\n  else if (c) { d(); }\n  else { e(); }\n}\n");
  EXPECT_EQ(formatted("fn f() void {\n  if (a) { b(); }\n  else { c(); d(); }\n}\n"),
            "fn f() void {\n  if (a) {\n    b();\n  } else {\n    c();\n    d();\n  }\n}\n");
}

TEST(Format, CommentsStay) {
  EXPECT_EQ(
      formatted("//head\n\nparam a: u16; // one\nparam long: u16;//two\n\n\n// own\nparam b: u16;\n//tail"),
      "//head\n\nparam a: u16;     // one\nparam long: u16;  //two\n\n// own\nparam b: u16;\n//tail\n");
  EXPECT_EQ(formatted("fn f() void { // why\n  a(b, // first\n  // before c\n  c);\n  // last\n}"),
            "fn f() void {  // why\n  a(b,  // first\n    // before c\n    c);\n  // last\n}\n");
  EXPECT_EQ(formatted("fn f() void { if (a) { b(); } // x\n else { c(); } }"),
            "fn f() void {\n  if (a) { b(); }  // x\n  else { c(); }\n}\n");
  EXPECT_EQ(formatted("const a = .{ // nothing\n};\n// only"), "const a = .{  // nothing\n};\n// only\n");
  EXPECT_EQ(formatted("// windows\r\nparam a: u16; // b\r\n"), "// windows\nparam a: u16;  // b\n");
}

TEST(Format, LongLinesBreak) {
  EXPECT_EQ(
      formatted("const x = @get_dsd(fabin_dsd, .{ .extent = n, .fabric_color = in, .input_queue = q });", 60),
      "const x = @get_dsd(fabin_dsd, .{\n  .extent = n, .fabric_color = in, .input_queue = q\n});\n");
  EXPECT_EQ(formatted("fn add(first: i16, second: i16, third: i16) void { a(); }", 40),
            "fn add(first: i16, second: i16,\n       third: i16) void {\n  a();\n}\n");
  EXPECT_EQ(formatted("const yes = aaaaaaaaaaaaaaaa and bbbbbbbbbbbbbbbbb and cccccccccc;", 50),
            "const yes = aaaaaaaaaaaaaaaa and\n    bbbbbbbbbbbbbbbbb and cccccccccc;\n");
  EXPECT_EQ(formatted("const s = \"a string that is longer than the line, which nothing breaks\";", 40),
            "const s =\n    \"a string that is longer than the line, which nothing breaks\";\n");
}

TEST(Format, SyntaxErrorsAreReported) {
  Diag diag;
  EXPECT_FALSE(format(diag.sources.add("a.csl", "const a = ;\n"), diag));
  EXPECT_THAT(diag.to_string(), testing::HasSubstr("a.csl:1:11: error: expected an expression"));
}

}  // namespace
}  // namespace cs::csl
