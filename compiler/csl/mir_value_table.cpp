// Numbers for values: literals, addresses, expressions over them.
#include "compiler/csl/mir_value_table.h"

#include <algorithm>

#include "compiler/csl/mir_fold.h"

namespace cs::csl::mir {

using isa::Op;

namespace {

bool commutes(Op op) {
  constexpr Op kOps[] = {Op::add16, Op::and16, Op::or16,  Op::xor16, Op::imul16, Op::imul16ud, Op::imul16sd,
                         Op::eq16,  Op::add32, Op::and32, Op::or32,  Op::xor32,  Op::imul32,   Op::eq32};
  return std::find(std::begin(kOps), std::end(kOps), op) != std::end(kOps);
}

}  // namespace

ValueId ValueTable::fresh() {
  facts_.emplace_back();
  return ValueId(facts_.size()) - 1;
}

ValueId ValueTable::literal(int32_t value, bool wide) {
  value = normal(value, wide);
  const auto [it, is_new] = literals_.try_emplace({value, wide}, 0);
  if (is_new) {
    it->second = fresh();
    facts_[it->second].literal = value;
  }
  return it->second;
}

ValueId ValueTable::symbol(const isa::Operand& o) {
  const auto [it, is_new] = symbols_.try_emplace({int32_t(o.kind), o.value, o.extra}, 0);
  if (is_new) {
    it->second = fresh();
    facts_[it->second].symbol = o;
  }
  return it->second;
}

// base + by, for a base that is neither literal nor sum.
ValueId ValueTable::sum(ValueId base, int32_t by) {
  by = int16_t(by);
  if (const auto inner = facts_[base].sum) return sum(inner->first, inner->second + by);
  if (by == 0) return base;
  if (facts_[base].symbol) {
    isa::Operand o = *facts_[base].symbol;
    o.extra += by;
    return symbol(o);
  }
  const auto [it, is_new] = sums_.try_emplace({base, by}, 0);
  if (is_new) {
    it->second = fresh();
    facts_[it->second].sum = {base, by};
  }
  return it->second;
}

// a + b of 16 bits, by what they add: (x + y) + z and x + (z + y) hold the same bits.
ValueId ValueTable::sum_of_terms(ValueId a, ValueId b) {
  constexpr size_t kMostTerms = 8;
  std::vector<ValueId> terms;
  int32_t by = 0;
  for (ValueId v : {a, b}) {
    if (const auto& step = facts_[v].sum) by += step->second, v = step->first;
    const std::vector<ValueId>& inner = facts_[v].terms;
    if (inner.empty())
      terms.push_back(v);
    else
      terms.insert(terms.end(), inner.begin(), inner.end());
  }
  std::sort(terms.begin(), terms.end());
  if (terms.size() > kMostTerms) terms = {std::min(a, b), std::max(a, b)}, by = 0;
  const auto [it, is_new] = term_sums_.try_emplace(terms, 0);
  if (is_new) {
    it->second = fresh();
    facts_[it->second].terms = std::move(terms);
  }
  return sum(it->second, by);
}

// x + 0, x & x and the like: one of the operands, or a literal.
std::optional<ValueId> ValueTable::identity(Op op, const std::array<ValueId, 3>& v, bool wide) {
  const auto is = [&](ValueId x, int32_t value) {
    const std::optional<int32_t>& known = facts_[x].literal;
    return known.has_value() && *known == value;
  };
  const ValueId a = v[0], b = v[1];
  switch (op) {
    case Op::add16:
    case Op::add32:
    case Op::or16:
    case Op::or32:
    case Op::xor16:
    case Op::xor32:
      if (is(a, 0)) return v[1];
      if (is(b, 0)) return v[0];
      if ((op == Op::or16 || op == Op::or32) && v[0] == v[1]) return v[0];
      if ((op == Op::xor16 || op == Op::xor32) && v[0] == v[1]) return literal(0, wide);
      return std::nullopt;
    case Op::sub16:
    case Op::sub32:
      if (v[0] == v[1]) return literal(0, wide);
      [[fallthrough]];
    case Op::sll16:
    case Op::slr16:
    case Op::sar16:
    case Op::sll32:
    case Op::slr32:
    case Op::sar32:
      if (is(b, 0)) return v[0];
      return std::nullopt;
    case Op::and16:
    case Op::and32:
      if (is(a, 0) || is(b, 0)) return literal(0, wide);
      if (v[0] == v[1] || is(b, wide ? -1 : 0xFFFF)) return v[0];
      return std::nullopt;
    case Op::imul16:
    case Op::imul32:
      if (is(a, 0) || is(b, 0)) return literal(0, wide);
      if (is(a, 1)) return v[1];
      if (is(b, 1)) return v[0];
      return std::nullopt;
    case Op::select16:
    case Op::select32:
      if (facts_[a].literal.has_value()) return is(a, 0) ? v[2] : v[1];
      if (v[1] == v[2]) return v[1];
      if (!wide && is(v[1], 1) && is(v[2], 0) && is_truth(a)) return a;
      return std::nullopt;
    default:
      return std::nullopt;
  }
}

// A value within known bounds, perhaps with a literal added, against a literal: known, or one and the same
// value for i + 1 < n and i < n - 1.
std::optional<ValueId> ValueTable::comparison(Op op, const std::array<ValueId, 3>& v) {
  const bool strict = op == Op::lt16 || op == Op::ltu16, is_signed = op == Op::lt16 || op == Op::lte16;
  if (!strict && !is_signed && op != Op::lteu16) return std::nullopt;
  const bool left = facts_[v[1]].literal.has_value();  // where the value stands
  const auto& known = facts_[v[left ? 1 : 0]].literal;
  const auto sum = facts_[v[left ? 0 : 1]].sum.value_or(std::pair(v[left ? 0 : 1], 0));
  const auto& range = facts_[sum.first].range;
  if (!known || !range) return std::nullopt;
  const int32_t low = range->first + sum.second, high = range->second + sum.second;
  if (low < (is_signed ? -32768 : 0) || high > 32767) return std::nullopt;
  // base < limit on the left, limit <= base on the right
  const int32_t limit = (is_signed ? int16_t(*known) : *known) + (left != strict) - sum.second;
  if (range->second < limit) return literal(left, false);
  if (range->first >= limit) return literal(!left, false);
  const ValueId other = literal(limit, false);
  const Expression same =
      left ? Expression{Op::lt16, {sum.first, other}} : Expression{Op::lte16, {other, sum.first}};
  const auto [it, is_new] = expressions_.try_emplace(same, 0);
  if (is_new) {
    it->second = fresh();
    facts_[it->second].made_by = same;
  }
  return it->second;
}

bool is_comparison(Op op) {
  switch (op) {
    case Op::eq16:
    case Op::lt16:
    case Op::ltu16:
    case Op::lte16:
    case Op::lteu16:
    case Op::eq32:
    case Op::lt32:
    case Op::ltu32:
    case Op::lte32:
    case Op::lteu32:
    case Op::feqs:
    case Op::flts:
    case Op::flteqs:
    case Op::feqh:
    case Op::flth:
    case Op::flteqh:
      return true;
    default:
      return false;
  }
}

// 0 or 1.
bool ValueTable::is_truth(ValueId v) const {
  const Fact& f = facts_[v];
  if (f.literal.has_value()) return *f.literal == 0 || *f.literal == 1;
  if (!f.made_by) return false;
  if (is_comparison(f.made_by->op)) return true;
  switch (f.made_by->op) {
    case Op::and16:
    case Op::or16:
    case Op::xor16:
      return is_truth(f.made_by->args[0]) && is_truth(f.made_by->args[1]);
    default:
      return false;
  }
}

ValueId ValueTable::expression(Op op, std::array<ValueId, 3> args, int count, bool wide) {
  if (op == Op::mov16 || op == Op::mov32 || op == Op::fmovh || op == Op::fmovs || op == Op::imov16 ||
      op == Op::imov32)
    return args[0];
  if (const auto same = identity(op, args, wide)) return *same;
  std::array<int32_t, 3> known{};
  bool all = true;
  for (int i = 0; i < count; ++i) {
    const auto value = facts_[args[size_t(i)]].literal;
    all = all && value;
    known[size_t(i)] = value.value_or(0);
  }
  if (all)
    if (const auto value = fold(op, known)) return literal(*value, wide);
  if (const auto same = comparison(op, args)) return *same;
  if (commutes(op) && args[1] < args[0]) std::swap(args[0], args[1]);
  if (op == Op::add16 || op == Op::sub16)
    for (int i : {0, 1}) {
      const auto by = facts_[args[size_t(i)]].literal;
      if (by && (op == Op::add16 || i == 1)) return sum(args[size_t(1 - i)], op == Op::add16 ? *by : -*by);
    }
  if (op == Op::add16) return sum_of_terms(args[0], args[1]);
  const auto [it, is_new] = expressions_.try_emplace({op, args}, 0);
  if (is_new) {
    it->second = fresh();
    facts_[it->second].made_by = Expression{op, args};
  }
  return it->second;
}

}  // namespace cs::csl::mir
