// Parser: expressions and types.
//
// Binary operators by precedence climbing. From loose to tight, as in Zig:
//   or | and | == != < > <= >= (do not chain) | & ^ | | << >> | + - | * / %
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <utility>

#include "compiler/csl/parser.h"

namespace cs::csl {

using namespace ast;

namespace {

constexpr int kComparison = 3;

struct Operator {
  BinaryOp op{};
  int precedence = 0;  // 0: no binary operator
};

Operator binary_operator(Tok kind) {
  switch (kind) {
    case Tok::kw_or: return {BinaryOp::logical_or, 1};
    case Tok::kw_and: return {BinaryOp::logical_and, 2};
    case Tok::eq: return {BinaryOp::eq, kComparison};
    case Tok::ne: return {BinaryOp::ne, kComparison};
    case Tok::lt: return {BinaryOp::lt, kComparison};
    case Tok::le: return {BinaryOp::le, kComparison};
    case Tok::gt: return {BinaryOp::gt, kComparison};
    case Tok::ge: return {BinaryOp::ge, kComparison};
    case Tok::amp: return {BinaryOp::bit_and, 4};
    case Tok::caret: return {BinaryOp::bit_xor, 4};
    case Tok::pipe: return {BinaryOp::bit_or, 4};
    case Tok::shl: return {BinaryOp::shl, 5};
    case Tok::shr: return {BinaryOp::shr, 5};
    case Tok::plus: return {BinaryOp::add, 6};
    case Tok::minus: return {BinaryOp::sub, 6};
    case Tok::star: return {BinaryOp::mul, 7};
    case Tok::slash: return {BinaryOp::div, 7};
    case Tok::percent: return {BinaryOp::rem, 7};
    default: return {};
  }
}

}  // namespace

// Tracks the height of the tree: the highest operand plus one for every operator around it.
const Expr* Parser::expression(int min_precedence) {
  Nesting nesting(*this);
  if (panic_) return nothing(here());
  int outside = std::exchange(height_, 0);
  const Expr* expr = operators(min_precedence);
  height_ = std::max(outside, height_ + 1);
  return expr;
}

const Expr* Parser::operators(int min_precedence) {
  const Expr* left = prefix(true);
  int last_comparison = 0;
  while (!panic_) {
    Operator found = binary_operator(peek().kind);
    if (found.precedence == 0 || found.precedence <= min_precedence) break;
    if (found.precedence == kComparison && last_comparison++ > 0) {
      fail(here(), "comparisons do not chain", "write a < b and b < c");
      break;
    }
    Token token = advance();
    const Expr* right = expression(found.precedence);
    Binary* node = file_->make<Binary>(token.loc);
    node->op = found.op;
    node->left = left;
    node->right = right;
    left = node;
    if (++height_ > kMaxHeight)
      fail(token.loc, fmt::format("expression is too long: the limit is {} operators in a row", kMaxHeight),
           "split it over several variables");
  }
  return left;
}

const Expr* Parser::prefix(bool init_allowed) {
  Nesting nesting(*this);
  if (panic_) return nothing(here());
  SourceLoc loc = here();
  auto unary = [&](UnaryOp op) -> const Expr* {
    advance();
    Unary* node = file_->make<Unary>(loc);
    node->op = op;
    node->operand = prefix(init_allowed);
    return node;
  };
  switch (peek().kind) {
    case Tok::minus: return unary(UnaryOp::negate);
    case Tok::bang: return unary(UnaryOp::logical_not);
    case Tok::tilde: return unary(UnaryOp::bit_not);
    case Tok::amp: {
      advance();
      AddressOf* node = file_->make<AddressOf>(loc);
      node->operand = prefix(init_allowed);
      return node;
    }
    case Tok::kw_comptime: {
      advance();
      ComptimeExpr* node = file_->make<ComptimeExpr>(loc);
      node->operand = prefix(init_allowed);
      return node;
    }
    case Tok::star: return advance(), pointer_rest(file_->make<PointerType>(loc));
    case Tok::l_bracket: return array_or_many_pointer(init_allowed);
    default: return postfix(primary(), init_allowed);
  }
}

const Expr* Parser::type() { return prefix(false); }

const Expr* Parser::pointer_rest(PointerType* node) {
  if (accept(Tok::kw_align)) {
    expect(Tok::l_paren, "after 'align'");
    node->alignment = expression();
    expect(Tok::r_paren, "after the alignment");
  }
  node->is_const = accept(Tok::kw_const);
  node->element = type();
  return node;
}

const Expr* Parser::array_or_many_pointer(bool init_allowed) {
  SourceLoc loc = advance().loc;
  if (at(Tok::star)) {
    advance();
    expect(Tok::r_bracket, "in a pointer to many, [*]TYPE");
    PointerType* node = file_->make<PointerType>(loc);
    node->many = true;
    return pointer_rest(node);
  }
  ArrayType* node = file_->make<ArrayType>(loc);
  node->dimensions = list(Tok::r_bracket, "the extents of an array");
  expect(Tok::r_bracket, "after the extents of an array");
  if (node->dimensions.empty()) fail(loc, "an array type needs its extents", "write [n]TYPE or [n, m]TYPE");
  node->element = type();
  if (init_allowed && at(Tok::l_brace)) return postfix(init(node, loc), true);
  return node;
}

std::vector<const Expr*> Parser::list(Tok closer, const char* what) {
  std::vector<const Expr*> out;
  while (more(closer)) {
    out.push_back(expression());
    if (!next_item(closer, what)) break;
  }
  return out;
}

const Expr* Parser::primary() {
  const Token token = peek();
  switch (token.kind) {
    case Tok::integer:
    case Tok::floating:
    case Tok::character: return number();
    case Tok::string: {
      String* node = file_->make<String>(token.loc);
      node->value = decode_string(advance(), diag_);
      return node;
    }
    case Tok::kw_true:
    case Tok::kw_false: {
      Boolean* node = file_->make<Boolean>(advance().loc);
      node->value = token.kind == Tok::kw_true;
      return node;
    }
    case Tok::kw_undefined: return file_->make<Undefined>(advance().loc);
    case Tok::kw_null: return file_->make<Null>(advance().loc);
    case Tok::identifier: {
      if (at_ahead(1, Tok::colon) && at_ahead(2, Tok::l_brace)) return block_expression();
      Identifier* node = file_->make<Identifier>(advance().loc);
      node->name = token.text;
      return node;
    }
    case Tok::builtin: {
      Builtin* node = file_->make<Builtin>(advance().loc);
      node->name = token.text;
      expect(Tok::l_paren, "after the name of a builtin");
      node->args = list(Tok::r_paren, "the arguments");
      expect(Tok::r_paren, "after the arguments");
      return node;
    }
    case Tok::dot: {
      advance();
      if (at(Tok::l_brace)) return init(nullptr, token.loc);
      EnumLiteral* node = file_->make<EnumLiteral>(token.loc);
      node->name = expect_member_name("'{' or the name of an enumerator after '.'");
      return node;
    }
    case Tok::l_paren: {
      advance();
      const Expr* inner = expression();
      expect(Tok::r_paren, "to close this parenthesis");
      return inner;
    }
    case Tok::l_brace: return block_expression();
    case Tok::pipe: return tensor_access();
    case Tok::kw_if: return if_expression();
    case Tok::kw_switch: return switch_expression();
    case Tok::kw_fn:
    case Tok::kw_task: return function_type();
    case Tok::kw_enum: return enum_type();
    case Tok::kw_struct:
    case Tok::kw_union:
    case Tok::kw_extern:
    case Tok::kw_packed: return struct_type();
    default:
      fail(token.loc, fmt::format("expected an expression, found {}", describe(token)),
           token.kind == Tok::plus ? "CSL has no unary +" : "");
      return nothing(token.loc);
  }
}

const Expr* Parser::postfix(const Expr* base, bool init_allowed) {
  for (; !panic_; ++height_) {
    SourceLoc loc = here();
    if (height_ > kMaxHeight) {
      fail(loc, "too many accesses in a row", "split it over several variables");
    } else if (accept(Tok::l_paren)) {
      Call* node = file_->make<Call>(base->loc);
      node->callee = base;
      node->args = list(Tok::r_paren, "the arguments");
      expect(Tok::r_paren, "after the arguments");
      base = node;
    } else if (accept(Tok::l_bracket)) {
      Index* node = file_->make<Index>(base->loc);
      node->base = base;
      node->indices = list(Tok::r_bracket, "the indices");
      if (node->indices.empty()) fail(here(), "an index is missing", "write a[i] or a[i, j]");
      expect(Tok::r_bracket, "after the indices");
      base = node;
    } else if (accept(Tok::dot_star)) {
      Deref* node = file_->make<Deref>(base->loc);
      node->base = base;
      base = node;
    } else if (at(Tok::dot)) {
      advance();
      Field* node = file_->make<Field>(here());
      node->base = base;
      node->name = expect_member_name("a field name after '.'");
      base = node;
    } else if (init_allowed && at(Tok::l_brace) &&
               (base->kind == ExprKind::identifier || base->kind == ExprKind::field ||
                base->kind == ExprKind::struct_type || base->kind == ExprKind::builtin)) {
      base = init(base, base->loc);
    } else {
      break;
    }
  }
  return base;
}

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
    unsigned digit = c >= 'a' ? unsigned(c - 'a' + 10) : c >= 'A' ? unsigned(c - 'A' + 10) : unsigned(c - '0');
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
    for (const InitElement& other : node->elements)
      if (!element.name.empty() && other.name == element.name)
        fail(element.loc, fmt::format("field '{}' is given twice", element.name), "remove one");
    node->elements.push_back(std::move(element));
    if (!next_item(Tok::r_brace, "the elements")) break;
  }
  expect(Tok::r_brace, "after the elements");
  return node;
}

const Expr* Parser::tensor_access() {
  TensorAccess* node = file_->make<TensorAccess>(advance().loc);
  do node->variables.push_back(expect_name("an index variable"));
  while (accept(Tok::comma));
  expect(Tok::pipe, "after the index variables");
  expect(Tok::l_brace, "before the extents", "write |i|{n} -> a[i]");
  node->extents = list(Tok::r_brace, "the extents");
  expect(Tok::r_brace, "after the extents");
  if (node->extents.size() != node->variables.size())
    fail(node->loc, fmt::format("{} index variables, but {} extents", node->variables.size(), node->extents.size()),
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
