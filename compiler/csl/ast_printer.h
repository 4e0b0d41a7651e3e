// Prints syntax trees as CSL; private to ast_print*.cpp.
//
// Expressions are printed with the fewest parentheses that keep the tree: an operand is wrapped if it binds
// looser than its operator (or as loose, on the right side), or if it is a form that swallows what follows it
// (if, switch, tensor access, block). Statements are indented by two spaces.
#pragma once

#include <string>
#include <vector>

#include "compiler/csl/ast.h"

namespace cs::csl::ast {

// How tightly a tree holds together: 0 must be wrapped wherever it is an operand.
int tightness(const Expr*);
inline constexpr int kComparison = 3, kPrefix = 8, kPostfix = 9;

class Printer {
 public:
  std::string out;

  void file(const File& file);
  void expr(const Expr* e);
  void stmt(const Stmt* s);

 private:
  void indent();
  void operand(const Expr* e, int at_least);
  static bool ends_open(const Expr* e);
  void tail(const Expr* e);
  void list(const std::vector<const Expr*>& items);
  void binary(const Binary& b);
  void access(const Expr* e);
  void number_aware_base(const Expr* base);
  void params(const std::vector<Param>& items);
  void members(const std::vector<Member>& items);
  void tag(const Expr* t);
  void element(const Expr* e);
  void type(const Expr* e);
  void compound(const Expr* e);
  void init(const Init& node);
  void prongs(const std::vector<const Prong*>& items);
  void block(const Block& b);
  void statement_expr(const Expr* e);
  void open_stmt(const Stmt* s, bool terminated);
  void jump(const char* word, const std::string& label, const Expr* value, std::string_view end);
  static bool simple(const Stmt* s);
  void if_stmt(const If& node, bool terminated);
  void loop(const Stmt* s);
  void attributes(const Attributes& a);
  void linkage(Linkage l);
  void variable(const Variable& v);
  void decl(const Decl* d);

  int depth_ = 0;
};

}  // namespace cs::csl::ast
