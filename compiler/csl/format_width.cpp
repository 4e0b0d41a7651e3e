// Breaks lines that are too long: the outermost list that helps, at the last place that fits.
//
//  1. A block that stands on one line is opened up.
//  2. A list or call at the end of the line whose braces reach beyond the limit: its contents get lines of
//  their own.
//  3. Else the line breaks at the outermost comma, then `and` and `or`, then other operators, that still
//  fits, and if
//     none does at the first one.
#include <algorithm>

#include "compiler/csl/format_tokens.h"

namespace cs::csl {
namespace {

bool ends_within(const Pieces& p, size_t open, const Line& line) { return p[open].match < line.end; }

bool open_block(Pieces& p, const Line& line) {
  for (size_t i = line.begin; i < line.end; ++i) {
    const bool on_line = p[i].is(mark::block | mark::prongs) && ends_within(p, i, line) && p[i].match > i + 1;
    if (!on_line) continue;
    break_block(p, i);
    return true;
  }
  return false;
}

// Closing brackets, commas, semicolons and the brace of a block are all that follows.
bool only_ends_follow(const Pieces& p, size_t from, const Line& line) {
  for (size_t i = from; i < line.end; ++i)
    if (!p[i].closes() && !p[i].is(mark::block) && p[i].kind != Tok::semicolon && p[i].kind != Tok::comma)
      return false;
  return true;
}

void break_at_commas(Pieces& p, size_t open) {
  for (size_t i = open + 1; i < p[open].match; ++i) {
    if (p[i].opens()) i = p[i].match;
    if (p[i].kind == Tok::comma && i + 1 < p[open].match) p[i + 1].line_break = true;
  }
}

bool open_list(Pieces& p, const Line& line, const std::vector<int>& columns, int width) {
  for (size_t i = line.begin; i < line.end; ++i) {
    const bool list = p[i].is(mark::list | mark::members) && p[i].match > i + 1 && ends_within(p, i, line);
    if (!list) continue;
    const size_t close = p[i].match;
    if (columns[i] >= width || !only_ends_follow(p, close + 1, line)) {
      i = close;  // those inside are deeper
      continue;
    }
    p[i + 1].line_break = p[close].line_break = true;
    if (p[i].is(mark::members)) break_at_commas(p, i);
    return true;
  }
  return false;
}

// The lower the better; -1: no place for a break.
int cost(const Pieces& p, size_t at) {
  if (!may_break_before(p, at) || p[at].closes()) return -1;
  const Tok left = p[at - 1].kind, right = p[at].kind;
  if (left == Tok::comma || right == Tok::kw_else) return 0;
  if (p[at].is(mark::body) || left == Tok::kw_and || left == Tok::kw_or) return 1;
  if (left == Tok::assign) return 4;
  if (left == Tok::l_paren || left == Tok::l_bracket || left == Tok::l_brace) return 6;
  if (right == Tok::dot) return -1;
  const bool behind_operator = left == Tok::pipe || (left >= Tok::plus && left <= Tok::ge);
  if (behind_operator) return left >= Tok::eq ? 2 : 3;
  return left == Tok::arrow || left == Tok::fat_arrow ? 5 : -1;
}

bool break_at_best(Pieces& p, const Line& line, const std::vector<int>& columns, int width) {
  size_t best = 0;
  int best_cost = 1 << 30, depth = 0;
  bool best_fits = false;
  for (size_t i = line.begin; i < line.end; ++i) {
    if (p[i].closes()) --depth;
    if (i > line.begin) {
      const int here = cost(p, i);
      const int total = here + 10 * std::max(depth, 0);
      // What stands left of the break fits, unless nothing does.
      const bool fits = columns[i - 1] + int(p[i - 1].text.size()) <= width;
      const bool better = best == 0 || (fits && (!best_fits || total <= best_cost));
      // A break that moves the rest no further to the left gains nothing.
      if (here >= 0 && columns[i] > line.indent + 4 && better) best = i, best_cost = total, best_fits = fits;
    }
    if (p[i].opens()) ++depth;
  }
  if (best == 0) return false;
  p[best].line_break = true;
  return true;
}

}  // namespace

bool break_long_lines(Pieces& p, const std::vector<Line>& lines, const std::vector<int>& columns, int width) {
  bool changed = false;
  for (const Line& line : lines)
    if (line.width > width)
      changed |=
          open_block(p, line) || open_list(p, line, columns, width) || break_at_best(p, line, columns, width);
  if (changed) close_like_open(p);
  return changed;
}

}  // namespace cs::csl
