// One walk over a syntax tree that counts nodes and collects names.
#include "compiler/csl/facts.h"

namespace cs::csl {
namespace {

using namespace ast;

class Walk {
 public:
  FunctionFacts facts;
  NameUses uses;

  void expr(const Expr* e) {
    if (!e) return;
    ++facts.nodes;
    switch (e->kind) {
      case ExprKind::identifier:
        ++uses.names[static_cast<const Identifier&>(*e).name];
        break;
      case ExprKind::builtin:
        builtin(static_cast<const Builtin&>(*e));
        break;
      case ExprKind::call:
        expr(static_cast<const Call&>(*e).callee);
        exprs(static_cast<const Call&>(*e).args);
        break;
      case ExprKind::index:
        expr(static_cast<const Index&>(*e).base);
        exprs(static_cast<const Index&>(*e).indices);
        break;
      case ExprKind::field:
        ++uses.members[static_cast<const ast::Field&>(*e).name];
        expr(static_cast<const ast::Field&>(*e).base);
        break;
      case ExprKind::deref:
        expr(static_cast<const Deref&>(*e).base);
        break;
      case ExprKind::address_of:
        address_of(static_cast<const AddressOf&>(*e));
        break;
      case ExprKind::unary:
        expr(static_cast<const Unary&>(*e).operand);
        break;
      case ExprKind::binary:
        expr(static_cast<const Binary&>(*e).left);
        expr(static_cast<const Binary&>(*e).right);
        break;
      case ExprKind::comptime_expr:
        expr(static_cast<const ComptimeExpr&>(*e).operand);
        break;
      case ExprKind::if_expr:
        expr(static_cast<const IfExpr&>(*e).condition);
        expr(static_cast<const IfExpr&>(*e).then);
        expr(static_cast<const IfExpr&>(*e).otherwise);
        break;
      case ExprKind::switch_expr:
        expr(static_cast<const SwitchExpr&>(*e).subject);
        prongs(static_cast<const SwitchExpr&>(*e).prongs);
        break;
      case ExprKind::block_expr:
        stmt(static_cast<const BlockExpr&>(*e).block);
        break;
      case ExprKind::init:
        expr(static_cast<const Init&>(*e).type);
        for (const InitElement& i : static_cast<const Init&>(*e).elements) expr(i.value);
        break;
      case ExprKind::tensor_access:
        exprs(static_cast<const TensorAccess&>(*e).extents);
        expr(static_cast<const TensorAccess&>(*e).body);
        break;
      default:
        break;
    }
  }

  void stmt(const Stmt* s) {
    if (!s) return;
    ++facts.nodes;
    switch (s->kind) {
      case StmtKind::block:
        for (const Stmt* b : static_cast<const Block&>(*s).body) stmt(b);
        break;
      case StmtKind::decl:
        decl(static_cast<const DeclStmt&>(*s).decl);
        break;
      case StmtKind::expr:
        expr(static_cast<const ExprStmt&>(*s).expr);
        break;
      case StmtKind::assign:
        expr(static_cast<const Assign&>(*s).target);
        expr(static_cast<const Assign&>(*s).value);
        break;
      case StmtKind::if_stmt:
        expr(static_cast<const If&>(*s).condition);
        stmt(static_cast<const If&>(*s).then);
        stmt(static_cast<const If&>(*s).otherwise);
        break;
      case StmtKind::while_stmt:
        facts.has_loop = true;
        expr(static_cast<const While&>(*s).condition);
        stmt(static_cast<const While&>(*s).step);
        stmt(static_cast<const While&>(*s).body);
        break;
      case StmtKind::for_stmt:
        facts.has_loop = true;
        expr(static_cast<const For&>(*s).range);
        stmt(static_cast<const For&>(*s).body);
        break;
      case StmtKind::switch_stmt:
        expr(static_cast<const Switch&>(*s).subject);
        prongs(static_cast<const Switch&>(*s).prongs);
        break;
      case StmtKind::return_stmt:
        expr(static_cast<const Return&>(*s).value);
        break;
      case StmtKind::break_stmt:
        expr(static_cast<const Break&>(*s).value);
        break;
      default:
        break;
    }
  }

  void decl(const Decl* d) {
    if (!d) return;
    if (const auto* v = try_as<Variable>(d)) {
      expr(v->type);
      expr(v->value);
    } else if (const auto* f = try_as<Function>(d)) {
      for (const Param& p : f->params) expr(p.type);
      stmt(f->body);
    } else if (const auto* l = try_as<Layout>(d)) {
      stmt(l->body);
    } else if (const auto* c = try_as<ComptimeBlock>(d)) {
      stmt(c->body);
    }
  }

 private:
  void exprs(const std::vector<const Expr*>& list) {
    for (const Expr* e : list) expr(e);
  }
  void prongs(const std::vector<const Prong*>& list) {
    for (const Prong* p : list) {
      for (const Prong::Item& i : p->items) {
        expr(i.first);
        expr(i.last);
      }
      stmt(p->body);
    }
  }
  void builtin(const Builtin& n) {
    facts.configures = facts.configures || n.name == "ldcfg16" || n.name == "stcfg16";
    exprs(n.args);
  }
  // `&x`, `&x[i]`, `&x.f`: x must be in memory.
  void address_of(const AddressOf& n) {
    const Expr* root = n.operand;
    for (;;) {
      if (root->kind == ExprKind::index)
        root = static_cast<const Index&>(*root).base;
      else if (root->kind == ExprKind::field)
        root = static_cast<const ast::Field&>(*root).base;
      else
        break;
    }
    if (const auto* id = try_as<Identifier>(root)) facts.addressed.insert(id->name);
    expr(n.operand);
  }
};

}  // namespace

FunctionFacts function_facts(const ast::Function& f) {
  Walk walk;
  walk.stmt(f.body);
  return std::move(walk.facts);
}

NameUses name_uses(const ast::File& file) {
  Walk walk;
  for (const ast::Decl* d : file.decls) walk.decl(d);
  return std::move(walk.uses);
}

}  // namespace cs::csl
