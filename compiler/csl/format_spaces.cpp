// Blanks between the tokens of a line.
#include "compiler/csl/format_tokens.h"

namespace cs::csl {
namespace {

// Between a brace and what it holds.
bool inside_brace(const Piece& brace) {
  if (brace.is(mark::extents)) return false;
  return !brace.is(mark::list) || brace.wide;
}

bool space_before_brace(const Pieces& p, size_t left, size_t right) {
  const Piece& brace = p[right];
  if (brace.is(mark::list) || brace.is(mark::extents)) {
    // S{…}, [2]f32{…}, .{…}, |i|{…}
    return false;
  }
  return p[left].kind != Tok::dot;
}

bool space_before_paren(const Pieces& p, size_t left, size_t right) {
  if (p[right].is(mark::tight)) return false;
  switch (p[left].kind) {
    case Tok::identifier:
    case Tok::builtin:
    case Tok::kw_align:
    case Tok::kw_linkname:
    case Tok::kw_linksection:
    case Tok::kw_struct:
    case Tok::kw_union:
    case Tok::kw_enum:
      return false;
    default:
      return true;
  }
}

// `while (c) : (i += 1)` has blanks around its colon, `break :label` before it, all others behind it.
bool label_follows(const Pieces& p, size_t colon) {
  return colon > 0 && (p[colon - 1].kind == Tok::kw_break || p[colon - 1].kind == Tok::kw_continue);
}

// Nothing stands between these and what follows, whatever that is.
bool sticks_to_next(const Pieces& p, size_t left) {
  switch (p[left].kind) {
    case Tok::l_paren:
    case Tok::l_bracket:
    case Tok::dot:
    case Tok::bang:
    case Tok::tilde:
    case Tok::ellipsis:
      return true;
    case Tok::l_brace:
      return !inside_brace(p[left]);
    case Tok::r_bracket:  // of an array type or pointer to many; not of an index
      return !p[p[left].match].is(mark::tight);
    case Tok::colon:
      return label_follows(p, left);
    default:
      return p[left].is(mark::prefix) || p[left].is(mark::capture_open);
  }
}

bool sticks_to_previous(const Pieces& p, size_t left, size_t right) {
  switch (p[right].kind) {
    case Tok::comma:
    case Tok::semicolon:
    case Tok::r_paren:
    case Tok::r_bracket:
    case Tok::dot_star:
    case Tok::ellipsis:
      return true;
    case Tok::r_brace:
      return !inside_brace(p[p[right].match]) || p[right].match == left;
    case Tok::colon:
      return p[left].kind != Tok::r_paren && !label_follows(p, right);
    case Tok::l_paren:
      return !space_before_paren(p, left, right);
    case Tok::l_brace:
      return !space_before_brace(p, left, right);
    default:
      return p[right].is(mark::tight) || p[right].is(mark::capture_close);
  }
}

}  // namespace

bool space_between(const Pieces& p, size_t left, size_t right) {
  // Numbers such as `1.` would take up the dots that follow.
  if (p[right].kind == Tok::ellipsis && p[left].kind == Tok::floating && p[left].text.ends_with('.'))
    return true;
  return !sticks_to_next(p, left) && !sticks_to_previous(p, left, right);
}

}  // namespace cs::csl
