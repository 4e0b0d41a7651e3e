// Tokens of CSL.
//
// The whole text is cut into a vector of tokens: white space goes, comments too unless asked for, a token
// keeps its text (a view into the source) and position, numbers and strings are decoded later by the parser.
// Errors (stray characters, strings without an end) are reported here and give a token of kind `error`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/support/diag.h"

namespace cs::csl {

enum class Tok : uint8_t {
  end,
  error,
  identifier,
  builtin,
  integer,
  floating,
  string,
  character,
  // punctuation
  l_paren,
  r_paren,
  l_brace,
  r_brace,
  l_bracket,
  r_bracket,
  comma,
  semicolon,
  colon,
  dot,
  dot_star,
  ellipsis,
  arrow,
  fat_arrow,
  pipe,
  question,
  plus,
  minus,
  star,
  slash,
  percent,
  amp,
  caret,
  tilde,
  bang,
  shl,
  shr,
  assign,
  plus_assign,
  minus_assign,
  star_assign,
  slash_assign,
  percent_assign,
  amp_assign,
  pipe_assign,
  caret_assign,
  shl_assign,
  shr_assign,
  eq,
  ne,
  lt,
  le,
  gt,
  ge,
  // keywords
  kw_align,
  kw_and,
  kw_anytype,
  kw_break,
  kw_comptime,
  kw_const,
  kw_continue,
  kw_else,
  kw_enum,
  kw_export,
  kw_extern,
  kw_false,
  kw_fn,
  kw_for,
  kw_if,
  kw_inline,
  kw_layout,
  kw_linkname,
  kw_linksection,
  kw_null,
  kw_or,
  kw_packed,
  kw_param,
  kw_return,
  kw_struct,
  kw_switch,
  kw_task,
  kw_true,
  kw_undefined,
  kw_union,
  kw_var,
  kw_while,
};

struct Token {
  Tok kind = Tok::end;
  std::string_view text;  // builtin: without the @; string, character: with the quotes
  SourceLoc loc;
};

// A comment from // to the end of its line, without blanks at the end; it stands before token `next`.
struct Comment {
  std::string_view text;
  SourceLoc loc;
  uint32_t next = 0;
};

// The last token is always `end`. The views are good until another text is added to diag.sources.
std::vector<Token> lex(uint32_t source, Diag&, std::vector<Comment>* comments = nullptr);

// How messages call a token: "';'", "'while'", "a number", "the end of the file".
std::string describe(const Token&);
std::string describe(Tok);

// Decodes the escapes of a string or character token: \n \t \r \\ \' \" \0 \xHH. Reports what is wrong.
std::string decode_string(const Token&, Diag&);

}  // namespace cs::csl
