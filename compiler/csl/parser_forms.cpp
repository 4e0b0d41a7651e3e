// Parser: numbers, and the expressions with a form of their own: initialisers, tensor accesses, if, switch, blocks.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "compiler/csl/parser.h"

namespace cs::csl {

using namespace ast;

const Expr* Parser::number() {
  Token token = advance();
  if (token.kind == Tok::character) {
    Integer* node = file_->make<Integer>(token.loc);
    std::string value = decode_string(token, diag_);
    if (value.size() != 1)
      diag_.error(token.loc, fmt::format("a character literal holds one byte, this one {}", value.size()));
    node->value = value.empty() ? 0 : static_cast<unsigned char>(value[0]);
    node->text = std::to_string(int(node->value));
    return node;
  }
  std::string digits;
  for (char c : token.text)
    if (c != '_') digits += c;
  if (token.kind == Tok::floating) {
    Floating* node = file_->make<Floating>(token.loc);
    node->text = token.text;
    char* end = nullptr;
    node->value = std::strtod(digits.c_str(), &end);
    if (*end != '\0') fail(token.loc, fmt::format("'{}' is not a number", token.text));
    if (std::isinf(node->value)) fail(token.loc, fmt::format("{} is beyond the largest double", token.text));
    return node;
  }
  Integer* node = file_->make<Integer>(token.loc);
  node->text = token.text;
  bool prefixed = digits.size() > 1 && digits[0] == '0' && !(digits[1] >= '0' && digits[1] <= '9');
  unsigned base = !prefixed ? 10 : digits[1] == 'x' ? 16 : digits[1] == 'o' ? 8 : 2;
  std::string_view rest = std::string_view(digits).substr(prefixed ? 2 : 0);
  if (rest.empty()) fail(token.loc, fmt::format("'{}' has no digits", token.text));
  for (char c : rest) {
    unsigned digit = c >= 'a'   ? unsigned(c - 'a' + 10)
                     : c >= 'A' ? unsigned(c - 'A' + 10)
                                : unsigned(c - '0');
    if (digit >= base) {
      fail(token.loc, fmt::format("'{}' in '{}' is not a digit of a number in base {}", c, token.text, base));
      break;
    }
    unsigned __int128 limit = ~static_cast<unsigned __int128>(0);
    if (node->value > (limit - digit) / base) {
      fail(token.loc, fmt::format("{} does not fit in 128 bits", token.text));
      break;
    }
    node->value = node->value * base + digit;
  }
  return node;
}

const Expr* Parser::init(const Expr* type, SourceLoc loc) {
  Init* node = file_->make<Init>(loc);
  node->type = type;
  mark(mark::list);
  expect(Tok::l_brace, "here");
  while (more(Tok::r_brace)) {
    InitElement element;
    element.loc = here();
    if (at(Tok::dot) && peek(2).kind == Tok::assign) {
      advance();
      element.name = expect_member_name("a field name");
      advance();
    }
    element.value = expression();
    if (!node->elements.empty() && node->elements[0].name.empty() != element.name.empty())
      fail(element.loc, "named and positional elements are mixed", "either give all a name, .a = 1, or none");
    bool is_known = !element.name.empty() && std::any_of(node->elements.begin(), node->elements.end(),
                                                         [&](const auto& e) { return e.name == element.name; });
    if (is_known) fail(element.loc, fmt::format("field '{}' is given twice", element.name), "remove one");
    node->elements.push_back(std::move(element));
    if (!next_item(Tok::r_brace, "the elements")) break;
  }
  expect(Tok::r_brace, "after the elements");
  return node;
}

const Expr* Parser::tensor_access() {
  mark(mark::capture_open);
  TensorAccess* node = file_->make<TensorAccess>(advance().loc);
  do node->variables.push_back(expect_name("an index variable"));
  while (accept(Tok::comma));
  mark(mark::capture_close);
  expect(Tok::pipe, "after the index variables");
  mark(mark::extents);
  expect(Tok::l_brace, "before the extents", "write |i|{n} -> a[i]");
  node->extents = list(Tok::r_brace, "the extents");
  expect(Tok::r_brace, "after the extents");
  if (node->extents.size() != node->variables.size())
    fail(node->loc,
         fmt::format("{} index variables, but {} extents", node->variables.size(), node->extents.size()),
         "give one extent for each variable");
  expect(Tok::arrow, "after the extents", "write |i|{n} -> a[i]");
  node->body = expression();
  return node;
}

const Expr* Parser::if_expression() {
  IfExpr* node = file_->make<IfExpr>(advance().loc);
  expect(Tok::l_paren, "after 'if'", "conditions stand in parentheses");
  node->condition = expression();
  expect(Tok::r_paren, "after the condition");
  node->then = expression();
  if (accept(Tok::kw_else)) node->otherwise = expression();
  return node;
}

const Expr* Parser::switch_expression() {
  SwitchExpr* node = file_->make<SwitchExpr>(advance().loc);
  expect(Tok::l_paren, "after 'switch'", "the subject stands in parentheses");
  node->subject = expression();
  expect(Tok::r_paren, "after the subject");
  node->prongs = prongs(true);
  return node;
}

const Expr* Parser::block_expression() {
  BlockExpr* node = file_->make<BlockExpr>(here());
  std::string label;
  if (at(Tok::identifier)) {
    label = advance().text;
    advance();  // the colon
  }
  Block* body = block();
  body->label = std::move(label);
  node->block = body;
  return node;
}

}  // namespace cs::csl
