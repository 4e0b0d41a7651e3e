// The shortest form of an expression, and the rates of its operations.
#include "compiler/autogen/least_cycles.h"

#include "compiler/autogen/expression.h"
#include "compiler/kernels/cost_parts.h"
#include "runtime/ops/operations.h"

namespace cs::autogen {

namespace {

using ops::Expr;
using ops::ExprKind;
using ops::ExprNode;

class Counter {
 public:
  // `numbers`: nodes that are the same for all elements.
  Counter(const Expr& e, std::vector<bool> numbers, const Machine& m)
      : e_(e), numbers_(std::move(numbers)), m_(m), seen_(e.nodes.size(), false) {}

  // The node and all that it needs, once.
  void add(int i) {
    if (i < 0 || seen_[size_t(i)] || numbers_[size_t(i)]) return;
    seen_[size_t(i)] = true;
    const ExprNode& n = e_.nodes[size_t(i)];
    for (int o : {n.a, n.b, n.c}) add(o);
    count(n);
  }
  void add_cycles(double cycles) { cycles_ += cycles; }
  double cycles() const { return cycles_; }

 private:
  bool is_number(int i) const { return i >= 0 && numbers_[size_t(i)]; }
  // Operands that are read from memory.
  int slices(const ExprNode& n) const {
    int count = 0;
    for (int o : {n.a, n.b, n.c}) count += o >= 0 && !is_number(o) ? 1 : 0;
    return count;
  }
  void count(const ExprNode& n) {
    const int sources = slices(n);
    switch (n.kind) {
      case ExprKind::constant:
      case ExprKind::input:
      case ExprKind::attr:
        break;
      case ExprKind::add:
      case ExprKind::sub:
        if (!has_factor(n.a) && !has_factor(n.b)) cycles_ += 1 / kernels::rate("fadds", sources, m_);
        break;
      case ExprKind::mul:
        cycles_ += 1 / kernels::rate("fmuls", sources, m_);
        break;
      case ExprKind::min:
      case ExprKind::max:
        cycles_ += 1 / kernels::rate("fmaxs", sources, m_);
        break;
      case ExprKind::neg:
        cycles_ += 1 / kernels::rate("fnegs", 1, m_);
        break;
      case ExprKind::abs:
        cycles_ += 1 / kernels::rate("fabss", 1, m_);
        break;
      default:
        if (n.kind == ExprKind::div && is_number(n.b))
          cycles_ += 1 / kernels::rate("fmuls", 1, m_);
        else if (n.kind == ExprKind::div && e_.nodes[size_t(n.b)].kind == ExprKind::sqrt)
          count_root_quotient(n);
        else
          cycles_ += ops::operations_of(n.kind) / m_.peak_flops_per_cycle(false);
    }
  }
  // 1 / sqrt x is what the square root is made of (runtime/ops/operations.cpp); the root is counted.
  void count_root_quotient(const ExprNode& n) {
    const ExprNode& a = e_.nodes[size_t(n.a)];
    if (a.kind == ExprKind::constant && a.value == 1) return;
    cycles_ += 1 / kernels::rate("fmuls", is_number(n.a) ? 1 : 2, m_);
  }
  // A product with a number among its factors: with the addition that takes it, one multiply-add.
  bool has_factor(int i) const {
    if (i < 0 || is_number(i)) return false;
    const ExprNode& n = e_.nodes[size_t(i)];
    if (n.kind == ExprKind::div) return is_number(n.b);
    return n.kind == ExprKind::mul && (slices(n) == 1 || has_factor(n.a) || has_factor(n.b));
  }

  const Expr& e_;
  const std::vector<bool> numbers_;
  const Machine& m_;
  std::vector<bool> seen_;
  double cycles_ = 0;
};

}  // namespace

double least_cycles(const Expr& expr, const Machine& m) {
  const Expr e = rewrite_for_vectors(expr);
  std::vector<bool> numbers;
  for (const ExprNode& n : e.nodes) numbers.push_back(n.kind == ExprKind::constant);
  Counter counter(e, std::move(numbers), m);
  counter.add(e.root);
  return counter.cycles();
}

double least_cycles(const RowGroup& g, const Machine& m) {
  Counter counter(g.expr, g.numbers(), m);
  counter.add(g.expr.root);
  for (const RowInput& in : g.inputs) {
    if (in.of < 0) continue;
    counter.add(in.of);
    counter.add_cycles(1 / kernels::rate(in.kind == RowInputKind::sum ? "fadds" : "fmaxs", 2, m));
  }
  return counter.cycles();
}

}  // namespace cs::autogen
