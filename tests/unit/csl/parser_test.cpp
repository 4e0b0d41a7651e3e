// Syntax trees: what binds to what, every form of the language by round trip, and the wording of errors.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "compiler/csl/ast.h"

namespace cs::csl {
namespace {

using namespace ast;

// The value of `const x = TEXT;`, printed again.
std::string round(const std::string& text) {
  Diag diag;
  auto file = parse(diag.sources.add("t.csl", "const x = " + text + ";"), diag);
  if (!file) return diag.to_string();
  return print(as<Variable>(file->decls.at(0)).value);
}

std::string errors(const std::string& text) {
  Diag diag;
  auto file = parse(diag.sources.add("t.csl", text), diag);
  EXPECT_EQ(file, nullptr);
  return diag.to_string();
}

TEST(Parser, Precedence) {
  EXPECT_EQ(round("(a + (b * c))"), "a + b * c");
  EXPECT_EQ(round("(a + b) * c"), "(a + b) * c");
  EXPECT_EQ(round("a - (b - c)"), "a - (b - c)");
  EXPECT_EQ(round("((a - b) - c)"), "a - b - c");
  EXPECT_EQ(round("(a & b) == c"), "a & b == c");  // & binds tighter than ==, as in Zig
  EXPECT_EQ(round("a & (b == c)"), "a & (b == c)");
  EXPECT_EQ(round("(a << 2) & 3"), "a << 2 & 3");
  EXPECT_EQ(round("((not_a and b) or c)"), "not_a and b or c");
  EXPECT_EQ(round("-(a.b)"), "-a.b");
  EXPECT_EQ(round("(-a).b"), "(-a).b");
  EXPECT_EQ(round("&(a[i])"), "&a[i]");
}

TEST(Parser, BinaryTreeShape) {
  Diag diag;
  auto file = parse(diag.sources.add("t.csl", "const x = 1 + 2 * 3;"), diag);
  ASSERT_TRUE(file) << diag.to_string();
  const Binary& sum = as<Binary>(as<Variable>(file->decls[0]).value);
  EXPECT_EQ(sum.op, BinaryOp::add);
  EXPECT_EQ(sum.loc.column, 13u);  // the operator
  EXPECT_EQ(as<Integer>(sum.left).value, 1u);
  EXPECT_EQ(as<Binary>(sum.right).op, BinaryOp::mul);
}

TEST(Parser, Literals) {
  Diag diag;
  auto file = parse(
      diag.sources.add("t.csl",
                       "const a = 0xffff_ffff_ffff_ffff; const b = 0b1010; const c = 'A'; const d = 2.5e2;"
                       "const e = 340282366920938463463374607431768211455;"),
      diag);
  ASSERT_TRUE(file) << diag.to_string();
  auto value = [&](size_t i) { return as<Variable>(file->decls[i]).value; };
  EXPECT_EQ(as<Integer>(value(0)).value, ~uint64_t(0));
  EXPECT_EQ(as<Integer>(value(1)).value, 10u);
  EXPECT_EQ(as<Integer>(value(2)).value, 65u);
  EXPECT_EQ(as<Floating>(value(3)).value, 250.0);
  EXPECT_TRUE(as<Integer>(value(4)).value == ~static_cast<unsigned __int128>(0));
}

TEST(Parser, TensorAccess) {
  Diag diag;
  auto file = parse(diag.sources.add("t.csl", "const x = |i, j|{4, n} -> a[j, 2 * i];"), diag);
  ASSERT_TRUE(file) << diag.to_string();
  const TensorAccess& t = as<TensorAccess>(as<Variable>(file->decls[0]).value);
  EXPECT_EQ(t.variables, (std::vector<std::string>{"i", "j"}));
  EXPECT_EQ(t.extents.size(), 2u);
  EXPECT_EQ(as<Index>(t.body).indices.size(), 2u);
}

TEST(Parser, ElseBelongsToTheInnerIf) {
  Diag diag;
  auto file = parse(diag.sources.add("t.csl", "fn f() void { if (a) if (b) x = 1; else x = 2; }"), diag);
  ASSERT_TRUE(file) << diag.to_string();
  const If& outer = as<If>(as<Function>(file->decls[0]).body->body[0]);
  EXPECT_EQ(outer.otherwise, nullptr);
  EXPECT_NE(as<If>(outer.then).otherwise, nullptr);
}

TEST(Parser, KeywordsAreFieldNames) {
  EXPECT_EQ(round(".{ .task = a.layout, .align = 2 }"), ".{ .task = a.layout, .align = 2 }");
}

TEST(Parser, EveryFormSurvivesPrinting) {
  std::ifstream in(CS_SOURCE_DIR "/tests/fuzz/corpus/csl_parser/everything.csl");
  std::stringstream text;
  text << in.rdbuf();
  ASSERT_GT(text.str().size(), 1000u);
  Diag diag;
  auto file = parse(diag.sources.add("everything.csl", text.str()), diag);
  ASSERT_TRUE(file) << diag.to_string();
  EXPECT_EQ(file->decls.size(), 24u);
  std::string printed = print(*file);
  auto again = parse(diag.sources.add("printed.csl", printed), diag);
  ASSERT_TRUE(again) << diag.to_string() << printed;
  EXPECT_EQ(print(*again), printed);
  // Nothing is lost: without blanks, comments and parentheses both texts have the same length of names and
  // numbers.
  auto words = [](const std::string& t) {
    size_t count = 0;
    bool comment = false;
    for (size_t i = 0; i < t.size(); ++i) {
      if (t.compare(i, 2, "//") == 0) comment = true;
      if (t[i] == '\n') comment = false;
      bool word = std::isalnum(static_cast<unsigned char>(t[i])) != 0;
      bool before = i > 0 && std::isalnum(static_cast<unsigned char>(t[i - 1])) != 0;
      count += !comment && word && !before;
    }
    return count;
  };
  EXPECT_NEAR(double(words(text.str())), double(words(printed)), 2);  // \t and 'a' are printed otherwise
}

TEST(ParserErrors, MissingSemicolonIsReportedBehindTheStatement) {
  EXPECT_EQ(errors("fn f() void {\n  x = 1\n  y = 2;\n}\n"),
            "t.csl:2:8: error: expected ';' after the statement, found 'y'\n"
            "      x = 1\n"
            "           ^\n");
}

TEST(ParserErrors, SeveralInOneRun) {
  std::string text = errors(
      "const a = ;\n"
      "fn f(x i16) void {}\n"
      "fn g() void {\n"
      "  var y;\n"
      "  z = 1 +;\n"
      "  while x < 3 {}\n"
      "  ok();\n"
      "}\n"
      "task t() {}\n");
  EXPECT_NE(text.find("t.csl:1:11: error: expected an expression, found ';'"), std::string::npos) << text;
  EXPECT_NE(text.find("t.csl:2:8: error: expected ':' and a type after the parameter name, found 'i16'"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("t.csl:4:8: error: variable 'y' has neither type nor value"), std::string::npos)
      << text;
  EXPECT_NE(text.find("t.csl:5:10: error: expected an expression, found ';'"), std::string::npos) << text;
  EXPECT_NE(text.find("t.csl:6:9: error: expected '(' after 'while', found 'x'"), std::string::npos) << text;
  EXPECT_NE(text.find("t.csl:9:10: error: 't' has no result type"), std::string::npos) << text;
}

TEST(ParserErrors, LostBraceIsFoundAtTheNextFunction) {
  std::string text = errors("fn f() void {\n  if (a) {\n    x();\n}\nfn g() void {}\n");
  EXPECT_NE(text.find("t.csl:1:13: error: this block is not closed before 'fn' in line 5"), std::string::npos)
      << text;
}

TEST(ParserErrors, MixedAndDoubleFields) {
  EXPECT_NE(errors("const x = .{ .a = 1, 2 };").find("named and positional elements are mixed"),
            std::string::npos);
  EXPECT_NE(errors("const x = .{ .a = 1, .a = 2 };").find("field 'a' is given twice"), std::string::npos);
  EXPECT_NE(errors("const x = a < b < c;").find("comparisons do not chain"), std::string::npos);
  EXPECT_NE(errors("const x = |i, j|{4} -> a[i];").find("2 index variables, but 1 extents"),
            std::string::npos);
  EXPECT_NE(errors("const x = 0b102;").find("'2' in '0b102' is not a digit of a number in base 2"),
            std::string::npos);
}

TEST(ParserErrors, DepthAndLengthAreLimited) {
  std::string deep = "const x = " + std::string(5000, '(') + "1" + std::string(5000, ')') + ";";
  EXPECT_NE(errors(deep).find("nested too deeply"), std::string::npos);
  std::string chain = "const x = 1";
  for (int i = 0; i < 5000; ++i) chain += " + 1";
  EXPECT_NE(errors(chain + ";").find("too long"), std::string::npos);
  std::string accesses = "const x = a";
  for (int i = 0; i < 5000; ++i) accesses += ".b";
  EXPECT_NE(errors(accesses + ";").find("too many accesses"), std::string::npos);
}

}  // namespace
}  // namespace cs::csl
