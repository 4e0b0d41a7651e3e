// Pass `thread`: a way to a block that only tests what is known on that way goes on to where the test leads.
//
// The same condition is often tested again a few lines on (`if (last) … else …` twice); a test costs a
// comparison, the wait for it and a jump. What is known of a comparison is what conditional jumps on the way
// here have said of it, as long as nobody has written its operands since.
#include <algorithm>
#include <optional>

#include "compiler/csl/mir_flow.h"
#include "compiler/csl/mir_passes.h"

namespace cs::csl::mir {
namespace {

using isa::Op;
using isa::Operand;

constexpr int kMostSteps = 8;     // blocks that are looked back over
constexpr int kMostChanges = 32;  // in a function: each looks at all blocks again

bool is_condition(Op op) {
  return op == Op::eq16 || op == Op::lt16 || op == Op::ltu16 || op == Op::lte16 || op == Op::lteu16;
}

bool is_test(Op op) { return op == Op::jmpt || op == Op::jmpf; }

class Threader {
 public:
  Threader(MirFunction& f, Code& code) : f_(f), code_(code) {}

  bool run() {
    int changes = 0;
    while (changes < kMostChanges && change_one()) ++changes;
    return changes > 0;
  }

 private:
  bool change_one() {
    blocks_ = find_blocks(code_);
    live_ = find_live(f_, code_, blocks_);
    for (uint32_t b = 0; b < blocks_.size(); ++b) {
      if (!only_tests(b)) continue;
      for (uint32_t p : blocks_[b].predecessors)
        if (p != b && redirect(p, b)) return true;
    }
    return false;
  }

  // A comparison and the jump that reads it, whose result nobody else wants.
  bool only_tests(uint32_t b) const {
    const Block& block = blocks_[b];
    if (block.last - block.first != 2) return false;
    const Line &compare = code_.lines[block.first], &jump = code_.lines[block.first + 1];
    return is_condition(compare.inst.op) && is_test(jump.inst.op) && !compare.ret && !jump.ret &&
           is_virtual(compare.inst.args[0]) && compare.inst.args[0] == jump.inst.args[0] &&
           !live_.out[b].has(compare.inst.args[0].value);
  }

  bool redirect(uint32_t from, uint32_t to) {
    const isa::Inst &compare = code_.lines[blocks_[to].first].inst,
                    &test = code_.lines[blocks_[to].first + 1].inst;
    const auto truth = known(from, to, compare);
    if (!truth) return false;
    const bool taken = *truth == (test.op == Op::jmpt);
    const int32_t target = taken ? test.args[1].value : label_before(blocks_[to].last);
    Line& last = code_.lines[blocks_[from].last - 1];
    if (const int32_t label = target_label(last.inst);
        label >= 0 && code_.labels[size_t(label)] == blocks_[to].first) {
      last.inst.args[last.inst.op == Op::jmp ? 0 : 1].value = target;
      return true;
    }
    // It runs into the test: a jump is quicker than a comparison and a jump.
    if (!taken || is_test(last.inst.op)) return false;
    insert_jump(blocks_[to].first, target, code_.lines[blocks_[to].first + 1]);
    return true;
  }

  // What the comparison gives on the way from one block into another.
  std::optional<bool> known(uint32_t from, uint32_t to, const isa::Inst& compare) const {
    for (int step = 0; step < kMostSteps; ++step) {
      const Block& block = blocks_[from];
      const isa::Inst& jump = code_.lines[block.last - 1].inst;
      if (is_test(jump.op) && block.successors.size() == 2 && block.successors[0] != block.successors[1])
        if (const auto truth = said_by(block, to, compare)) return truth;
      if (writes_operands(block.first, block.last, compare) || block.predecessors.size() != 1 ||
          block.predecessors[0] == from)
        return std::nullopt;
      to = from;
      from = block.predecessors[0];
    }
    return std::nullopt;
  }

  std::optional<bool> said_by(const Block& block, uint32_t to, const isa::Inst& compare) const {
    const isa::Inst& jump = code_.lines[block.last - 1].inst;
    for (uint32_t i = block.last - 1; i-- > block.first;) {
      const isa::Inst& inst = code_.lines[i].inst;
      if (inst.op == compare.op && inst.args[0] == jump.args[0] && inst.args[1] == compare.args[1] &&
          inst.args[2] == compare.args[2]) {
        if (inst.args[0] == inst.args[1] || inst.args[0] == inst.args[2]) return std::nullopt;
        const bool taken = code_.labels[size_t(jump.args[1].value)] == blocks_[to].first;
        return taken == (jump.op == Op::jmpt);
      }
      if (writes(i, jump.args[0].value) || writes_operands(i, i + 1, compare)) return std::nullopt;
    }
    return std::nullopt;
  }

  bool writes(uint32_t line, int32_t reg) const {
    bool found = false;
    for_each_register(f_, code_.lines[line],
                      [&](const Operand& o, bool, bool written) { found |= written && o.value == reg; });
    return found;
  }

  bool writes_operands(uint32_t first, uint32_t last, const isa::Inst& compare) const {
    for (uint32_t i = first; i < last; ++i)
      for (size_t k : {1, 2})
        if (is_register(compare.args[k]) && writes(i, compare.args[k].value)) return true;
    return false;
  }

  int32_t label_before(uint32_t line) {
    const auto it = std::find(code_.labels.begin(), code_.labels.end(), line);
    if (it != code_.labels.end()) return int32_t(it - code_.labels.begin());
    code_.labels.push_back(line);
    return int32_t(code_.labels.size()) - 1;
  }

  // In front of a line, for those who run into it: its labels stay with it.
  void insert_jump(uint32_t line, int32_t label, const Line& like) {
    Line jump = like;
    jump.inst = isa::Inst{.op = Op::jmp};
    jump.inst.args[0] = like.inst.args[1];
    jump.inst.args[0].value = label;
    Edit edit(code_);
    for (uint32_t i = 0; i < code_.lines.size(); ++i) {
      if (i == line) edit.push(jump);
      edit.begin(i);
      edit.push(code_.lines[i]);
    }
    edit.finish();
  }

  MirFunction& f_;
  Code& code_;
  std::vector<Block> blocks_;
  Liveness live_;
};

}  // namespace

bool thread_jumps(Context&, MirFunction& f, Code& code) { return Threader(f, code).run(); }

}  // namespace cs::csl::mir
