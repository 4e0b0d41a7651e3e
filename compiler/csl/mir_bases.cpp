// Pass `bases`: beside a register an access names at most kMostOffset bytes, so where its offset is an
// address a register gets the sum (decision 26). Accesses to one variable by one index share it.
//
// Comes after everything else: passes that ask where an access goes want to see the variable.
#include <algorithm>
#include <cstdlib>
#include <vector>

#include "compiler/csl/mir_flow.h"
#include "compiler/csl/mir_passes.h"

namespace cs::csl::mir {
namespace {

using isa::Operand;

struct Sum {
  Operand index, symbol, reg;  // reg = index + symbol
  bool operator==(const Sum&) const = default;
};

bool same_variable(const Operand& a, const Operand& b) { return a.kind == b.kind && a.value == b.value; }

class Bases {
 public:
  Bases(MirFunction& f, Code& code) : f_(f), code_(code), edit_(code), blocks_(find_blocks(code)) {}

  bool run() {
    ends_.resize(blocks_.size());
    for (uint32_t b = 0; b < blocks_.size(); ++b) {
      begin(b);
      for (uint32_t i = blocks_[b].first; i < blocks_[b].last; ++i) {
        edit_.begin(i);
        Line line = code_.lines[i];
        if (is_load(line.inst.op)) rewrite(line, 1);
        if (is_store(line.inst.op)) rewrite(line, 0);
        edit_.push(line);
        forget(line);
      }
      ends_[b] = sums_;
    }
    edit_.finish();
    return changed_;
  }

 private:
  // Where ways join, what all of them know; in a loop, what no trip changes.
  void begin(uint32_t b) {
    sums_.clear();
    const auto around = find_around(blocks_, b);
    if (!around) return;
    bool first = true;
    for (uint32_t p : blocks_[b].predecessors) {
      if (p >= b) continue;
      const std::vector<Sum>& end = ends_[p];
      if (first) sums_ = end;
      std::erase_if(sums_, [&](const Sum& s) { return std::find(end.begin(), end.end(), s) == end.end(); });
      first = false;
    }
    for (uint32_t other : *around)
      for (uint32_t i = blocks_[other].first; i < blocks_[other].last; ++i) forget(code_.lines[i]);
  }

  void forget(const Line& line) {
    if (line.call >= 0) sums_.clear();
    for_each_register(f_, line, [&](const Operand& o, bool, bool written) {
      if (written) std::erase_if(sums_, [&](const Sum& s) { return s.index.value == o.value; });
    });
  }

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
      Line base{.loc = line.loc}, add{.loc = line.loc};
      const Operand sum_reg{isa::OperandKind::reg, code_.next_virtual++, 0};
      base.inst.op = isa::Op::imov16;
      base.inst.args = {sum_reg, offset, {}, {}};
      add.inst.op = isa::Op::add16;
      add.inst.args = {sum_reg, sum_reg, index, {}};
      edit_.push(base);
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
  const std::vector<Block> blocks_;
  std::vector<Sum> sums_;
  std::vector<std::vector<Sum>> ends_;  // by block: what is known behind it
  bool changed_ = false;
};

}  // namespace

bool add_bases(Context&, MirFunction& f, Code& code) {
  // An addition in front of one that takes a carry would change it.
  return !reads_carry(code) && Bases(f, code).run();
}

}  // namespace cs::csl::mir
