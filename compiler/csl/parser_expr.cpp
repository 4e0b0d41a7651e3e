// Parser: expressions and types.
//
// Binary operators by precedence climbing. From loose to tight, as in Zig:
//   or | and | == != < > <= >= (do not chain) | & ^ | | << >> | + - | * / %
#include <fmt/format.h>

#include <algorithm>
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
    case Tok::kw_or:
      return {BinaryOp::logical_or, 1};
    case Tok::kw_and:
      return {BinaryOp::logical_and, 2};
    case Tok::eq:
      return {BinaryOp::eq, kComparison};
    case Tok::ne:
      return {BinaryOp::ne, kComparison};
    case Tok::lt:
      return {BinaryOp::lt, kComparison};
    case Tok::le:
      return {BinaryOp::le, kComparison};
    case Tok::gt:
      return {BinaryOp::gt, kComparison};
    case Tok::ge:
      return {BinaryOp::ge, kComparison};
    case Tok::amp:
      return {BinaryOp::bit_and, 4};
    case Tok::caret:
      return {BinaryOp::bit_xor, 4};
    case Tok::pipe:
      return {BinaryOp::bit_or, 4};
    case Tok::shl:
      return {BinaryOp::shl, 5};
    case Tok::shr:
      return {BinaryOp::shr, 5};
    case Tok::plus:
      return {BinaryOp::add, 6};
    case Tok::minus:
      return {BinaryOp::sub, 6};
    case Tok::star:
      return {BinaryOp::mul, 7};
    case Tok::slash:
      return {BinaryOp::div, 7};
    case Tok::percent:
      return {BinaryOp::rem, 7};
    default:
      return {};
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
    mark(mark::prefix);
    advance();
    Unary* node = file_->make<Unary>(loc);
    node->op = op;
    node->operand = prefix(init_allowed);
    return node;
  };
  switch (peek().kind) {
    case Tok::minus:
      return unary(UnaryOp::negate);
    case Tok::bang:
      return unary(UnaryOp::logical_not);
    case Tok::tilde:
      return unary(UnaryOp::bit_not);
    case Tok::amp: {
      mark(mark::prefix);
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
    case Tok::star:
      mark(mark::prefix);
      return advance(), pointer_rest(file_->make<PointerType>(loc));
    case Tok::l_bracket:
      return array_or_many_pointer(init_allowed);
    default:
      return postfix(primary(), init_allowed);
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
    case Tok::character:
      return number();
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
    case Tok::kw_undefined:
      return file_->make<Undefined>(advance().loc);
    case Tok::kw_null:
      return file_->make<Null>(advance().loc);
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
    case Tok::l_brace:
      return block_expression();
    case Tok::pipe:
      return tensor_access();
    case Tok::kw_if:
      return if_expression();
    case Tok::kw_switch:
      return switch_expression();
    case Tok::kw_fn:
    case Tok::kw_task:
      return function_type();
    case Tok::kw_enum:
      return enum_type();
    case Tok::kw_struct:
    case Tok::kw_union:
    case Tok::kw_extern:
    case Tok::kw_packed:
      return struct_type();
    default:
      fail(token.loc, fmt::format("expected an expression, found {}", describe(token)),
           token.kind == Tok::plus ? "CSL has no unary +" : "");
      return nothing(token.loc);
  }
}

const Expr* Parser::postfix(const Expr* base, bool init_allowed) {
  for (; !panic_; ++height_) {
    SourceLoc loc = here();
    if (at(Tok::l_paren) || at(Tok::l_bracket) || at(Tok::dot)) mark(mark::tight);
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
                base->kind == ExprKind::struct_type || base->kind == ExprKind::builtin ||
                base->kind == ExprKind::call)) {
      base = init(base, base->loc);
    } else {
      break;
    }
  }
  return base;
}

}  // namespace cs::csl
