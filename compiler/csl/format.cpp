// The formatter: tokens with their comments; where lines break; how far they are indented; text.
#include "compiler/csl/format.h"

#include <fmt/format.h>

#include "compiler/csl/format_tokens.h"

namespace cs::csl {
namespace {

void match_brackets(Pieces& pieces) {
  std::vector<uint32_t> open;
  for (uint32_t i = 0; i < pieces.size(); ++i) {
    pieces[i].match = i;
    if (pieces[i].opens()) open.push_back(i);
    if (!pieces[i].closes()) continue;
    CS_CHECK(!open.empty(), "brackets match in a text that parses");
    pieces[i].match = open.back();
    pieces[open.back()].match = i;
    open.pop_back();
  }
  CS_CHECK(open.empty(), "brackets match in a text that parses");
}

// The text of a builtin with its @.
std::string_view text_of(const Token& token) {
  return token.kind == Tok::builtin ? std::string_view(token.text.data() - 1, token.text.size() + 1)
                                    : token.text;
}

void add_comments(const Syntax& syntax, Pieces& pieces) {
  uint32_t line = 0;  // of the last token or comment
  size_t c = 0;
  for (size_t i = 0; i < pieces.size(); ++i) {
    Piece& piece = pieces[i];
    for (; c < syntax.comments.size() && syntax.comments[c].next == i; ++c) {
      const Comment& comment = syntax.comments[c];
      if (i > 0 && comment.loc.line == line && piece.above.empty()) {
        pieces[i - 1].trailing = comment.text;
      } else {
        piece.above.push_back(comment.text);
        piece.above_blank.push_back(comment.loc.line > line + 1 ? 1 : 0);
      }
      line = comment.loc.line;
    }
    const uint32_t here = syntax.tokens[i].loc.line;
    piece.blank = here > line + 1;
    piece.line_break = here > (i > 0 ? syntax.tokens[i - 1].loc.line : 0);
    line = here;
  }
}

Pieces pieces_of(const Syntax& syntax) {
  Pieces out(syntax.tokens.size());
  for (size_t i = 0; i < out.size(); ++i) {
    out[i].kind = syntax.tokens[i].kind;
    out[i].text = text_of(syntax.tokens[i]);
    out[i].marks = syntax.marks[i];
  }
  match_brackets(out);
  out.back().marks |= mark::begin;  // the comments before it are those of a declaration
  for (size_t i = 1; i < out.size(); ++i)
    out[i].captured =
        out[i - 1].is(mark::capture_open) || (out[i - 1].captured && !out[i - 1].is(mark::capture_close));
  for (size_t i = 0; i + 3 < out.size(); ++i)
    out[i].wide = out[i].is(mark::list) && out[i + 1].kind == Tok::dot && out[i + 3].kind == Tok::assign;
  add_comments(syntax, out);
  return out;
}

// Formatting may change white space and nothing else.
void check_same(const Syntax& before, const std::string& text) {
  Diag diag;
  std::vector<Comment> comments;
  const std::vector<Token> tokens = lex(diag.sources.add("formatted", text), diag, &comments);
  bool same = tokens.size() == before.tokens.size() && comments.size() == before.comments.size();
  for (size_t i = 0; same && i < tokens.size(); ++i)
    same = tokens[i].kind == before.tokens[i].kind && tokens[i].text == before.tokens[i].text;
  for (size_t i = 0; same && i < comments.size(); ++i)
    same = comments[i].text == before.comments[i].text && comments[i].next == before.comments[i].next;
  CS_CHECK(same, "formatting keeps all tokens and comments");
}

}  // namespace

std::optional<std::string> format(uint32_t source, Diag& diag, const FormatOptions& options) {
  const Syntax syntax = parse_syntax(source, diag);
  if (!syntax.file) return std::nullopt;
  Pieces pieces = pieces_of(syntax);
  choose_breaks(pieces);
  std::vector<int> columns;
  std::vector<Line> lines = lay_out(pieces, columns);
  while (break_long_lines(pieces, lines, columns, options.width)) lines = lay_out(pieces, columns);
  std::string out = write(pieces, lines, options.width);
  check_same(syntax, out);
  return out;
}

}  // namespace cs::csl
