// Prints expressions and types. See ast_printer.h.
#include <fmt/format.h>

#include "compiler/csl/ast_printer.h"

namespace cs::csl::ast {
namespace {

int precedence(BinaryOp op) {
  switch (op) {
    case BinaryOp::logical_or:
      return 1;
    case BinaryOp::logical_and:
      return 2;
    case BinaryOp::eq:
    case BinaryOp::ne:
    case BinaryOp::lt:
    case BinaryOp::le:
    case BinaryOp::gt:
    case BinaryOp::ge:
      return 3;
    case BinaryOp::bit_and:
    case BinaryOp::bit_or:
    case BinaryOp::bit_xor:
      return 4;
    case BinaryOp::shl:
    case BinaryOp::shr:
      return 5;
    case BinaryOp::add:
    case BinaryOp::sub:
      return 6;
    default:
      return 7;
  }
}
std::string quote(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\')
      out += fmt::format("\\{}", c);
    else if (c == '\n')
      out += "\\n";
    else if (byte < 0x20 || byte == 0x7F)
      out += fmt::format("\\x{:02x}", byte);
    else
      out += c;
  }
  return out + "\"";
}

}  // namespace

int tightness(const Expr* e) {
  switch (e->kind) {
    case ExprKind::binary:
      return precedence(as<Binary>(e).op);
    case ExprKind::if_expr:
    case ExprKind::switch_expr:
    case ExprKind::block_expr:
    case ExprKind::tensor_access:
      return 0;
    case ExprKind::unary:
    case ExprKind::address_of:
    case ExprKind::comptime_expr:
    case ExprKind::array_type:
    case ExprKind::pointer_type:
    case ExprKind::function_type:
      return kPrefix;
    default:
      return kPostfix;
  }
}

void Printer::expr(const Expr* e) {
  switch (e->kind) {
    case ExprKind::integer:
      out += as<Integer>(e).text;
      break;
    case ExprKind::floating:
      out += as<Floating>(e).text;
      break;
    case ExprKind::string:
      out += quote(as<String>(e).value);
      break;
    case ExprKind::boolean:
      out += as<Boolean>(e).value ? "true" : "false";
      break;
    case ExprKind::undefined:
      out += "undefined";
      break;
    case ExprKind::null:
      out += "null";
      break;
    case ExprKind::identifier:
      out += as<Identifier>(e).name;
      break;
    case ExprKind::enum_literal:
      out += "." + as<EnumLiteral>(e).name;
      break;
    case ExprKind::unary:
      out += spelling(as<Unary>(e).op);
      operand(as<Unary>(e).operand, kPrefix);
      break;
    case ExprKind::address_of:
      out += "&";
      operand(as<AddressOf>(e).operand, kPrefix);
      break;
    case ExprKind::comptime_expr:
      out += "comptime ";
      operand(as<ComptimeExpr>(e).operand, kPrefix);
      break;
    case ExprKind::binary:
      binary(as<Binary>(e));
      break;
    case ExprKind::builtin:
    case ExprKind::call:
    case ExprKind::index:
    case ExprKind::field:
    case ExprKind::deref:
      access(e);
      break;
    case ExprKind::array_type:
    case ExprKind::pointer_type:
    case ExprKind::function_type:
    case ExprKind::struct_type:
    case ExprKind::enum_type:
      type(e);
      break;
    default:
      compound(e);
      break;
  }
}

void Printer::operand(const Expr* e, int at_least) {
  bool wrap = tightness(e) < at_least;
  if (wrap) out += "(";
  expr(e);
  if (wrap) out += ")";
}

// The tree ends with an `if` that has no else: an else behind it would become its own.
bool Printer::ends_open(const Expr* e) {
  if (const TensorAccess* t = try_as<TensorAccess>(e)) return ends_open(t->body);
  const IfExpr* i = try_as<IfExpr>(e);
  return i && (!i->otherwise || ends_open(i->otherwise));
}

void Printer::list(const std::vector<const Expr*>& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    expr(items[i]);
  }
}

void Printer::binary(const Binary& b) {
  int own = precedence(b.op);
  operand(b.left, own == kComparison ? own + 1 : own);
  out += fmt::format(" {} ", spelling(b.op));
  operand(b.right, own + 1);
}

void Printer::access(const Expr* e) {
  if (const Builtin* b = try_as<Builtin>(e)) {
    out += "@" + b->name + "(";
    list(b->args);
    out += ")";
  } else if (const Call* c = try_as<Call>(e)) {
    operand(c->callee, kPostfix);
    out += "(";
    list(c->args);
    out += ")";
  } else if (const Index* i = try_as<Index>(e)) {
    operand(i->base, kPostfix);
    out += "[";
    list(i->indices);
    out += "]";
  } else if (const Field* f = try_as<Field>(e)) {
    number_aware_base(f->base);
    out += "." + f->name;
  } else {
    number_aware_base(as<Deref>(e).base);
    out += ".*";
  }
}

// "1.x" would be read as a number.
void Printer::number_aware_base(const Expr* base) {
  bool wrap = base->kind == ExprKind::integer || base->kind == ExprKind::floating;
  if (wrap) out += "(";
  operand(base, kPostfix);
  if (wrap) out += ")";
}

void Printer::params(const std::vector<Param>& items) {
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) out += ", ";
    if (items[i].is_comptime) out += "comptime ";
    if (!items[i].name.empty()) out += items[i].name + ": ";
    if (items[i].type)
      operand(items[i].type, kPrefix);
    else
      out += "anytype";
  }
}

void Printer::members(const std::vector<Member>& items) {
  out += " { ";
  for (const Member& m : items) {
    out += m.name;
    if (m.type) {
      out += ": ";
      operand(m.type, kPrefix);
    }
    if (m.value) {
      out += " = ";
      expr(m.value);
    }
    out += ", ";
  }
  out += "}";
}

void Printer::tag(const Expr* t) {
  if (!t) return;
  out += "(";
  operand(t, kPrefix);
  out += ")";
}

// In a type no `{` may follow the element: an initialiser there is wrapped.
void Printer::element(const Expr* e) {
  bool wrap = e->kind == ExprKind::init || tightness(e) < kPrefix;
  if (wrap) out += "(";
  expr(e);
  if (wrap) out += ")";
}

void Printer::type(const Expr* e) {
  if (const ArrayType* a = try_as<ArrayType>(e)) {
    out += "[";
    list(a->dimensions);
    out += "]";
    element(a->element);
  } else if (const PointerType* p = try_as<PointerType>(e)) {
    out += p->many ? "[*]" : "*";
    if (p->alignment) {
      out += "align(";
      expr(p->alignment);
      out += ") ";
    }
    if (p->is_const) out += "const ";
    element(p->element);
  } else if (const FunctionType* f = try_as<FunctionType>(e)) {
    out += f->is_task ? "task (" : "fn (";
    params(f->params);
    out += ") ";
    element(f->result);
  } else if (const StructType* s = try_as<StructType>(e)) {
    if (s->layout == StructLayout::external) out += "extern ";
    if (s->layout == StructLayout::packed) out += "packed ";
    out += s->is_union ? "union" : "struct";
    tag(s->tag);
    members(s->members);
  } else {
    const EnumType& n = as<EnumType>(e);
    out += "enum";
    tag(n.tag);
    members(n.members);
  }
}

void Printer::compound(const Expr* e) {
  if (const IfExpr* i = try_as<IfExpr>(e)) {
    out += "if (";
    expr(i->condition);
    out += ") ";
    if (i->otherwise)
      tail(i->then);
    else
      expr(i->then);
    if (i->otherwise) {
      out += " else ";
      expr(i->otherwise);
    }
  } else if (const SwitchExpr* s = try_as<SwitchExpr>(e)) {
    out += "switch (";
    expr(s->subject);
    out += ") ";
    prongs(s->prongs);
  } else if (const BlockExpr* b = try_as<BlockExpr>(e)) {
    block(*b->block);
  } else if (const TensorAccess* t = try_as<TensorAccess>(e)) {
    out += fmt::format("|{}|{{", fmt::join(t->variables, ", "));
    list(t->extents);
    out += "} -> ";
    expr(t->body);
  } else {
    init(as<Init>(e));
  }
}

void Printer::init(const Init& node) {
  if (node.type) {
    expr(node.type);
    out += " ";
  } else {
    out += ".";
  }
  out += "{";
  for (size_t i = 0; i < node.elements.size(); ++i) {
    out += i == 0 ? " " : ", ";
    if (!node.elements[i].name.empty()) out += "." + node.elements[i].name + " = ";
    expr(node.elements[i].value);
  }
  out += node.elements.empty() ? "}" : " }";
}

const char* spelling(BinaryOp op) {
  switch (op) {
    case BinaryOp::add:
      return "+";
    case BinaryOp::sub:
      return "-";
    case BinaryOp::mul:
      return "*";
    case BinaryOp::div:
      return "/";
    case BinaryOp::rem:
      return "%";
    case BinaryOp::bit_and:
      return "&";
    case BinaryOp::bit_or:
      return "|";
    case BinaryOp::bit_xor:
      return "^";
    case BinaryOp::shl:
      return "<<";
    case BinaryOp::shr:
      return ">>";
    case BinaryOp::eq:
      return "==";
    case BinaryOp::ne:
      return "!=";
    case BinaryOp::lt:
      return "<";
    case BinaryOp::le:
      return "<=";
    case BinaryOp::gt:
      return ">";
    case BinaryOp::ge:
      return ">=";
    case BinaryOp::logical_and:
      return "and";
    case BinaryOp::logical_or:
      return "or";
  }
  return "?";
}

const char* spelling(UnaryOp op) {
  return op == UnaryOp::negate ? "-" : op == UnaryOp::logical_not ? "!" : "~";
}

std::string print(const File& file) {
  Printer printer;
  printer.file(file);
  return printer.out;
}

std::string print(const Expr* e) {
  Printer printer;
  printer.expr(e);
  return printer.out;
}

std::string print(const Stmt* s) {
  Printer printer;
  printer.stmt(s);
  return printer.out;
}

}  // namespace cs::csl::ast
