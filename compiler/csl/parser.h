// Recursive descent over the tokens of one file; private to the parser's .cpp files.
//
// Error handling: the first problem of a statement is reported and sets panic_. While it is set nothing is
// consumed and nothing more is reported, so that every function can go on without looking; loops stop on it.
// The statement (or declaration) level then skips to a place where a new one can begin and clears it. After
// any error the tree is thrown away, so its contents no longer matter.
//
// Depth: nesting is limited (kMaxDepth) and so is the height of expression trees (kMaxHeight), because later
// phases recurse over them: a chain of a thousand + signs nests nothing but makes a tree of that height.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "compiler/csl/ast.h"
#include "compiler/csl/lexer.h"
#include "compiler/csl/syntax.h"

namespace cs::csl {

class Parser {
 public:
  Parser(uint32_t source, Diag& diag);
  explicit Parser(uint32_t source, Diag& diag, Syntax& out);  // tokens, comments and marks as well
  std::unique_ptr<ast::File> run();
  std::unique_ptr<ast::File> rest() { return std::move(file_); }  // after run() gave nothing: what it has read

 private:
  static constexpr int kMaxDepth = 400, kMaxHeight = 1000;

  // RAII: one level of nesting. Reports when it is one too many.
  struct Nesting {
    explicit Nesting(Parser& parser);
    ~Nesting() { --parser_.depth_; }
    Parser& parser_;
  };

  // ---- tokens (parser.cpp)
  const Token& peek(size_t ahead = 0) const;
  bool at(Tok kind) const { return !panic_ && peek().kind == kind; }
  bool at_ahead(size_t ahead, Tok kind) const { return !panic_ && peek(ahead).kind == kind; }
  bool more(Tok closer) const { return !panic_ && peek().kind != closer && peek().kind != Tok::end; }
  Token advance();
  void mark(uint16_t mark) {  // of the token that comes next, if somebody wants to know
    if (syntax_) syntax_->marks[position_] |= mark;
  }
  bool accept(Tok kind);
  Token expect(Tok kind, const char* after, std::string help = {});
  std::string expect_name(const char* what);
  std::string expect_member_name(const char* what);  // keywords are good names behind a dot
  void fail(SourceLoc, std::string message, std::string help = {});
  SourceLoc here() const { return peek().loc; }
  bool at_declaration() const;
  void synchronise(bool top_level);
  bool next_item(Tok closer, const char* what);  // after an item of a comma list: true if another follows

  // ---- declarations (parser_decl.cpp)
  void declaration();
  ast::Variable* variable(ast::Linkage);
  ast::Function* function(ast::Linkage, bool is_inline);
  void attributes(ast::Attributes&);
  std::vector<ast::Param> params(bool names_required);
  const ast::Expr* struct_type();
  const ast::Expr* enum_type();
  const ast::Expr* function_type();
  std::vector<ast::Member> members(bool types);

  // ---- statements (parser_stmt.cpp)
  ast::Block* block();
  const ast::Stmt* statement();
  const ast::Stmt* labelled_statement();
  const ast::Stmt* loop(std::string label);
  const ast::Stmt* if_statement(bool terminated);
  const ast::Stmt* switch_statement();
  const ast::Stmt* branch(const char* what);  // body of if, while, for: a block or a statement
  const ast::Stmt* unterminated();            // assignment, expression, return, break, continue
  std::vector<const ast::Prong*> prongs(bool value);
  const ast::Prong* prong(bool value);
  void end_statement(const char* what);

  // ---- expressions (parser_expr.cpp)
  const ast::Expr* expression(int min_precedence = 0);
  const ast::Expr* operators(int min_precedence);
  const ast::Expr* prefix(bool init_allowed);
  const ast::Expr* primary();
  const ast::Expr* postfix(const ast::Expr*, bool init_allowed);
  const ast::Expr* type();  // an expression that no `{` continues
  const ast::Expr* number();
  const ast::Expr* array_or_many_pointer(bool init_allowed);
  const ast::Expr* pointer_rest(ast::PointerType*);
  const ast::Expr* init(const ast::Expr* type, SourceLoc);
  const ast::Expr* tensor_access();
  const ast::Expr* if_expression();
  const ast::Expr* switch_expression();
  const ast::Expr* block_expression();
  std::vector<const ast::Expr*> list(Tok closer, const char* what);
  const ast::Expr* nothing(SourceLoc loc) { return file_->make<ast::Undefined>(loc); }

  Syntax* syntax_ = nullptr;
  std::vector<Token> tokens_;
  size_t position_ = 0;
  Diag& diag_;
  std::unique_ptr<ast::File> file_;
  bool panic_ = false;
  int depth_ = 0;
  int height_ = 0;  // of the highest expression finished since the enclosing one began
};

}  // namespace cs::csl
