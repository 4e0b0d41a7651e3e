// Derivatives of elementwise rows, written in rows of the table.
//
// What is lowered is the product of the upstream gradient with the derivative, not the derivative itself: a
// condition becomes a choice between the gradient and 0, 1 / x a quotient. So a gradient that does not pass
// is 0 and never 0 * inf, and nothing is multiplied by 1.
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "runtime/ops/gradient_steps.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

bool is_comparison(ExprKind k) {
  return (k >= ExprKind::lt && k <= ExprKind::ne) || k == ExprKind::logical_not;
}

class Lowering {
 public:
  Lowering(const Expr& e, GradientSteps& s, std::vector<std::string> inputs, DataType dtype)
      : e_(e), s_(s), inputs_(std::move(inputs)), dtype_(dtype) {}

  // dy times node n; nothing where that is 0.
  std::optional<std::string> times(const std::string& dy, int n) {
    const ExprNode& x = e_.nodes[size_t(n)];
    if (x.kind == ExprKind::constant && x.value == 0) return std::nullopt;
    if (x.kind == ExprKind::constant && x.value == 1) return dy;
    if (x.kind == ExprKind::constant && x.value == -1) return s_.add("neg", {dy});
    if (x.kind == ExprKind::neg) {
      const auto a = times(dy, x.a);
      return a ? std::optional(s_.add("neg", {*a})) : std::nullopt;
    }
    if (is_comparison(x.kind)) return s_.add("where", {truth(n), dy, number(0)});
    if (x.kind == ExprKind::select) {
      const auto a = times(dy, x.b), b = times(dy, x.c);
      if (!a && !b) return std::nullopt;
      return s_.add("where", {truth(x.a), a ? *a : number(0), b ? *b : number(0)});
    }
    // (x > 0) - (x < 0)
    if (x.kind == ExprKind::sub && is_comparison(e_.nodes[size_t(x.a)].kind)) {
      const auto a = times(dy, x.a), b = times(dy, x.b);
      return s_.add("sub", {*a, *b});
    }
    if (x.kind == ExprKind::div) {
      const auto a = times(dy, x.a);
      return a ? std::optional(s_.add("div", {*a, value(x.b)})) : std::nullopt;
    }
    if (x.kind == ExprKind::mul && e_.nodes[size_t(x.a)].kind == ExprKind::constant)
      return s_.add("mul", {s_.add("mul", {dy, value(x.b)}), value(x.a)});
    return s_.add("mul", {dy, value(n)});
  }

 private:
  std::string number(double v) {
    auto [it, fresh] = constants_.try_emplace(v);
    if (fresh) it->second = s_.constant(v, dtype_);
    return it->second;
  }

  // The name of node n as a number.
  std::string value(int n) {
    if (const auto known = values_.find(n); known != values_.end()) return known->second;
    return values_[n] = make_value(e_.nodes[size_t(n)], n);
  }

  std::string make_value(const ExprNode& x, int n) {
    if (x.kind == ExprKind::constant) return number(x.value);
    if (x.kind == ExprKind::input) return inputs_[size_t(x.index)];
    if (is_comparison(x.kind)) return s_.add("where", {truth(n), number(1), number(0)});
    if (x.kind == ExprKind::select) return s_.add("where", {truth(x.a), value(x.b), value(x.c)});
    if (x.kind == ExprKind::mul && x.a == x.b) return s_.add("square", {value(x.a)});
    std::vector<std::string> operands = {value(x.a)};
    if (x.b >= 0) operands.push_back(value(x.b));
    // The other kinds have rows of their names.
    return s_.add(std::string(expr_kind_name(x.kind)), operands);
  }

  // The name of node n as a condition.
  std::string truth(int n) {
    if (const auto known = truths_.find(n); known != truths_.end()) return known->second;
    return truths_[n] = make_truth(e_.nodes[size_t(n)], n);
  }

  std::string make_truth(const ExprNode& x, int n) {
    static const std::map<ExprKind, std::string> kRows = {{ExprKind::lt, "less"},
                                                          {ExprKind::le, "less_or_equal"},
                                                          {ExprKind::gt, "greater"},
                                                          {ExprKind::ge, "greater_or_equal"},
                                                          {ExprKind::eq, "equal"}};
    if (x.kind == ExprKind::logical_not) return s_.add("not", {truth(x.a)});
    if (x.kind == ExprKind::ne) return s_.add("not", {s_.add("equal", {value(x.a), value(x.b)})});
    if (const auto row = kRows.find(x.kind); row != kRows.end())
      return s_.add(row->second, {value(x.a), value(x.b)});
    return s_.add("is_not_zero", {value(n)});
  }

  const Expr& e_;
  GradientSteps& s_;
  std::vector<std::string> inputs_;
  DataType dtype_;
  std::map<int, std::string> values_, truths_;
  std::map<double, std::string> constants_;
};

// Within two bounds of which one is infinite is within the other: only NaN is not below infinity, and that is
// within none.
Expr without_open_bound(const Expr& e) {
  const ExprNode& root = e.nodes[size_t(e.root)];
  const auto of = [&](int n) -> const ExprNode& { return e.nodes[size_t(n)]; };
  if (root.kind != ExprKind::select || of(root.c).kind != ExprKind::constant || of(root.c).value != 0)
    return e;
  const auto open = [&](int n, ExprKind kind, double bound) {
    const ExprNode& x = of(n);
    return x.kind == kind && of(x.b).kind == ExprKind::constant && of(x.b).value == bound;
  };
  const auto bounds = [&](int n) { return is_comparison(of(n).kind) && of(n).kind != ExprKind::ne; };
  if (!bounds(root.a) || !bounds(root.b) || of(root.a).a != of(root.b).a) return e;
  Expr other = e;
  if (open(root.b, ExprKind::le, HUGE_VAL))
    other.root = root.a;
  else if (open(root.a, ExprKind::ge, -HUGE_VAL))
    other.root = root.b;
  return prune(other);
}

// The derivative to operand k, attributes bound.
Expr derivative_of(const OpDef& op, const Attrs& attrs, size_t k) {
  std::string_view text = op.derivative;
  for (size_t i = 0; i < k; ++i) text.remove_prefix(std::min(text.find(';'), text.size() - 1) + 1);
  std::vector<std::string_view> names = op.operands, attr_names;
  names.push_back("y");
  for (const AttrDef& a : op.attrs) attr_names.push_back(a.name);
  std::string error;
  const auto e = parse_expr(text.substr(0, text.find(';')), names, attr_names, error);
  CS_CHECK(e.has_value(), fmt::format("derivative of {}: {}", op.name, error));
  return without_open_bound(prune(bind_attrs(*e, with_defaults(op, attrs))));
}

}  // namespace

bool gradient_of_expression(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  std::vector<std::string> names;
  for (size_t k = 0; k < c.op.operands.size(); ++k) names.push_back(GradientSteps::x(k));
  names.push_back(GradientSteps::y());
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    if (!c.wants(k)) continue;
    const Expr e = derivative_of(c.op, c.attrs, k);
    const auto dx = Lowering(e, s, names, c.outputs[0].dtype).times(GradientSteps::dy(), e.root);
    if (dx) s.give(k, *dx, c.outputs[0].shape);
  }
  return true;
}

bool gradient_of_where(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  const std::string zero = s.constant(0, c.outputs[0].dtype);
  if (c.wants(1)) s.give(1, s.add("where", {"x0", "dy0", zero}), s.out().shape);
  if (c.wants(2)) s.give(2, s.add("where", {"x0", zero, "dy0"}), s.out().shape);
  return true;
}

bool gradient_of_cast(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  s.give(0, s.in().dtype == s.out().dtype ? "dy0" : s.cast("dy0", s.in().dtype));
  return true;
}

// b * a^(b - 1), which is 0 where b is 0, whatever a is; y * log(a), which is 0 where a is 0 and b is not
// negative. The exponent may have another type.
bool gradient_of_pow(const GradientCall& c, std::vector<DecompositionStep>& steps, std::string&) {
  GradientSteps s(c, steps);
  const DataType type = s.out().dtype;
  const std::string b = s.in(1).dtype == type ? "x1" : s.cast("x1", type), zero = s.constant(0, type),
                    one = s.constant(1, type);
  if (c.wants(0)) {
    const std::string power = s.add("pow", {"x0", s.add("sub", {b, one})});
    const std::string whole = s.add("mul", {"dy0", s.add("mul", {b, power})});
    s.give(0, s.add("where", {s.add("equal", {b, zero}), zero, whole}), s.out().shape);
  }
  if (c.wants(1)) {
    const std::string still =
        s.add("and", {s.add("equal", {"x0", zero}), s.add("greater_or_equal", {b, zero})});
    const std::string whole = s.add("mul", {"dy0", s.add("mul", {"y0", s.add("log", {"x0"})})});
    const std::string part = s.add("where", {still, zero, whole});
    s.give(1, s.in(1).dtype == type ? part : s.cast(part, s.in(1).dtype), s.out().shape);
  }
  return true;
}

}  // namespace cs::ops
