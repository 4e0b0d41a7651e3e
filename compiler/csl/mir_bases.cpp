// Pass `bases`: beside a register an access names at most kMostOffset bytes, so where its offset is an
// address a register gets the sum (decision 26). Accesses of a block to one variable by one index share it.
//
// Comes after everything else: passes that ask where an access goes want to see the variable.
#include <cstdlib>
#include <vector>

#include "compiler/csl/mir_passes.h"

namespace cs::csl::mir {
namespace {

using isa::Operand;

struct Sum {
  Operand index, symbol, reg;  // reg = index + symbol
};

bool same_variable(const Operand& a, const Operand& b) { return a.kind == b.kind && a.value == b.value; }

class Bases {
 public:
  Bases(MirFunction& f, Code& code) : f_(f), code_(code), edit_(code) {
    starts_.assign(code.lines.size() + 1, false);
    for (uint32_t l : code.labels) starts_[l] = true;
  }

  bool run() {
    for (size_t i = 0; i < code_.lines.size(); ++i) {
      if (starts_[i]) sums_.clear();
      edit_.begin(i);
      Line line = code_.lines[i];
      if (is_load(line.inst.op)) rewrite(line, 1);
      if (is_store(line.inst.op)) rewrite(line, 0);
      edit_.push(line);
      if (line.call >= 0) sums_.clear();
      for_each_register(f_, line, [&](const Operand& o, bool, bool written) {
        if (written) std::erase_if(sums_, [&](const Sum& s) { return s.index.value == o.value; });
      });
    }
    edit_.finish();
    return changed_;
  }

 private:
  void rewrite(Line& line, size_t base) {
    Operand &index = line.inst.args[base], &offset = line.inst.args[base + 1];
    if (!is_register(index) || !is_symbol(offset)) return;
    changed_ = true;
    const Sum* sum = nullptr;
    for (const Sum& s : sums_)
      if (s.index == index && same_variable(s.symbol, offset) &&
          std::abs(offset.extra - s.symbol.extra) <= kMostOffset)
        sum = &s;
    if (sum == nullptr) {
      Line add{.loc = line.loc};
      add.inst.op = isa::Op::add16;
      add.inst.args = {Operand{isa::OperandKind::reg, code_.next_virtual++, 0}, index, offset, {}};
      edit_.push(add);
      sums_.push_back({index, offset, add.inst.args[0]});
      sum = &sums_.back();
    }
    offset = literal(offset.extra - sum->symbol.extra);
    index = sum->reg;
  }

  MirFunction& f_;
  Code& code_;
  Edit edit_;
  std::vector<bool> starts_;
  std::vector<Sum> sums_;
  bool changed_ = false;
};

}  // namespace

bool add_bases(Context&, MirFunction& f, Code& code) {
  // An addition in front of one that takes a carry would change it.
  return !reads_carry(code) && Bases(f, code).run();
}

}  // namespace cs::csl::mir
