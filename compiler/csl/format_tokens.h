// What the steps of the formatter share; private to format*.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/csl/format.h"
#include "compiler/csl/syntax.h"

namespace cs::csl {

// One token and what will stand before it.
struct Piece {
  Tok kind = Tok::end;
  std::string_view text;  // as in the source, a builtin with its @
  uint16_t marks = 0;
  uint32_t match = 0;                   // of a bracket: its partner; else itself
  bool line_break = false;              // begins a line
  bool blank = false;                   // a blank line stands before it, and before its comments
  bool captured = false;                // stands between the bars of a capture
  bool wide = false;                    // a list with names: blanks inside its braces
  std::vector<std::string_view> above;  // comments on lines of their own before it
  std::vector<uint8_t> above_blank;     // whether a blank line precedes each
  std::string_view trailing;            // comment behind it on its line

  bool is(uint16_t mark) const { return (marks & mark) != 0; }
  bool opens() const { return kind == Tok::l_paren || kind == Tok::l_bracket || kind == Tok::l_brace; }
  bool closes() const { return kind == Tok::r_paren || kind == Tok::r_bracket || kind == Tok::r_brace; }
};
using Pieces = std::vector<Piece>;

// Blanks between two tokens of one line (format_spaces.cpp).
bool space_between(const Pieces&, size_t left, size_t right);
// Whether a token may begin a line because its author or the width wants it (format_breaks.cpp).
bool may_break_before(const Pieces&, size_t at);
// Line breaks that the rules want and those of the author that they allow.
void choose_breaks(Pieces&);
void break_block(Pieces&, size_t open);  // its statements or cases, and what belongs to the same if
void close_like_open(Pieces&);           // a closing bracket begins a line if what its partner opens does

// A line of the result: tokens [begin, end), where they stand.
struct Line {
  size_t begin = 0, end = 0;
  int indent = 0, width = 0;  // width: of all tokens, indentation included
};
std::vector<Line> lay_out(const Pieces&,
                          std::vector<int>& columns);  // format_lines.cpp; columns: one per token
std::string write(const Pieces&, const std::vector<Line>&, int width);
// Breaks lines that are too long; false: there was nothing to break (format_width.cpp).
bool break_long_lines(Pieces&, const std::vector<Line>&, const std::vector<int>& columns, int width);

}  // namespace cs::csl
