// Opening and closing the code of a MIR function, and facts about instructions.
#include "compiler/csl/mir_code.h"

#include <algorithm>

namespace cs::csl::mir {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

Code open(const MirFunction& f) {
  Code code;
  code.lines.resize(f.code.size());
  for (size_t i = 0; i < f.code.size(); ++i) code.lines[i] = {f.code[i], f.locs[i]};
  for (size_t c = 0; c < f.calls.size(); ++c) code.lines[f.calls[c].inst].call = int32_t(c);
  for (uint32_t r : f.rets) code.lines[r].ret = true;
  code.labels = f.labels;
  for (uint32_t& l : code.labels) l = std::min(l, uint32_t(f.code.size()));  // those that no line has
  const auto see = [&](const Operand& o) {
    if (is_register(o)) code.next_virtual = std::max(code.next_virtual, o.value + 1);
  };
  for (const Operand& p : f.params) see(p);
  see(f.result);
  for (const Line& line : code.lines)
    for_each_register(f, line, [&](const Operand& o, bool, bool) { see(o); });
  return code;
}

void close(Code&& code, MirFunction& f) {
  std::vector<MirCall> calls;
  f.rets.clear();
  f.code.resize(code.lines.size());
  f.locs.resize(code.lines.size());
  for (size_t i = 0; i < code.lines.size(); ++i) {
    const Line& line = code.lines[i];
    f.code[i] = line.inst;
    f.locs[i] = line.loc;
    if (line.ret) f.rets.push_back(uint32_t(i));
    if (line.call < 0) continue;
    calls.push_back(f.calls[size_t(line.call)]);
    calls.back().inst = uint32_t(i);
  }
  f.calls = std::move(calls);
  f.labels = std::move(code.labels);
  for (uint32_t& l : f.labels) l = std::min(l, uint32_t(f.code.size()) - 1);
}

void Edit::finish() {
  starts_.back() = uint32_t(out_.size());
  for (size_t i = starts_.size() - 1; i-- > 0;)
    if (starts_[i] == ~0u) starts_[i] = starts_[i + 1];
  for (uint32_t& l : code_.labels) l = starts_[l];
  code_.lines = std::move(out_);
}

int access_bytes(Op op) {
  if (op == Op::ld8 || op == Op::st8) return 1;
  return op == Op::ld32 || op == Op::st32 ? 4 : 2;
}

bool ends_flow(const Line& line) {
  const Op op = line.inst.op;
  return op == Op::jmp || op == Op::jv || op == Op::yield || op == Op::trap;
}

int32_t target_label(const isa::Inst& inst) {
  if (inst.op == Op::jmp) return inst.args[0].value;
  if (inst.op == Op::jmpt || inst.op == Op::jmpf) return inst.args[1].value;
  return -1;
}

bool is_value(const isa::Inst& inst, bool carries) {
  if (inst.is_vector() || !is_register(inst.args[0])) return false;
  for (const Operand& a : inst.args)
    if (a.is_dsr()) return false;
  switch (cost(inst.op)) {
    case isa::Cost::alu:
      return inst.op != Op::addc16 && !(inst.op == Op::add16 && carries);
    case isa::Cost::fp:
    case isa::Cost::divide:
      return true;
    default:
      return false;
  }
}

bool reads_carry(const Code& code) {
  return std::any_of(code.lines.begin(), code.lines.end(),
                     [](const Line& line) { return line.inst.op == Op::addc16; });
}

isa::Inst move(Operand dst, Operand src) {
  isa::Inst inst{.op = dst.kind == OperandKind::pair ? Op::mov32 : Op::mov16};
  inst.args[0] = dst;
  inst.args[1] = src;
  return inst;
}

}  // namespace cs::csl::mir
