// Parser: declarations of a file, and the types that look like declarations (struct, union, enum, fn).
#include <fmt/format.h>

#include <utility>

#include "compiler/csl/parser.h"

namespace cs::csl {

using namespace ast;

void Parser::declaration() {
  SourceLoc loc = here();
  Linkage linkage = accept(Tok::kw_export)   ? Linkage::exported
                    : accept(Tok::kw_extern) ? Linkage::external
                                             : Linkage::internal;
  bool is_inline = accept(Tok::kw_inline);
  const Decl* decl = nullptr;
  if (at(Tok::kw_fn) || at(Tok::kw_task)) {
    decl = function(linkage, is_inline);
  } else if (is_inline) {
    fail(here(), fmt::format("expected 'fn' after 'inline', found {}", describe(peek())));
  } else if (at(Tok::kw_const) || at(Tok::kw_var) || at(Tok::kw_param)) {
    decl = variable(linkage);
    if (!panic_) expect(Tok::semicolon, "after the declaration");
  } else if (linkage != Linkage::internal) {
    fail(here(), fmt::format("expected 'var', 'const' or 'fn', found {}", describe(peek())));
  } else if (accept(Tok::kw_layout)) {
    Layout* node = file_->make<Layout>(loc);
    node->body = block();
    decl = node;
  } else if (accept(Tok::kw_comptime)) {
    ComptimeBlock* node = file_->make<ComptimeBlock>(loc);
    node->body = block();
    decl = node;
  } else if (accept(Tok::semicolon)) {
    return;  // a stray ; after a block harms nobody
  } else {
    fail(loc, fmt::format("expected a declaration, found {}", describe(peek())),
         "a file holds const, var, param, fn, task, layout {...} and comptime {...}; statements go into one "
         "of them");
  }
  if (decl && !panic_) file_->decls.push_back(decl);
}

void Parser::attributes(Attributes& out) {
  while (at(Tok::kw_align) || at(Tok::kw_linkname) || at(Tok::kw_linksection)) {
    Token keyword = advance();
    const Expr*& slot = keyword.kind == Tok::kw_align      ? out.alignment
                        : keyword.kind == Tok::kw_linkname ? out.link_name
                                                           : out.link_section;
    if (slot) fail(keyword.loc, fmt::format("{} is given twice", describe(keyword)), "remove one");
    expect(Tok::l_paren, "after the attribute");
    slot = expression();
    expect(Tok::r_paren, "after the attribute's value");
  }
}

Variable* Parser::variable(Linkage linkage) {
  Token keyword = advance();
  Variable* node = file_->make<Variable>(here());
  node->variable_kind = keyword.kind == Tok::kw_const ? VariableKind::constant
                        : keyword.kind == Tok::kw_var ? VariableKind::variable
                                                      : VariableKind::parameter;
  node->attributes.linkage = linkage;
  node->name = expect_name("a name for the variable");
  if (accept(Tok::colon)) node->type = type();
  attributes(node->attributes);
  if (accept(Tok::assign)) node->value = expression();
  if (panic_) return node;
  bool external = linkage == Linkage::external;
  if (!node->value && keyword.kind == Tok::kw_const && !external)
    fail(here(), fmt::format("constant '{}' has no value", node->name), "write: const NAME = VALUE;");
  if (!node->value && keyword.kind == Tok::kw_var && !node->type)
    fail(here(), fmt::format("variable '{}' has neither type nor value", node->name),
         "write: var NAME: TYPE;");
  if (node->value && external)
    fail(node->value->loc, fmt::format("extern variable '{}' has a value", node->name),
         "its definition gives it");
  return node;
}

Function* Parser::function(Linkage linkage, bool is_inline) {
  Token keyword = advance();
  Function* node = file_->make<Function>(here());
  node->is_task = keyword.kind == Tok::kw_task;
  node->is_inline = is_inline;
  node->attributes.linkage = linkage;
  node->name = expect_name(node->is_task ? "a name for the task" : "a name for the function");
  expect(Tok::l_paren, "before the parameters");
  node->params = params(linkage != Linkage::external);
  expect(Tok::r_paren, "after the parameters");
  attributes(node->attributes);
  if (at(Tok::l_brace) || at(Tok::semicolon))
    fail(here(), fmt::format("'{}' has no result type", node->name),
         "write void before the '{' if it returns nothing");
  node->result = type();
  attributes(node->attributes);
  if (linkage == Linkage::external) {
    expect(Tok::semicolon, "after an extern function, which has no body");
  } else {
    node->body = block();
  }
  return node;
}

std::vector<Param> Parser::params(bool names_required) {
  std::vector<Param> out;
  while (more(Tok::r_paren)) {
    Param param;
    param.loc = here();
    param.is_comptime = accept(Tok::kw_comptime);
    bool named = names_required || (at(Tok::identifier) && at_ahead(1, Tok::colon));
    if (named) {
      param.loc = here();
      param.name = expect_name("a parameter name");
      expect(Tok::colon, "and a type after the parameter name");
    }
    if (!accept(Tok::kw_anytype)) param.type = type();
    out.push_back(std::move(param));
    if (!next_item(Tok::r_paren, "the parameters")) break;
  }
  return out;
}

const Expr* Parser::function_type() {
  FunctionType* node = file_->make<FunctionType>(here());
  node->is_task = advance().kind == Tok::kw_task;
  expect(Tok::l_paren, "in a function type", "write fn (TYPE, ...) TYPE");
  node->params = params(false);
  expect(Tok::r_paren, "after the parameter types");
  node->result = type();
  return node;
}

const Expr* Parser::struct_type() {
  StructType* node = file_->make<StructType>(here());
  if (accept(Tok::kw_extern))
    node->layout = StructLayout::external;
  else if (accept(Tok::kw_packed))
    node->layout = StructLayout::packed;
  node->is_union = at(Tok::kw_union);
  if (!accept(Tok::kw_union)) expect(Tok::kw_struct, "or 'union'");
  if (accept(Tok::l_paren)) {
    node->tag = type();
    expect(Tok::r_paren, "after the type");
  }
  node->members = members(true);
  return node;
}

const Expr* Parser::enum_type() {
  EnumType* node = file_->make<EnumType>(advance().loc);
  if (accept(Tok::l_paren)) {
    node->tag = type();
    expect(Tok::r_paren, "after the type");
  }
  node->members = members(false);
  return node;
}

std::vector<Member> Parser::members(bool types) {
  std::vector<Member> out;
  mark(mark::members);
  expect(Tok::l_brace, types ? "before the fields" : "before the enumerators");
  while (more(Tok::r_brace)) {
    mark(mark::begin);
    Member member;
    member.loc = here();
    member.name = expect_member_name(types ? "a field name" : "an enumerator");
    if (types) {
      expect(Tok::colon, "and a type after the field name");
      member.type = type();
    }
    if (accept(Tok::assign)) member.value = expression();
    out.push_back(std::move(member));
    if (!next_item(Tok::r_brace, types ? "the fields" : "the enumerators")) break;
  }
  expect(Tok::r_brace, types ? "after the fields" : "after the enumerators");
  return out;
}

}  // namespace cs::csl
