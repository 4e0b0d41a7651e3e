// Values of one function, numbered: two registers with the same number hold the same bits.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <vector>

#include "compiler/csl/mir_memory.h"

namespace cs::csl::mir {

using ValueId = uint32_t;  // 0: not numbered yet

// Gives 0 or 1.
bool is_comparison(isa::Op);

class ValueTable {
 public:
  struct Expression {
    isa::Op op{};
    std::array<ValueId, 3> args{};
    bool operator==(const Expression&) const = default;
    auto operator<=>(const Expression&) const = default;
  };

  ValueId fresh();
  ValueId literal(int32_t value, bool wide);
  ValueId symbol(const isa::Operand&);
  // The value of a scalar instruction over values; what is known of its operands is used (literals,
  // identities).
  ValueId expression(isa::Op, std::array<ValueId, 3> args, int count, bool wide);

  std::optional<int32_t> literal_of(ValueId v) const { return facts_[v].literal; }
  std::optional<isa::Operand> symbol_of(ValueId v) const { return facts_[v].symbol; }
  // v is base + literal (16 bits): both.
  std::optional<std::pair<ValueId, int32_t>> sum_of(ValueId v) const { return facts_[v].sum; }
  const std::optional<Expression>& made_by(ValueId v) const { return facts_[v].made_by; }
  // v, of 16 bits, lies between the two: 0 <= low, high <= 32767.
  void bound(ValueId v, int32_t low, int32_t high) { facts_[v].range = {low, high}; }

 private:
  struct Fact {
    std::optional<int32_t> literal;
    std::optional<isa::Operand> symbol;
    std::optional<std::pair<ValueId, int32_t>> sum;
    std::optional<Expression> made_by;
    std::optional<std::pair<int32_t, int32_t>> range;
    std::vector<ValueId> terms;  // of a sum of 16 bits: what it adds, in order of numbers
  };
  std::optional<ValueId> comparison(isa::Op, const std::array<ValueId, 3>& args);
  std::optional<ValueId> identity(isa::Op, const std::array<ValueId, 3>& args, bool wide);
  ValueId sum(ValueId base, int32_t by);
  ValueId sum_of_terms(ValueId a, ValueId b);
  bool is_truth(ValueId) const;

  std::vector<Fact> facts_ = std::vector<Fact>(1);
  std::map<Expression, ValueId> expressions_;
  std::map<std::pair<int32_t, bool>, ValueId> literals_;
  std::map<std::array<int32_t, 3>, ValueId> symbols_;
  std::map<std::pair<ValueId, int32_t>, ValueId> sums_;
  std::map<std::vector<ValueId>, ValueId> term_sums_;
};

}  // namespace cs::csl::mir
