// Where lines begin: what the rules want, and what the author wants where the rules allow it.
//
//  1. Declarations and statements begin lines, but for a block of one statement that stands on one line. Of
//  the blocks
//     of one if all do or none does.
//  2. The author's breaks stay where may_break_before allows them; behind a comment there is always one.
//  3. Switch cases: all begin lines, or none.
//  4. A closing bracket begins a line if and only if its contents do.
#include "compiler/csl/format_tokens.h"

namespace cs::csl {
namespace {

bool has_comment(const Pieces& p, size_t begin, size_t end) {  // before a token of [begin, end), or behind it
  for (size_t i = begin; i < end; ++i)
    if (!p[i].above.empty() || (i + 1 < end && !p[i].trailing.empty())) return true;
  return false;
}

// Statements directly in the block that opens here.
int statements(const Pieces& p, size_t open) {
  int count = 0;
  for (size_t i = open + 1; i < p[open].match; ++i) {
    if (p[i].is(mark::begin)) ++count;
    if (p[i].opens()) i = p[i].match;
  }
  return count;
}

bool stays_on_line(const Pieces& p, size_t open) {
  const size_t close = p[open].match;
  for (size_t i = open + 1; i <= close; ++i)
    if (p[i].line_break) return false;
  return !has_comment(p, open, close + 1) && p[open].trailing.empty() && statements(p, open) <= 1;
}

bool forced(const Pieces& p, size_t i) {
  return !p[i].above.empty() || (i > 0 && !p[i - 1].trailing.empty());
}

void break_one(Pieces& p, size_t open) {
  const size_t close = p[open].match;
  if (close == open + 1) return;
  p[open + 1].line_break = p[close].line_break = true;
  for (size_t i = open + 1; i < close; ++i) {
    if (p[i].is(mark::begin) && p[i].kind != Tok::semicolon) p[i].line_break = true;
    if (p[i].opens()) i = p[i].match;
  }
}

// The block behind the `else` that follows this one; 0: there is none.
size_t next_of_if(const Pieces& p, size_t open) {
  size_t i = p[open].match + 1;
  if (i + 1 >= p.size() || p[i].kind != Tok::kw_else) return 0;
  ++i;
  if (p[i].kind == Tok::kw_if) i = p[i + 1].match + 1;
  return i < p.size() && p[i].is(mark::block) ? i : 0;
}

bool is_broken(const Pieces& p, size_t open) {
  for (size_t i = open + 1; i <= p[open].match; ++i)
    if (p[i].line_break) return true;
  return false;
}

void settle_if(Pieces& p, size_t open) {
  bool broken = false;
  for (size_t i = open; i != 0; i = next_of_if(p, i)) broken |= is_broken(p, i);
  if (broken) break_block(p, open);
}

}  // namespace

void break_block(Pieces& p, size_t open) {
  break_one(p, open);
  if (!p[open].is(mark::block)) return;
  const size_t behind = p[open].match + 1;
  if (behind < p.size() && p[behind].kind == Tok::kw_else && !forced(p, behind)) p[behind].line_break = false;
  if (const size_t next = next_of_if(p, open); next != 0) break_block(p, next);
}

bool may_break_before(const Pieces& p, size_t at) {
  const Piece &left = p[at - 1], &right = p[at];
  if (right.is(mark::tight | mark::capture_close | mark::prongs | mark::members | mark::list |
               mark::extents) &&
      right.kind != Tok::dot)
    return false;
  if (right.captured || left.is(mark::prefix | mark::capture_open | mark::extents)) return false;
  switch (left.kind) {
    case Tok::semicolon:
    case Tok::l_brace:
      return true;
    case Tok::l_paren:
    case Tok::l_bracket:
      return !right.closes();
    case Tok::comma:
      return !right.closes() || right.kind == Tok::r_brace;
    default:
      break;
  }
  switch (right.kind) {
    case Tok::kw_else:
      return true;
    case Tok::kw_and:
    case Tok::kw_or:
    case Tok::plus:
    case Tok::minus:
    case Tok::star:
    case Tok::slash:
    case Tok::percent:
    case Tok::amp:
    case Tok::pipe:
    case Tok::caret:
    case Tok::shl:
    case Tok::shr:
    case Tok::eq:
    case Tok::ne:
    case Tok::lt:
    case Tok::le:
    case Tok::gt:
    case Tok::ge:
      return !right.is(mark::prefix | mark::capture_open) ||
             (left.kind >= Tok::plus && left.kind <= Tok::ge) || left.kind == Tok::kw_and ||
             left.kind == Tok::kw_or;
    case Tok::dot:
      if (right.is(mark::tight)) return true;
      break;
    case Tok::r_brace:
      return true;
    case Tok::l_brace:
    case Tok::semicolon:
    case Tok::comma:
      return false;
    default:
      break;
  }
  const bool behind_operator =
      left.kind == Tok::pipe ? !left.is(mark::capture_open) : left.kind >= Tok::plus && left.kind <= Tok::ge;
  return right.is(mark::body) || behind_operator || left.kind == Tok::kw_and || left.kind == Tok::kw_or ||
         left.kind == Tok::arrow || left.kind == Tok::fat_arrow;
}

void close_like_open(Pieces& p) {
  for (size_t i = 0; i < p.size(); ++i) {
    if (!p[i].opens() || p[i].match == i + 1) continue;
    Piece& close = p[p[i].match];
    if (!forced(p, p[i].match)) close.line_break = p[i + 1].line_break;
  }
}

void choose_breaks(Pieces& p) {
  for (size_t i = 0; i < p.size(); ++i) {
    if (i == 0 || p[i].kind == Tok::end || forced(p, i)) {
      p[i].line_break = true;
    } else if (p[i].line_break) {
      p[i].line_break = may_break_before(p, i);
    }
  }
  for (size_t i = 0; i < p.size(); ++i) {
    if (p[i].is(mark::begin) && p[i].kind != Tok::semicolon) p[i].line_break = true;
    if (p[i].opens()) i = p[i].match;
  }
  for (size_t i = p.size(); i-- > 0;) {  // what is inside first: a broken block breaks those around it
    if (p[i].kind != Tok::l_brace || p[i].match == i + 1) continue;
    if (p[i].is(mark::block) && !stays_on_line(p, i)) break_block(p, i);
    if (p[i].is(mark::block)) settle_if(p, i);
    if (p[i].is(mark::prongs) && is_broken(p, i)) break_block(p, i);
    if (p[i].is(mark::list | mark::members) && p[p[i].match].line_break) p[i + 1].line_break = true;
  }
  close_like_open(p);
  for (size_t i = 0; i < p.size(); ++i)  // no blank lines at the edges of brackets
    if (p[i].closes() || (i > 0 && p[i - 1].opens() && p[i].above.empty())) p[i].blank = false;
}

}  // namespace cs::csl
