// The code of one MIR function while passes edit it, and facts about single instructions that passes share.
//
// MirFunction names calls and returns by instruction index, which every edit would move. Here they belong to
// their line, as does its source position.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/csl/mir.h"

namespace cs::csl::mir {

struct Line {
  isa::Inst inst;
  SourceLoc loc;
  int32_t call = -1;  // index in MirFunction::calls of the function that was opened
  bool ret = false;   // returns from this function
};

struct Code {
  std::vector<Line> lines;
  std::vector<uint32_t> labels;  // label number -> line that it stands before; may be lines.size() if unused
  int next_virtual = isa::kFirstVirtual;
};

Code open(const MirFunction&);
// Writes the code back; calls follow in the order of their lines (a line that was copied has a call of its
// own).
void close(Code&&, MirFunction&);

// Builds new lines from old ones: begin(i) for each old line in order, then push what replaces it.
class Edit {
 public:
  explicit Edit(Code& code) : code_(code), starts_(code.lines.size() + 1, ~0u) {
    out_.reserve(code.lines.size());
  }
  void begin(size_t old) { starts_[old] = uint32_t(out_.size()); }
  void push(Line line) { out_.push_back(line); }
  void finish();  // labels of lines that were never begun stand before the next one

 private:
  Code& code_;
  std::vector<Line> out_;
  std::vector<uint32_t> starts_;
};

inline bool is_register(const isa::Operand& o) {
  return o.kind == isa::OperandKind::reg || o.kind == isa::OperandKind::pair;
}
inline bool is_virtual(const isa::Operand& o) { return is_register(o) && o.value >= isa::kFirstVirtual; }
inline bool is_symbol(const isa::Operand& o) {
  return o.kind == isa::OperandKind::global || o.kind == isa::OperandKind::slot;
}
inline bool is_literal(const isa::Operand& o) { return o.kind == isa::OperandKind::imm; }
inline isa::Operand literal(int32_t v) { return {isa::OperandKind::imm, v, 0}; }

inline isa::Cost cost(isa::Op op) { return isa::row(op).cost; }
inline bool is_load(isa::Op op) { return cost(op) == isa::Cost::load; }
inline bool is_store(isa::Op op) { return cost(op) == isa::Cost::store; }
inline bool is_dsr_load(isa::Op op) { return cost(op) == isa::Cost::dsr; }
inline bool is_jump(isa::Op op) { return cost(op) == isa::Cost::jump; }
int access_bytes(isa::Op);  // of a load or store
// An access that many bytes behind another one.
inline void add_bytes(isa::Operand& base, isa::Operand& offset, int32_t by) {
  (is_symbol(base) ? base.extra : is_symbol(offset) ? offset.extra : offset.value) += by;
}
bool ends_flow(const Line&);             // what follows is not reached from here
int32_t target_label(const isa::Inst&);  // of jmp, jmpt, jmpf; -1 for others
// Scalar, writes args[0] alone, depends on its operands alone (loads are not among these). `carries`: the
// function has instructions that read the carry, so that additions do more than their result.
bool is_value(const isa::Inst&, bool carries);
bool reads_carry(const Code&);
// The scalar move of a width: mov16, mov32.
isa::Inst move(isa::Operand dst, isa::Operand src);

// Calls visit(operand, read, written) for every register of a line: those of the instruction, the arguments
// and the result of a call, and the result of the function at a return.
template <typename Function, typename LineType, typename Visit>
void for_each_register(Function& f, LineType& line, Visit visit) {
  const std::string_view form = isa::row(line.inst.op).form;
  const bool vector = line.inst.is_vector();
  for (size_t i = 0; i < form.size() && i < line.inst.args.size(); ++i) {
    if (!is_register(line.inst.args[i])) continue;
    const bool written = form[i] == 'V' || form[i] == 'R' || form[i] == 'P';
    // A vector instruction goes on from what its register holds.
    visit(line.inst.args[i], !written || vector, written);
  }
  if (line.call >= 0) {
    auto& call = f.calls[size_t(line.call)];
    for (auto& a : call.args)
      if (is_register(a)) visit(a, true, false);
    if (is_register(call.result)) visit(call.result, false, true);
  }
  if (line.ret && is_register(f.result)) visit(f.result, true, false);
}

}  // namespace cs::csl::mir
