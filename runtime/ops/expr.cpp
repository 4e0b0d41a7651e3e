// Expr builders with folding and reuse, substitution, attribute binding, and the text form.
#include "runtime/ops/expr.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "runtime/support/diag.h"

namespace cs::ops {

namespace {

struct KindRow {
  ExprKind kind;
  const char* name;
  int arity;
};

constexpr std::array<KindRow, 29> kKinds = {{
    {ExprKind::constant, "constant", 0},
    {ExprKind::input, "input", 0},
    {ExprKind::attr, "attr", 0},
    {ExprKind::add, "add", 2},
    {ExprKind::sub, "sub", 2},
    {ExprKind::mul, "mul", 2},
    {ExprKind::div, "div", 2},
    {ExprKind::neg, "neg", 1},
    {ExprKind::abs, "abs", 1},
    {ExprKind::min, "min", 2},
    {ExprKind::max, "max", 2},
    {ExprKind::exp, "exp", 1},
    {ExprKind::log, "log", 1},
    {ExprKind::sqrt, "sqrt", 1},
    {ExprKind::tanh, "tanh", 1},
    {ExprKind::erf, "erf", 1},
    {ExprKind::sin, "sin", 1},
    {ExprKind::cos, "cos", 1},
    {ExprKind::pow, "pow", 2},
    {ExprKind::floor, "floor", 1},
    {ExprKind::ceil, "ceil", 1},
    {ExprKind::round, "round", 1},
    {ExprKind::lt, "lt", 2},
    {ExprKind::le, "le", 2},
    {ExprKind::gt, "gt", 2},
    {ExprKind::ge, "ge", 2},
    {ExprKind::eq, "eq", 2},
    {ExprKind::ne, "ne", 2},
    {ExprKind::logical_not, "not", 1},
}};

// Operators of the text form: symbol and binding strength.
struct Infix {
  ExprKind kind;
  const char* symbol;
  int strength;
};
constexpr std::array<Infix, 10> kInfix = {{
    {ExprKind::lt, "<", 1},
    {ExprKind::le, "<=", 1},
    {ExprKind::gt, ">", 1},
    {ExprKind::ge, ">=", 1},
    {ExprKind::eq, "==", 1},
    {ExprKind::ne, "!=", 1},
    {ExprKind::add, "+", 2},
    {ExprKind::sub, "-", 2},
    {ExprKind::mul, "*", 3},
    {ExprKind::div, "/", 3},
}};

int push(Expr& e, ExprNode node) {
  // An equal node lies behind its operands: in a long chain that is the end.
  for (size_t i = size_t(std::max({node.a, node.b, node.c}) + 1); i < e.nodes.size(); ++i) {
    const ExprNode& o = e.nodes[i];
    // Constants are told apart by bits: 0 and -0 differ, NaN equals itself.
    if (o.kind == ExprKind::constant && node.kind == ExprKind::constant) {
      if (std::signbit(o.value) == std::signbit(node.value) &&
          (o.value == node.value || (std::isnan(o.value) && std::isnan(node.value)))) {
        return int(i);
      }
    } else if (o == node) {
      return int(i);
    }
  }
  e.nodes.push_back(std::move(node));
  return int(e.nodes.size()) - 1;
}

bool is_constant(const Expr& e, int i) { return i >= 0 && e.nodes[size_t(i)].kind == ExprKind::constant; }
double constant_value(const Expr& e, int i) { return e.nodes[size_t(i)].value; }

// Copies the part of `from` below its root into `to`; `leaf` gives the index of an input or attribute.
template <typename Leaf>
int copy_into(Expr& to, const Expr& from, const Leaf& leaf) {
  std::vector<int> map(from.nodes.size(), -1);
  for (size_t i = 0; i < from.nodes.size(); ++i) {
    const ExprNode& n = from.nodes[i];
    auto at = [&](int k) { return k < 0 ? -1 : map[size_t(k)]; };
    switch (n.kind) {
      case ExprKind::constant:
        map[i] = to.constant(n.value);
        break;
      case ExprKind::input:
      case ExprKind::attr:
        map[i] = leaf(n);
        break;
      default:
        map[i] = to.make(n.kind, at(n.a), at(n.b), at(n.c));
    }
  }
  return map[size_t(from.root)];
}

}  // namespace

Expr prune(const Expr& e) {
  std::vector<char> needed(e.nodes.size(), 0);
  needed[size_t(e.root)] = 1;
  for (size_t i = e.nodes.size(); i-- > 0;) {
    if (!needed[i]) continue;
    for (int k : {e.nodes[i].a, e.nodes[i].b, e.nodes[i].c}) {
      if (k >= 0) needed[size_t(k)] = 1;
    }
  }
  Expr out;
  std::vector<int> map(e.nodes.size(), -1);
  for (size_t i = 0; i < e.nodes.size(); ++i) {
    if (!needed[i]) continue;
    ExprNode n = e.nodes[i];
    for (int* k : {&n.a, &n.b, &n.c}) {
      if (*k >= 0) *k = map[size_t(*k)];
    }
    map[i] = int(out.nodes.size());
    out.nodes.push_back(std::move(n));
  }
  out.root = map[size_t(e.root)];
  return out;
}

namespace {

std::string number_text(double v) {
  if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
  if (std::isnan(v)) return "nan";
  return fmt::format("{}", v);
}

std::string text_of(const Expr& e, int i, int outer, std::span<const std::string> names) {
  const ExprNode& n = e.nodes[size_t(i)];
  auto wrap = [&](int strength, const std::string& s) { return strength < outer ? "(" + s + ")" : s; };
  if (n.kind == ExprKind::constant) {
    return std::signbit(n.value) ? wrap(4, number_text(n.value)) : number_text(n.value);
  }
  if (n.kind == ExprKind::attr) return n.name;
  if (n.kind == ExprKind::input) {
    return size_t(n.index) < names.size() ? names[size_t(n.index)] : fmt::format("in{}", n.index);
  }
  if (n.kind == ExprKind::neg) return wrap(4, "-" + text_of(e, n.a, 5, names));
  for (const Infix& op : kInfix) {
    if (op.kind != n.kind) continue;
    // Left-associative: the right operand needs brackets at equal strength.
    return wrap(op.strength, fmt::format("{} {} {}", text_of(e, n.a, op.strength, names), op.symbol,
                                         text_of(e, n.b, op.strength + 1, names)));
  }
  std::string s = fmt::format("{}({}", expr_kind_name(n.kind), text_of(e, n.a, 0, names));
  if (n.b >= 0) s += ", " + text_of(e, n.b, 0, names);
  if (n.c >= 0) s += ", " + text_of(e, n.c, 0, names);
  return s + ")";
}

}  // namespace

std::string_view expr_kind_name(ExprKind kind) {
  if (kind == ExprKind::select) return "select";
  return kKinds[size_t(kind)].name;
}

int expr_arity(ExprKind kind) { return kind == ExprKind::select ? 3 : kKinds[size_t(kind)].arity; }

int Expr::constant(double value) {
  ExprNode n;
  n.value = value;
  return push(*this, std::move(n));
}

int Expr::input(int index) {
  ExprNode n;
  n.kind = ExprKind::input;
  n.index = index;
  return push(*this, std::move(n));
}

int Expr::attr(std::string name) {
  ExprNode n;
  n.kind = ExprKind::attr;
  n.name = std::move(name);
  return push(*this, std::move(n));
}

int Expr::make(ExprKind kind, int a, int b, int c) {
  CS_CHECK(kind != ExprKind::constant && kind != ExprKind::input && kind != ExprKind::attr,
           "leaf has its own builder");
  ExprNode n;
  n.kind = kind;
  n.a = a;
  n.b = b;
  n.c = c;
  if (kind == ExprKind::select && is_constant(*this, a)) return constant_value(*this, a) != 0 ? b : c;
  // Exact identities only: x * 1, x / 1.
  if (kind == ExprKind::mul && is_constant(*this, a) && constant_value(*this, a) == 1) return b;
  if ((kind == ExprKind::mul || kind == ExprKind::div) && is_constant(*this, b) &&
      constant_value(*this, b) == 1) {
    return a;
  }
  bool all_constant = true;
  for (int k = 0; k < expr_arity(kind); ++k)
    all_constant = all_constant && is_constant(*this, k == 0 ? a : k == 1 ? b : c);
  if (all_constant) {
    Expr one;
    for (int k : {a, b, c}) {
      if (k >= 0) one.nodes.push_back(nodes[size_t(k)]);
    }
    ExprNode op = n;
    op.a = 0;
    op.b = b >= 0 ? 1 : -1;
    op.c = c >= 0 ? 2 : -1;
    one.nodes.push_back(op);
    one.root = int(one.nodes.size()) - 1;
    std::vector<double> scratch;
    return constant(expr_value<double>(one, {}, scratch));
  }
  return push(*this, std::move(n));
}

int Expr::inputs() const {
  int n = 0;
  for (const ExprNode& node : nodes) {
    if (node.kind == ExprKind::input) n = std::max(n, node.index + 1);
  }
  return n;
}

bool Expr::uses_input(int index) const {
  for (const ExprNode& node : nodes) {
    if (node.kind == ExprKind::input && node.index == index) return true;
  }
  return false;
}

std::string expr_text(const Expr& e, std::span<const std::string> names) {
  return text_of(e, e.root, 0, names);
}

Expr bind_attrs(const Expr& e, const Attrs& attrs) {
  Expr out;
  out.root = copy_into(out, e, [&](const ExprNode& n) {
    if (n.kind == ExprKind::input) return out.input(n.index);
    for (const auto& [name, value] : attrs) {
      if (name != n.name) continue;
      if (const auto* i = std::get_if<int64_t>(&value)) return out.constant(double(*i));
      if (const auto* d = std::get_if<double>(&value)) return out.constant(*d);
    }
    return out.attr(n.name);
  });
  return prune(out);
}

int append(Expr& to, const Expr& outer, std::span<const int> operands) {
  return copy_into(to, outer, [&](const ExprNode& n) {
    if (n.kind == ExprKind::attr) return to.attr(n.name);
    CS_CHECK(size_t(n.index) < operands.size(), "operand without an expression");
    return operands[size_t(n.index)];
  });
}

Expr substitute(const Expr& outer, std::span<const Expr> inner) {
  Expr out;
  std::vector<int> roots;
  for (const Expr& e : inner) {
    roots.push_back(copy_into(out, e, [&](const ExprNode& n) {
      return n.kind == ExprKind::input ? out.input(n.index) : out.attr(n.name);
    }));
  }
  out.root = append(out, outer, roots);
  return prune(out);
}

}  // namespace cs::ops
