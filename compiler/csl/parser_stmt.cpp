// Parser: statements.
#include <fmt/format.h>

#include <optional>
#include <utility>

#include "compiler/csl/parser.h"

namespace cs::csl {

using namespace ast;

namespace {

std::optional<BinaryOp> compound_op(Tok kind) {
  switch (kind) {
    case Tok::plus_assign:
      return BinaryOp::add;
    case Tok::minus_assign:
      return BinaryOp::sub;
    case Tok::star_assign:
      return BinaryOp::mul;
    case Tok::slash_assign:
      return BinaryOp::div;
    case Tok::percent_assign:
      return BinaryOp::rem;
    case Tok::amp_assign:
      return BinaryOp::bit_and;
    case Tok::pipe_assign:
      return BinaryOp::bit_or;
    case Tok::caret_assign:
      return BinaryOp::bit_xor;
    case Tok::shl_assign:
      return BinaryOp::shl;
    case Tok::shr_assign:
      return BinaryOp::shr;
    default:
      return std::nullopt;
  }
}

}  // namespace

Block* Parser::block() {
  Block* node = file_->make<Block>(here());
  SourceLoc open = here();
  mark(mark::block);
  expect(Tok::l_brace, "to begin a block");
  while (more(Tok::r_brace)) {
    if (at_declaration()) {
      fail(open, fmt::format("this block is not closed before {} in line {}", describe(peek()), here().line),
           "add a '}'");
      return node;
    }
    size_t before = position_;
    mark(mark::begin);
    const Stmt* stmt = statement();
    if (stmt) node->body.push_back(stmt);
    if (panic_) {
      if (at_declaration() || depth_ > kMaxDepth || diag_.full()) return node;
      synchronise(false);
      if (position_ == before && !at(Tok::r_brace)) advance();
    }
  }
  node->end = here();
  if (at(Tok::end)) {
    fail(open, "this block is never closed", "add a '}'");
    return node;
  }
  expect(Tok::r_brace, "after the block");
  return node;
}

const Stmt* Parser::statement() {
  Nesting nesting(*this);
  if (panic_) return nullptr;
  SourceLoc loc = here();
  switch (peek().kind) {
    case Tok::semicolon:
      advance();
      return nullptr;
    case Tok::l_brace:
      return block();
    case Tok::kw_if:
      return if_statement(true);
    case Tok::kw_switch:
      return switch_statement();
    case Tok::kw_while:
    case Tok::kw_for:
    case Tok::kw_inline:
      return loop({});
    case Tok::kw_const:
    case Tok::kw_var: {
      DeclStmt* node = file_->make<DeclStmt>(loc);
      node->decl = variable(Linkage::internal);
      end_statement("the declaration");
      return node;
    }
    case Tok::kw_comptime:
      if (at_ahead(1, Tok::l_brace)) {
        advance();
        Block* node = block();
        node->is_comptime = true;
        return node;
      }
      if (at_ahead(1, Tok::kw_var) || at_ahead(1, Tok::kw_const)) {
        advance();
        DeclStmt* node = file_->make<DeclStmt>(loc);
        Variable* variable_node = variable(Linkage::internal);
        variable_node->is_comptime = true;
        node->decl = variable_node;
        end_statement("the declaration");
        return node;
      }
      break;
    case Tok::kw_param:
    case Tok::kw_fn:
    case Tok::kw_task:
    case Tok::kw_export:
    case Tok::kw_extern:
    case Tok::kw_layout:
      fail(loc, fmt::format("{} is only possible at the top level of a file", describe(peek())),
           "close the block before it, or move it out");
      return nullptr;
    case Tok::identifier:
      if (at_ahead(1, Tok::colon)) return labelled_statement();
      break;
    default:
      break;
  }
  const Stmt* stmt = unterminated();
  end_statement("the statement");
  return stmt;
}

void Parser::end_statement(const char* what) {
  if (panic_ || accept(Tok::semicolon)) return;
  expect(Tok::semicolon, fmt::format("after {}", what).c_str());
}

const Stmt* Parser::labelled_statement() {
  std::string label(advance().text);
  advance();  // the colon
  if (at(Tok::l_brace)) {
    Block* node = block();
    node->label = std::move(label);
    return node;
  }
  if (!at(Tok::kw_while) && !at(Tok::kw_for) && !at(Tok::kw_inline)) {
    fail(here(), fmt::format("label '{}' stands before {}", label, describe(peek())),
         "a label names a while, a for or a block");
    return nullptr;
  }
  return loop(std::move(label));
}

const Stmt* Parser::loop(std::string label) {
  SourceLoc loc = here();
  bool is_inline = accept(Tok::kw_inline);
  if (accept(Tok::kw_while)) {
    While* node = file_->make<While>(loc);
    node->label = std::move(label);
    node->is_inline = is_inline;
    expect(Tok::l_paren, "after 'while'", "conditions stand in parentheses");
    node->condition = expression();
    expect(Tok::r_paren, "after the condition");
    if (accept(Tok::colon)) {
      expect(Tok::l_paren, "before the continue expression", "write while (CONDITION) : (i += 1) {...}");
      node->step = unterminated();
      expect(Tok::r_paren, "after the continue expression");
    }
    node->body = branch("while");
    return node;
  }
  For* node = file_->make<For>(loc);
  node->label = std::move(label);
  node->is_inline = is_inline;
  expect(Tok::kw_for, is_inline ? "or 'while' after 'inline'" : "here");
  expect(Tok::l_paren, "after 'for'", "write for (@range(i16, n)) |i| {...}");
  node->range = expression();
  expect(Tok::r_paren, "after the range");
  mark(mark::capture_open);
  expect(Tok::pipe, "before the loop variable", "write for (@range(i16, n)) |i| {...}");
  if (at(Tok::star)) mark(mark::prefix);
  node->value_is_pointer = accept(Tok::star);
  node->value = expect_name("a name for the loop variable");
  if (accept(Tok::comma)) node->index = expect_name("a name for the index");
  mark(mark::capture_close);
  expect(Tok::pipe, "after the loop variables");
  node->body = branch("for");
  return node;
}

const Stmt* Parser::branch(const char* what) {
  mark(mark::body);
  if (at(Tok::l_brace)) return block();
  if (at(Tok::kw_const) || at(Tok::kw_var)) {
    fail(here(), fmt::format("a declaration cannot be the body of '{}'", what), "put it in braces");
    return nullptr;
  }
  if (at(Tok::semicolon)) {
    fail(here(), fmt::format("'{}' has no body", what), "write {} for an empty one");
    return nullptr;
  }
  return statement();
}

// `if (c) x = 1 else y = 2;` has one semicolon, at its end; as the body of a switch case (not terminated) it
// has none.
const Stmt* Parser::if_statement(bool terminated) {
  Nesting nesting(*this);
  If* node = file_->make<If>(advance().loc);
  expect(Tok::l_paren, "after 'if'", "conditions stand in parentheses");
  node->condition = expression();
  expect(Tok::r_paren, "after the condition");
  auto simple = [&] {
    Tok kind = peek().kind;
    return !(kind == Tok::l_brace || kind == Tok::kw_if || kind == Tok::kw_while || kind == Tok::kw_for ||
             kind == Tok::kw_switch || kind == Tok::kw_inline || kind == Tok::semicolon ||
             kind == Tok::kw_const || kind == Tok::kw_var);
  };
  mark(mark::body);
  if (simple()) {
    node->then = unterminated();
    if (!at(Tok::kw_else) && terminated) end_statement("the statement");
  } else {
    node->then = at(Tok::kw_if) ? if_statement(terminated) : branch("if");
  }
  if (!accept(Tok::kw_else)) return node;
  mark(mark::body);
  node->otherwise = at(Tok::kw_if)            ? if_statement(terminated)
                    : !terminated && simple() ? unterminated()
                                              : branch("else");
  return node;
}

const Stmt* Parser::unterminated() {
  SourceLoc loc = here();
  if (accept(Tok::kw_return)) {
    Return* node = file_->make<Return>(loc);
    if (!at(Tok::semicolon) && !at(Tok::kw_else) && !at(Tok::comma) && !at(Tok::r_brace))
      node->value = expression();
    return node;
  }
  if (accept(Tok::kw_break)) {
    Break* node = file_->make<Break>(loc);
    if (accept(Tok::colon)) node->label = expect_name("a label");
    if (!at(Tok::semicolon) && !at(Tok::kw_else) && !at(Tok::comma) && !at(Tok::r_brace))
      node->value = expression();
    return node;
  }
  if (accept(Tok::kw_continue)) {
    Continue* node = file_->make<Continue>(loc);
    if (accept(Tok::colon)) node->label = expect_name("a label");
    return node;
  }
  const Expr* expr = expression();
  std::optional<BinaryOp> op = panic_ ? std::nullopt : compound_op(peek().kind);
  if (at(Tok::assign) || op) {
    Assign* node = file_->make<Assign>(advance().loc);
    node->target = expr;
    node->compound = op.has_value();
    node->op = op.value_or(BinaryOp::add);
    node->value = expression();
    if (at(Tok::assign)) fail(here(), "assignments do not chain", "write one statement for each");
    return node;
  }
  ExprStmt* node = file_->make<ExprStmt>(loc);
  node->expr = expr;
  return node;
}

const Stmt* Parser::switch_statement() {
  Switch* node = file_->make<Switch>(advance().loc);
  expect(Tok::l_paren, "after 'switch'", "the subject stands in parentheses");
  node->subject = expression();
  expect(Tok::r_paren, "after the subject");
  node->prongs = prongs(false);
  return node;
}

std::vector<const Prong*> Parser::prongs(bool value) {
  std::vector<const Prong*> out;
  mark(mark::prongs);
  expect(Tok::l_brace, "before the cases");
  while (more(Tok::r_brace)) {
    mark(mark::begin);
    out.push_back(prong(value));
    if (!next_item(Tok::r_brace, "the cases of a switch")) break;
  }
  expect(Tok::r_brace, "after the cases");
  return out;
}

// The body of a prong: in a switch that gives a value an expression, else any statement.
const Prong* Parser::prong(bool value) {
  Nesting nesting(*this);
  Prong* node = file_->make<Prong>(here());
  if (!accept(Tok::kw_else)) {
    do {
      Prong::Item item;
      item.first = expression();
      if (accept(Tok::ellipsis)) item.last = expression();
      node->items.push_back(item);
    } while (accept(Tok::comma) && !at(Tok::fat_arrow));
  }
  expect(Tok::fat_arrow, "after the values of a case", "write VALUE => STATEMENT,");
  if (!value && at(Tok::l_brace)) {
    node->body = block();
  } else if (!value && at(Tok::kw_if)) {
    node->body = if_statement(false);
  } else if (!value && (at(Tok::kw_while) || at(Tok::kw_for) || at(Tok::kw_inline) || at(Tok::kw_switch))) {
    node->body = statement();
  } else {
    node->body = unterminated();
  }
  return node;
}

}  // namespace cs::csl
