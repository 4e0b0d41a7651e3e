// Tokens: kinds, positions, numbers and strings at their edges.
#include "compiler/csl/lexer.h"

#include <gtest/gtest.h>

namespace cs::csl {
namespace {

std::vector<Token> tokens_of(Diag& diag, const std::string& text) {
  return lex(diag.sources.add("t.csl", text), diag);
}

std::vector<Tok> kinds(const std::string& text) {
  Diag diag;
  std::vector<Tok> out;
  for (const Token& t : tokens_of(diag, text)) out.push_back(t.kind);
  EXPECT_TRUE(diag.ok()) << diag.to_string();
  return out;
}

TEST(Lexer, LongestPunctuationWins) {
  EXPECT_EQ(kinds("<<= << <= < .* . ... -> =>"),
            (std::vector{Tok::shl_assign, Tok::shl, Tok::le, Tok::lt, Tok::dot_star, Tok::dot, Tok::ellipsis,
                         Tok::arrow, Tok::fat_arrow, Tok::end}));
}

TEST(Lexer, KeywordsAreWholeWords) {
  EXPECT_EQ(kinds("for format fn fnord task _task"),
            (std::vector{Tok::kw_for, Tok::identifier, Tok::kw_fn, Tok::identifier, Tok::kw_task,
                         Tok::identifier, Tok::end}));
}

TEST(Lexer, RangesAndAccessesEndNumbers) {
  EXPECT_EQ(kinds("3...5"), (std::vector{Tok::integer, Tok::ellipsis, Tok::integer, Tok::end}));
  EXPECT_EQ(kinds("1.5e-3"), (std::vector{Tok::floating, Tok::end}));
  EXPECT_EQ(kinds("0xe+1"), (std::vector{Tok::integer, Tok::plus, Tok::integer, Tok::end}));
  EXPECT_EQ(kinds("a.b.*"),
            (std::vector{Tok::identifier, Tok::dot, Tok::identifier, Tok::dot_star, Tok::end}));
}

TEST(Lexer, Positions) {
  Diag diag;
  std::vector<Token> t = tokens_of(diag, "a // comment\n  @bc(1)\n");
  ASSERT_EQ(t.size(), 6u);
  EXPECT_EQ(t[0].loc.line, 1u);
  EXPECT_EQ(t[1].text, "bc");
  EXPECT_EQ(t[1].loc.line, 2u);
  EXPECT_EQ(t[1].loc.column, 3u);  // under the @
  EXPECT_EQ(t[2].loc.column, 6u);
  EXPECT_EQ(t[5].loc.line, 3u);
}

TEST(Lexer, StringEscapes) {
  Diag diag;
  std::vector<Token> t = tokens_of(diag, R"("a\n\x41\0\"")");
  EXPECT_EQ(decode_string(t[0], diag), std::string("a\nA\0\"", 5));
  EXPECT_TRUE(diag.ok());
  std::vector<Token> bad = tokens_of(diag, R"("\q")");
  decode_string(bad[0], diag);
  EXPECT_EQ(diag.errors(), 1u);
}

TEST(Lexer, StrayBytesAndOpenStringsAreReportedOnce) {
  Diag diag;
  tokens_of(diag, "a # b \"open\n c \xc3\xa4\xc3\xb6");
  ASSERT_EQ(diag.errors(), 3u);
  EXPECT_EQ(diag.all()[0].message, "'#' is not part of CSL");
  EXPECT_EQ(diag.all()[0].loc.column, 3u);
  EXPECT_EQ(diag.all()[1].message, "string has no closing quote");
}

}  // namespace
}  // namespace cs::csl
