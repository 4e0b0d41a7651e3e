// Prints statements and declarations. See ast_printer.h.
#include <fmt/format.h>

#include <string_view>

#include "compiler/csl/ast_printer.h"

namespace cs::csl::ast {

void Printer::file(const File& file) {
  for (const Decl* d : file.decls) decl(d);
}

void Printer::stmt(const Stmt* s) {
  indent();
  open_stmt(s, true);
  out += "\n";
}

void Printer::indent() { out.append(size_t(depth_) * 2, ' '); }

void Printer::tail(const Expr* e) {
  bool wrap = ends_open(e);
  if (wrap) out += "(";
  expr(e);
  if (wrap) out += ")";
}

void Printer::prongs(const std::vector<const Prong*>& items) {
  out += "{\n";
  ++depth_;
  for (const Prong* p : items) {
    indent();
    if (p->items.empty()) out += "else";
    for (size_t i = 0; i < p->items.size(); ++i) {
      if (i > 0) out += ", ";
      expr(p->items[i].first);
      if (!p->items[i].last) continue;
      out += " ... ";
      expr(p->items[i].last);
    }
    out += " => ";
    open_stmt(p->body, false);
    out += ",\n";
  }
  --depth_;
  indent();
  out += "}";
}

void Printer::block(const Block& b) {
  if (!b.label.empty()) out += b.label + ": ";
  if (b.is_comptime) out += "comptime ";
  out += "{\n";
  ++depth_;
  for (const Stmt* s : b.body) stmt(s);
  --depth_;
  indent();
  out += "}";
}

// At the beginning of a statement `if`, `switch`, `{` and `comptime {` are read as statements.
void Printer::statement_expr(const Expr* e) {
  bool wrap = tightness(e) == 0 && e->kind != ExprKind::tensor_access;
  if (wrap) out += "(";
  expr(e);
  if (wrap) out += ")";
}

void Printer::open_stmt(const Stmt* s, bool terminated) {
  std::string_view end = terminated ? ";" : "";
  switch (s->kind) {
    case StmtKind::block:
      block(as<Block>(s));
      break;
    case StmtKind::decl:
      variable(static_cast<const Variable&>(*as<DeclStmt>(s).decl));
      out += ";";
      break;
    case StmtKind::expr:
      statement_expr(as<ExprStmt>(s).expr);
      out += end;
      break;
    case StmtKind::assign: {
      const Assign& a = as<Assign>(s);
      statement_expr(a.target);
      out += a.compound ? fmt::format(" {}= ", spelling(a.op)) : " = ";
      tail(a.value);
      out += end;
      break;
    }
    case StmtKind::if_stmt:
      if_stmt(as<If>(s), terminated);
      break;
    case StmtKind::while_stmt:
    case StmtKind::for_stmt:
      loop(s);
      break;
    case StmtKind::switch_stmt:
      out += "switch (";
      expr(as<Switch>(s).subject);
      out += ") ";
      prongs(as<Switch>(s).prongs);
      break;
    case StmtKind::return_stmt:
      jump("return", {}, as<Return>(s).value, end);
      break;
    case StmtKind::break_stmt:
      jump("break", as<Break>(s).label, as<Break>(s).value, end);
      break;
    case StmtKind::continue_stmt:
      jump("continue", as<Continue>(s).label, nullptr, end);
      break;
  }
}

void Printer::jump(const char* word, const std::string& label, const Expr* value, std::string_view end) {
  out += word;
  if (!label.empty()) out += " :" + label;
  if (value) {
    out += " ";
    tail(value);
  }
  out += end;
}

bool Printer::simple(const Stmt* s) {
  return s->kind == StmtKind::expr || s->kind == StmtKind::assign || s->kind == StmtKind::return_stmt ||
         s->kind == StmtKind::break_stmt || s->kind == StmtKind::continue_stmt;
}

void Printer::if_stmt(const If& node, bool terminated) {
  out += "if (";
  expr(node.condition);
  out += ") ";
  open_stmt(node.then, simple(node.then) ? terminated && !node.otherwise : terminated);
  if (!node.otherwise) return;
  out += " else ";
  open_stmt(node.otherwise, terminated);
}

void Printer::loop(const Stmt* s) {
  const While* w = try_as<While>(s);
  const std::string& label = w ? w->label : as<For>(s).label;
  if (!label.empty()) out += label + ": ";
  if (w ? w->is_inline : as<For>(s).is_inline) out += "inline ";
  if (w) {
    out += "while (";
    expr(w->condition);
    out += ") ";
    if (w->step) {
      out += ": (";
      open_stmt(w->step, false);
      out += ") ";
    }
    open_stmt(w->body, true);
    return;
  }
  const For& f = as<For>(s);
  out += "for (";
  expr(f.range);
  out += fmt::format(") |{}{}{}{}| ", f.value_is_pointer ? "*" : "", f.value, f.index.empty() ? "" : ", ",
                     f.index);
  open_stmt(f.body, true);
}

void Printer::attributes(const Attributes& a) {
  auto one = [&](const char* word, const Expr* value) {
    if (!value) return;
    out += fmt::format(" {}(", word);
    expr(value);
    out += ")";
  };
  one("align", a.alignment);
  one("linkname", a.link_name);
  one("linksection", a.link_section);
}

void Printer::linkage(Linkage l) {
  if (l == Linkage::exported) out += "export ";
  if (l == Linkage::external) out += "extern ";
}

void Printer::variable(const Variable& v) {
  linkage(v.attributes.linkage);
  if (v.is_comptime) out += "comptime ";
  out += v.variable_kind == VariableKind::constant   ? "const "
         : v.variable_kind == VariableKind::variable ? "var "
                                                     : "param ";
  out += v.name;
  if (v.type) {
    out += ": ";
    element(v.type);
  }
  attributes(v.attributes);
  if (v.value) {
    out += " = ";
    expr(v.value);
  }
}

void Printer::decl(const Decl* d) {
  if (const Variable* v = try_as<Variable>(d)) {
    variable(*v);
    out += ";";
  } else if (const Function* f = try_as<Function>(d)) {
    linkage(f->attributes.linkage);
    if (f->is_inline) out += "inline ";
    out += fmt::format("{} {}(", f->is_task ? "task" : "fn", f->name);
    params(f->params);
    out += ")";
    attributes(f->attributes);
    out += " ";
    element(f->result);
    if (f->body) {
      out += " ";
      block(*f->body);
    } else {
      out += ";";
    }
  } else if (const Layout* l = try_as<Layout>(d)) {
    out += "layout ";
    block(*l->body);
  } else {
    out += "comptime ";
    block(*as<ComptimeBlock>(d).body);
  }
  out += "\n";
}

}  // namespace cs::csl::ast
