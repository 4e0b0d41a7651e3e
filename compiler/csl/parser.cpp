// Parser: tokens, errors, recovery. See parser.h for the method.
#include "compiler/csl/parser.h"

#include <fmt/format.h>

#include <utility>

namespace cs::csl {

using namespace ast;

Parser::Parser(uint32_t source, Diag& diag)
    : tokens_(lex(source, diag)), diag_(diag), file_(std::make_unique<File>()) {
  file_->source = source;
}

Parser::Parser(uint32_t source, Diag& diag, Syntax& out)
    : syntax_(&out), tokens_(lex(source, diag, &out.comments)), diag_(diag), file_(std::make_unique<File>()) {
  file_->source = source;
  out.tokens = tokens_;
  out.marks.assign(tokens_.size(), 0);
}

Parser::Nesting::Nesting(Parser& parser) : parser_(parser) {
  if (++parser_.depth_ > kMaxDepth)
    parser_.fail(parser_.here(), fmt::format("nested too deeply: the limit is {} levels", kMaxDepth),
                 "give parts of it names");
}

const Token& Parser::peek(size_t ahead) const {
  return tokens_[std::min(position_ + ahead, tokens_.size() - 1)];
}

Token Parser::advance() {
  Token token = peek();
  if (!panic_ && position_ + 1 < tokens_.size()) ++position_;
  return token;
}

bool Parser::accept(Tok kind) {
  if (!at(kind)) return false;
  advance();
  return true;
}

void Parser::fail(SourceLoc loc, std::string message, std::string help) {
  if (panic_) return;
  panic_ = true;
  // The lexer has reported the token itself already.
  if (peek().kind == Tok::error && peek().loc == loc) return;
  if (!diag_.full()) diag_.error(loc, std::move(message), std::move(help));
}

// A missing ';' or ')' is reported behind the token before it: that is where it belongs.
Token Parser::expect(Tok kind, const char* after, std::string help) {
  if (at(kind)) return advance();
  SourceLoc loc = here();
  bool closing = kind == Tok::semicolon || kind == Tok::r_paren || kind == Tok::comma;
  if (closing && position_ > 0 && peek().kind != Tok::error) {
    const Token& before = tokens_[position_ - 1];
    if (before.loc.line < loc.line) {
      loc = before.loc;
      loc.column += uint32_t(before.text.size()) + (before.kind == Tok::builtin ? 1 : 0);
    }
  }
  fail(loc, fmt::format("expected {} {}, found {}", describe(kind), after, describe(peek())),
       std::move(help));
  return peek();
}

std::string Parser::expect_name(const char* what) {
  if (at(Tok::identifier)) return std::string(advance().text);
  bool keyword = peek().kind >= Tok::kw_align;
  fail(here(), fmt::format("expected {}, found {}", what, describe(peek())),
       keyword ? fmt::format("{} is a keyword; choose another name", describe(peek())) : "");
  return {};
}

std::string Parser::expect_member_name(const char* what) {
  if (!panic_ && peek().kind >= Tok::kw_align) return std::string(advance().text);
  return expect_name(what);
}

bool Parser::next_item(Tok closer, const char* what) {
  if (at(closer)) return false;
  if (accept(Tok::comma)) return more(closer);
  fail(here(), fmt::format("expected ',' or {} in {}, found {}", describe(closer), what, describe(peek())));
  return false;
}

// A keyword of the top level at the beginning of a line: the block around it has lost its '}'.
bool Parser::at_declaration() const {
  if (position_ == 0 || peek().loc.column != 1 || peek().loc.line == tokens_[position_ - 1].loc.line)
    return false;
  switch (peek().kind) {
    case Tok::kw_fn:
    case Tok::kw_task:
    case Tok::kw_layout:
    case Tok::kw_param:
    case Tok::kw_export:
      return true;
    default:
      return false;
  }
}

// Skips to where a statement can begin again: behind a ';', before a '}' that closes the enclosing block,
// behind a block that the broken statement contains. At top level also before the keyword of a declaration
// that begins a line.
void Parser::synchronise(bool top_level) {
  panic_ = false;
  int depth = 0;
  while (peek().kind != Tok::end) {
    Tok kind = peek().kind;
    bool declares = kind == Tok::kw_const || kind == Tok::kw_var || kind == Tok::kw_comptime;
    if (at_declaration() || (top_level && declares && peek().loc.column == 1)) return;
    if (kind == Tok::l_brace) ++depth;
    if (kind == Tok::r_brace) {
      if (depth == 0 && !top_level) return;
      if (depth > 0) --depth;
      advance();
      if (depth == 0 && !at(Tok::semicolon) && !at(Tok::comma) && !at(Tok::r_paren) && !at(Tok::kw_else))
        return;
      continue;
    }
    advance();
    if (kind == Tok::semicolon && depth == 0) return;
  }
}

std::unique_ptr<File> Parser::run() {
  size_t errors = diag_.errors();
  while (peek().kind != Tok::end && !diag_.full()) {
    size_t before = position_;
    mark(mark::begin);
    declaration();
    if (panic_) {
      synchronise(true);
      if (position_ == before && peek().kind != Tok::end) advance();
    }
  }
  for (const Token& token : tokens_)
    if (token.kind == Tok::error) return nullptr;
  return diag_.errors() == errors ? std::move(file_) : nullptr;
}

std::unique_ptr<File> parse(uint32_t source, Diag& diag) { return Parser(source, diag).run(); }

Syntax parse_syntax(uint32_t source, Diag& diag) {
  Syntax out;
  Parser parser(source, diag, out);
  out.file = parser.run();
  if (!out.file) out.rest = parser.rest();
  return out;
}

}  // namespace cs::csl
