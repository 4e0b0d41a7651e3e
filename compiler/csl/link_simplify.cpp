// Small improvements of one function's code, before and after register allocation.
//
// Until nothing changes: drop lines that cannot be reached, values that nobody reads, moves to the same
// register, jumps to the next line; let jumps to jumps go to the end of the chain; let a jump to a return be
// that return; turn "if c skip the jump" into the opposite conditional jump.
#include <algorithm>

#include "compiler/csl/link_flow.h"

namespace cs::csl::link {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

// Keeps the lines whose flag is set.
void keep_only(Code& code, const std::vector<bool>& keep) {
  Rewriter rewriter(code);
  for (size_t i = 0; i < code.lines.size(); ++i) {
    if (!keep[i]) continue;
    rewriter.begin(i);
    rewriter.push(code.lines[i]);
  }
  rewriter.finish();
}

bool drop_unreachable(Code& code) {
  std::vector<BasicBlock> blocks = find_blocks(code);
  std::vector<bool> reached(blocks.size(), false);
  std::vector<uint32_t> work{0};
  reached[0] = true;
  while (!work.empty()) {
    uint32_t b = work.back();
    work.pop_back();
    for (uint32_t s : blocks[b].successors)
      if (!reached[s]) reached[s] = true, work.push_back(s);
  }
  std::vector<bool> keep(code.lines.size(), false);
  for (size_t b = 0; b < blocks.size(); ++b)
    for (uint32_t i = blocks[b].first; i < blocks[b].last; ++i) keep[i] = reached[b];
  if (std::find(keep.begin(), keep.end(), false) == keep.end()) return false;
  keep_only(code, keep);
  return true;
}

// The line where a jump to `label` really goes, through unconditional jumps; stops after as many hops as
// there are lines.
uint32_t final_target(const Code& code, uint32_t line) {
  for (size_t hops = 0; hops < code.lines.size() && line < code.lines.size(); ++hops) {
    if (code.lines[line].inst.op != Op::jmp) break;
    line = code.labels[size_t(code.lines[line].inst.args[0].value)];
  }
  return line;
}

bool thread_jumps(Code& code) {
  bool changed = false;
  for (uint32_t& label : code.labels) {
    uint32_t target = final_target(code, label);
    changed |= target != label;
    label = target;
  }
  for (size_t i = 0; i < code.lines.size(); ++i) {
    isa::Inst& inst = code.lines[i].inst;
    if (inst.op == Op::jmp) {
      uint32_t target = code.labels[size_t(inst.args[0].value)];
      if (target >= code.lines.size()) continue;
      const Line& there = code.lines[target];
      if (there.inst.op != Op::yield && there.inst.op != Op::jv) continue;
      code.lines[i] = there;  // its own source line is the return's
      changed = true;
    } else if (i + 1 < code.lines.size() && jump_target(inst) && code.lines[i + 1].inst.op == Op::jmp &&
               code.labels[size_t(inst.args[1].value)] == i + 2) {
      // jmpt c, over; jmp far; over:   ->   jmpf c, far; (the jmp becomes unreachable or stays for its
      // labels)
      bool labelled = std::find(code.labels.begin(), code.labels.end(), uint32_t(i + 1)) != code.labels.end();
      if (labelled) continue;
      inst.op = inst.op == Op::jmpt ? Op::jmpf : Op::jmpt;
      inst.args[1] = code.lines[i + 1].inst.args[0];
      std::vector<bool> keep(code.lines.size(), true);
      keep[i + 1] = false;
      keep_only(code, keep);
      return true;
    }
  }
  return changed;
}

bool is_useless(const Code& code, size_t i) {
  isa::Inst inst = code.lines[i].inst;
  if (const Operand* target = jump_target(inst)) return code.labels[size_t(target->value)] == i + 1;
  bool is_copy = inst.op == Op::mov16 || inst.op == Op::mov32 || inst.op == Op::fmovs || inst.op == Op::fmovh;
  return is_copy && inst.args[0] == inst.args[1] && !inst.args[0].is_dsr();
}

bool drop_useless(Code& code) {
  std::vector<bool> keep(code.lines.size(), true);
  bool changed = false;
  for (size_t i = 0; i < code.lines.size(); ++i)
    if (is_useless(code, i)) keep[i] = false, changed = true;
  if (changed) keep_only(code, keep);
  return changed;
}

// A pure instruction whose virtual destination is never read while it holds this value.
bool drop_dead(Function& f) {
  Flow flow = analyse_flow(f);
  std::vector<bool> keep(f.code.lines.size(), true);
  bool changed = false;
  for (uint32_t i = 0; i < f.code.lines.size(); ++i) {
    const isa::Inst& inst = f.code.lines[i].inst;
    const Operand& dst = inst.args[0];
    bool is_value = dst.kind == OperandKind::reg || dst.kind == OperandKind::pair;
    const bool tests = inst.op == Op::ldcfg16 && inst.args[1] == imm(int32_t(isa::ConfigReg::test));
    if (!is_value || dst.value < isa::kFirstVirtual || !(tests || is_pure(inst.op)) || inst.is_vector()) continue;
    const std::vector<Segment>& segments = flow.registers[size_t(flow.dense[size_t(dst.value)])].segments;
    auto found = std::upper_bound(segments.begin(), segments.end(), 2 * i + 1,
                                  [](uint32_t at, const Segment& s) { return at < s.begin; });
    CS_CHECK(found != segments.begin(), "a written register has a segment there");
    if (std::prev(found)->end > 2 * i + 2) continue;
    keep[i] = false;
    changed = true;
  }
  if (changed) keep_only(f.code, keep);
  return changed;
}

}  // namespace

void simplify(Function& f) {
  constexpr int kRounds = 100;
  for (int round = 0; round < kRounds; ++round) {
    bool changed = drop_unreachable(f.code);
    changed |= thread_jumps(f.code);
    changed |= drop_useless(f.code);
    if (round < 8) changed |= drop_dead(f);
    if (!changed) return;
  }
}

}  // namespace cs::csl::link
