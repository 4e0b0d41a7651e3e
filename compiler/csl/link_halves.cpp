// What reads one half of a pair reads the register that it is: `wunpl r5, p0` and a sum of r5 become a sum of
// r0.
//
// Within a block, from the instruction that takes the half to the last one that reads it, if nothing writes
// the pair between. The moves that are left are those whose value outlives the pair or the block.
#include <algorithm>
#include <optional>

#include "compiler/csl/link_flow.h"

namespace cs::csl::link {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

class Halves {
 public:
  explicit Halves(Function& f) : f_(f), flow_(analyse_flow(f)), keep_(f.code.lines.size(), true) {}

  bool run() {
    bool changed = false;
    for (const BasicBlock& block : flow_.blocks)
      for (uint32_t i = block.first; i < block.last; ++i) changed |= forward(i, block);
    if (!changed) return false;
    Rewriter rewriter(f_.code);
    for (size_t i = 0; i < f_.code.lines.size(); ++i) {
      if (!keep_[i]) continue;
      rewriter.begin(i);
      rewriter.push(f_.code.lines[i]);
    }
    rewriter.finish();
    return true;
  }

 private:
  bool forward(uint32_t at, const BasicBlock& block) {
    const isa::Inst inst = f_.code.lines[at].inst;
    if ((inst.op != Op::wunpl && inst.op != Op::wunph) || inst.args[1].kind != OperandKind::pair)
      return false;
    const int to = inst.args[0].value, from = inst.args[1].value + (inst.op == Op::wunph);
    const std::optional<uint32_t> end = last_read(to, from, at, block);
    if (to == from || !end) return false;
    for (uint32_t i = at + 1; i <= *end; ++i) {
      isa::Inst& there = f_.code.lines[i].inst;
      for_each_register(there, [&](size_t a, bool read, bool written) {
        if (read && !written && is(there.args[a], to)) there.args[a].value = from;
      });
    }
    keep_[at] = false;
    return true;
  }

  static bool is(const Operand& o, int reg) { return o.kind == OperandKind::reg && o.value == reg; }
  static bool touches(const Operand& o, int reg) {
    return o.value == reg || (o.kind == OperandKind::pair && o.value + 1 == reg);
  }

  // The last line that reads what line `at` leaves in register `to`, if `from` serves as well up to there.
  std::optional<uint32_t> last_read(int to, int from, uint32_t at, const BasicBlock& block) const {
    uint32_t last = at;
    for (uint32_t i = at + 1; i < block.last; ++i) {
      const Line& line = f_.code.lines[i];
      bool reads = false, ends = line.clobbers >> to & 1, changes = line.clobbers >> from & 1, plain = true;
      for_each_register(line.inst, [&](size_t a, bool read, bool written) {
        const Operand& o = line.inst.args[a];
        if (touches(o, from)) changes |= written;
        if (!touches(o, to)) return;
        ends |= written;
        reads |= read;
        plain &= !read || (is(o, to) && !written);
      });
      if (line.reads >> to & 1 || !plain) return std::nullopt;
      if (reads) last = i;
      if (ends) return last;
      if (changes) return lives_behind(to, i) ? std::nullopt : std::optional(last);
    }
    return lives_behind(to, block.last - 1) ? std::nullopt : std::optional(last);
  }

  bool lives_behind(int reg, uint32_t line) const {
    const std::vector<Segment>& all = flow_.registers[size_t(reg)].segments;
    return std::any_of(all.begin(), all.end(),
                       [&](const Segment& s) { return s.begin <= 2 * line + 1 && 2 * line + 2 <= s.end; });
  }

  Function& f_;
  const Flow flow_;
  std::vector<bool> keep_;
};

}  // namespace

bool read_halves(Function& f) { return Halves(f).run(); }

}  // namespace cs::csl::link
