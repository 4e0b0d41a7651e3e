// Walks a tree with a stack of the names in scope.
#include "compiler/csl/index.h"

#include <algorithm>
#include <utility>

namespace cs::csl {

using namespace ast;

namespace {

bool before(SourceLoc a, SourceLoc b) { return std::pair(a.line, a.column) < std::pair(b.line, b.column); }

class Indexer {
 public:
  Indexer(const File& file, const std::vector<Token>& tokens, FileIndex& out)
      : file_(file), tokens_(tokens), out_(out) {}

  void run() {
    for (const Decl* d : file_.decls) declare_global(d);
    for (const Decl* d : file_.decls) decl(d);
  }

 private:
  int declare(DeclaredName name) {
    out_.names.push_back(std::move(name));
    const int index = int(out_.names.size()) - 1;
    scope_.push_back(index);
    return index;
  }

  void declare_global(const Decl* d) {
    if (const auto* v = try_as<Variable>(d)) {
      constexpr NameKind kKinds[] = {NameKind::constant, NameKind::variable, NameKind::parameter};
      declare({.name = v->name,
               .kind = kKinds[size_t(v->variable_kind)],
               .loc = v->loc,
               .from = {},
               .to = {},
               .node = v,
               .type = v->type,
               .value = v->value});
    } else if (const auto* f = try_as<Function>(d)) {
      declare({.name = f->name,
               .kind = f->is_task ? NameKind::task : NameKind::function,
               .loc = f->loc,
               .from = {},
               .to = {},
               .node = f,
               .type = f->result});
    }
  }

  // Locals are found from the innermost on; the language forbids two of one name in a function.
  void use(const std::string& name, SourceLoc loc, bool is_label = false) {
    NameUse u{.kind = UseKind::name, .name = name, .loc = loc};
    for (auto it = scope_.rbegin(); it != scope_.rend(); ++it) {
      const DeclaredName& d = out_.names[size_t(*it)];
      if (d.name != name || (d.kind == NameKind::label) != is_label) continue;
      u.declared = *it;
      break;
    }
    out_.uses.push_back(std::move(u));
  }

  size_t token_of(SourceLoc loc) const {
    return size_t(std::lower_bound(tokens_.begin(), tokens_.end(), loc,
                                   [](const Token& t, SourceLoc l) { return before(t.loc, l); }) -
                  tokens_.begin());
  }

  // The next token from a place on that is this name; for names whose place the tree does not hold.
  SourceLoc find_name(SourceLoc from, const std::string& name) const {
    for (size_t i = token_of(from); i < tokens_.size(); ++i)
      if (tokens_[i].kind == Tok::identifier && tokens_[i].text == name) return tokens_[i].loc;
    return from;
  }

  void decl(const Decl* d) {
    if (!d) return;
    const size_t depth = scope_.size();
    switch (d->kind) {
      case DeclKind::variable:
        variable(static_cast<const Variable&>(*d));
        break;
      case DeclKind::function:
        function(static_cast<const Function&>(*d));
        break;
      case DeclKind::layout:
        stmt(static_cast<const Layout&>(*d).body);
        break;
      case DeclKind::comptime_block:
        stmt(static_cast<const ComptimeBlock&>(*d).body);
        break;
    }
    scope_.resize(depth);
  }

  void attributes(const Attributes& a) { expr(a.alignment), expr(a.link_name), expr(a.link_section); }

  void variable(const Variable& v) {
    expr(v.type);
    attributes(v.attributes);
    expr(v.value, v.type);
  }

  void function(const Function& f) {
    end_ = f.body ? f.body->end : SourceLoc{};
    params(f.params, true);
    attributes(f.attributes);
    expr(f.result);
    stmt(f.body);
  }

  void params(const std::vector<Param>& list, bool declares) {
    for (const Param& p : list) {
      expr(p.type);
      if (declares && !p.name.empty())
        declare({.name = p.name,
                 .kind = NameKind::argument,
                 .loc = p.loc,
                 .from = p.loc,
                 .to = end_,
                 .node = nullptr,
                 .type = p.type});
    }
  }

  void label(const std::string& name, SourceLoc from, SourceLoc to) {
    if (!name.empty())
      declare(
          {.name = name, .kind = NameKind::label, .loc = label_before(from, name), .from = from, .to = to});
  }

  // A label stands before the colon before its loop or block.
  SourceLoc label_before(SourceLoc loc, const std::string& name) const {
    for (size_t i = token_of(loc), steps = 0; steps < 4; ++steps, --i) {
      if (i < tokens_.size() && tokens_[i].kind == Tok::identifier && tokens_[i].text == name)
        return tokens_[i].loc;
      if (i == 0) break;
    }
    return loc;
  }

  void block(const Block& b) {
    const SourceLoc outer = std::exchange(end_, b.end.valid() ? b.end : end_);
    const size_t depth = scope_.size();
    label(b.label, b.loc, b.end);
    for (const Stmt* s : b.body) stmt(s);
    scope_.resize(depth);
    end_ = outer;
  }

  void stmt(const Stmt* s) {
    if (!s) return;
    switch (s->kind) {
      case StmtKind::block:
        return block(static_cast<const Block&>(*s));
      case StmtKind::decl:
        return local(static_cast<const DeclStmt&>(*s).decl);
      case StmtKind::expr:
        return expr(static_cast<const ExprStmt&>(*s).expr);
      case StmtKind::assign: {
        const auto& n = static_cast<const Assign&>(*s);
        return expr(n.target), expr(n.value);
      }
      case StmtKind::if_stmt: {
        const auto& n = static_cast<const If&>(*s);
        return expr(n.condition), stmt(n.then), stmt(n.otherwise);
      }
      case StmtKind::while_stmt: {
        const auto& n = static_cast<const While&>(*s);
        const size_t depth = scope_.size();
        label(n.label, n.loc, end_);
        expr(n.condition), stmt(n.step), stmt(n.body);
        scope_.resize(depth);
        return;
      }
      case StmtKind::for_stmt:
        return for_loop(static_cast<const For&>(*s));
      case StmtKind::switch_stmt: {
        const auto& n = static_cast<const Switch&>(*s);
        return expr(n.subject), prongs(n.prongs);
      }
      case StmtKind::return_stmt:
        return expr(static_cast<const Return&>(*s).value);
      case StmtKind::break_stmt: {
        const auto& n = static_cast<const Break&>(*s);
        if (!n.label.empty()) use(n.label, find_name(n.loc, n.label), true);
        return expr(n.value);
      }
      case StmtKind::continue_stmt: {
        const auto& n = static_cast<const Continue&>(*s);
        if (!n.label.empty()) use(n.label, find_name(n.loc, n.label), true);
        return;
      }
    }
  }

  void local(const Decl* d) {
    const auto* v = try_as<Variable>(d);
    if (!v) return decl(d);
    variable(*v);
    const bool constant = v->variable_kind == VariableKind::constant;
    declare({.name = v->name,
             .kind = constant ? NameKind::local_constant : NameKind::local_variable,
             .loc = v->loc,
             .from = v->loc,
             .to = end_,
             .node = v,
             .type = v->type,
             .value = v->value});
  }

  void for_loop(const For& n) {
    const size_t depth = scope_.size();
    label(n.label, n.loc, end_);
    expr(n.range);
    SourceLoc at = n.range ? n.range->loc : n.loc;
    for (size_t i = token_of(at); i < tokens_.size(); ++i)  // behind the bar
      if (tokens_[i].kind == Tok::pipe) {
        at = tokens_[i].loc;
        break;
      }
    for (const std::string& name : {n.value, n.index}) {
      if (name.empty()) continue;
      const SourceLoc loc = find_name(at, name);
      declare({.name = name, .kind = NameKind::loop_variable, .loc = loc, .from = loc, .to = end_});
    }
    stmt(n.body);
    scope_.resize(depth);
  }

  void prongs(const std::vector<const Prong*>& list) {
    for (const Prong* p : list) {
      if (!p) continue;
      for (const Prong::Item& item : p->items) expr(item.first), expr(item.last);
      stmt(p->body);
    }
  }

  void exprs(const std::vector<const Expr*>& list) {
    for (const Expr* e : list) expr(e);
  }

  void members(const Expr* owner, const std::vector<Member>& list, NameKind kind) {
    for (const Member& m : list) {
      expr(m.type), expr(m.value);
      out_.names.push_back({.name = m.name,
                            .kind = kind,
                            .loc = m.loc,
                            .from = {},
                            .to = {},
                            .node = nullptr,
                            .type = m.type,
                            .value = m.value,
                            .owner = owner});
    }
  }

  void init(const Init& n, const Expr* type) {
    expr(n.type);
    for (const InitElement& e : n.elements) {
      if (!e.name.empty()) {
        SourceLoc loc = e.loc;
        if (const size_t i = token_of(loc); i + 1 < tokens_.size())
          loc = tokens_[i + 1].loc;  // behind the dot
        out_.uses.push_back({.kind = UseKind::element,
                             .name = e.name,
                             .loc = loc,
                             .declared = -1,
                             .base = &n,
                             .type = n.type ? n.type : type});
      }
      expr(e.value);
    }
  }

  void tensor_access(const TensorAccess& n) {
    exprs(n.extents);
    const size_t depth = scope_.size();
    SourceLoc at = n.loc;
    for (const std::string& name : n.variables) {
      at = find_name(at, name);
      declare({.name = name, .kind = NameKind::loop_variable, .loc = at, .from = at, .to = end_});
    }
    expr(n.body);
    scope_.resize(depth);
  }

  // `type`: of the place that the value is for, as it is written there.
  void expr(const Expr* e, const Expr* type = nullptr) {
    if (!e) return;
    switch (e->kind) {
      case ExprKind::identifier:
        return use(static_cast<const Identifier&>(*e).name, e->loc);
      case ExprKind::enum_literal: {
        const auto& n = static_cast<const EnumLiteral&>(*e);
        SourceLoc loc = n.loc;
        if (const size_t i = token_of(loc); i + 1 < tokens_.size()) loc = tokens_[i + 1].loc;
        out_.uses.push_back(
            {.kind = UseKind::literal, .name = n.name, .loc = loc, .declared = -1, .base = e, .type = type});
        return;
      }
      case ExprKind::builtin: {
        const auto& n = static_cast<const Builtin&>(*e);
        out_.builtins.push_back(&n);
        return exprs(n.args);
      }
      case ExprKind::call: {
        const auto& n = static_cast<const Call&>(*e);
        out_.calls.push_back(&n);
        return expr(n.callee), exprs(n.args);
      }
      case ExprKind::index: {
        const auto& n = static_cast<const Index&>(*e);
        return expr(n.base), exprs(n.indices);
      }
      case ExprKind::field: {
        const auto& n = static_cast<const Field&>(*e);
        out_.uses.push_back(
            {.kind = UseKind::member, .name = n.name, .loc = n.loc, .declared = -1, .base = n.base});
        return expr(n.base);
      }
      case ExprKind::deref:
        return expr(static_cast<const Deref&>(*e).base);
      case ExprKind::address_of:
        return expr(static_cast<const AddressOf&>(*e).operand);
      case ExprKind::unary:
        return expr(static_cast<const Unary&>(*e).operand);
      case ExprKind::binary: {
        const auto& n = static_cast<const Binary&>(*e);
        return expr(n.left), expr(n.right);
      }
      case ExprKind::comptime_expr:
        return expr(static_cast<const ComptimeExpr&>(*e).operand);
      case ExprKind::if_expr: {
        const auto& n = static_cast<const IfExpr&>(*e);
        return expr(n.condition), expr(n.then, type), expr(n.otherwise, type);
      }
      case ExprKind::switch_expr: {
        const auto& n = static_cast<const SwitchExpr&>(*e);
        return expr(n.subject), prongs(n.prongs);
      }
      case ExprKind::block_expr:
        return stmt(static_cast<const BlockExpr&>(*e).block);
      case ExprKind::init:
        return init(static_cast<const Init&>(*e), type);
      case ExprKind::tensor_access:
        return tensor_access(static_cast<const TensorAccess&>(*e));
      case ExprKind::array_type: {
        const auto& n = static_cast<const ArrayType&>(*e);
        return exprs(n.dimensions), expr(n.element);
      }
      case ExprKind::pointer_type: {
        const auto& n = static_cast<const PointerType&>(*e);
        return expr(n.alignment), expr(n.element);
      }
      case ExprKind::function_type: {
        const auto& n = static_cast<const FunctionType&>(*e);
        return params(n.params, false), expr(n.result);
      }
      case ExprKind::struct_type: {
        const auto& n = static_cast<const StructType&>(*e);
        return expr(n.tag), members(e, n.members, NameKind::field);
      }
      case ExprKind::enum_type: {
        const auto& n = static_cast<const EnumType&>(*e);
        return expr(n.tag), members(e, n.members, NameKind::enumerator);
      }
      default:
        return;
    }
  }

  const File& file_;
  const std::vector<Token>& tokens_;
  FileIndex& out_;
  std::vector<int> scope_;
  SourceLoc end_;  // of the block around
};

}  // namespace

int FileIndex::find_global(const std::string& name) const {
  for (size_t i = 0; i < names.size(); ++i)
    if (names[i].kind <= NameKind::task && names[i].name == name) return int(i);
  return -1;
}

FileIndex index_names(const File& file, const std::vector<Token>& tokens) {
  FileIndex out;
  Indexer(file, tokens, out).run();
  return out;
}

}  // namespace cs::csl
