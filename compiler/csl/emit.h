// Builds one MirFunction: instructions in order, virtual registers, labels, frame slots, calls.
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <string>

#include "compiler/csl/mir.h"
#include "compiler/csl/types.h"
#include "compiler/csl/value.h"

namespace cs::csl {

class FunctionBuilder {
 public:
  FunctionBuilder(std::string name, SourceLoc loc, MirFunction::Kind kind);

  SourceLoc loc;  // position of the instructions to come

  isa::Operand reg() { return {isa::OperandKind::reg, next_virtual_++, 0}; }
  isa::Operand pair() { return {isa::OperandKind::pair, next_virtual_++, 0}; }
  isa::Operand temp(const Type* t) { return t->is_pair() ? pair() : reg(); }
  int next_virtual() const { return next_virtual_; }
  static isa::Operand imm(int32_t v) { return {isa::OperandKind::imm, v, 0}; }

  void emit(isa::Op op, std::initializer_list<isa::Operand> args);
  // dst = a op b in a new register or pair.
  isa::Operand emit_reg(isa::Op op, std::initializer_list<isa::Operand> sources);
  isa::Operand emit_pair(isa::Op op, std::initializer_list<isa::Operand> sources);
  void move(const isa::Operand& dst, const isa::Operand& src);  // width of dst
  // The same when nothing else uses `src` if its number is at least `first_new`: then the instruction that
  // made it writes `dst` instead.
  void move_new(const isa::Operand& dst, const isa::Operand& src, int first_new);

  // The register holds a variable from now on: its value is not reused for an equal expression.
  void pin(const isa::Operand& o);
  // If `r` is new and the last instruction made it as base + literal, takes that instruction back and gives
  // both.
  std::optional<std::pair<isa::Operand, int32_t>> take_back_add(const isa::Operand& r, int first_new);

  // Asynchronous operations that straight code has begun since the last label, by microthread: the fabric queues that
  // they use (a bit each, outputs above) and where.
  std::map<int, std::pair<uint32_t, SourceLoc>> begun;

  int new_label();
  void place(int label);
  void jump(int label);
  void jump_if(const isa::Operand& condition, bool sense, int label);
  bool label_used(int label) const { return used_[size_t(label)]; }

  Location slot(std::string name, uint32_t bytes, uint32_t align);
  void load(const Type* t, const isa::Operand& dst, const Location& from);
  isa::Operand load_new(const Type* t,
                        const Location& from);  // into a new register, or where it was loaded before
  void store(const Type* t, const Location& to, const isa::Operand& value);
  void load16(const isa::Operand& dst, const Location& from);
  void store16(const Location& to, const isa::Operand& value);

  void call(uint32_t function, std::vector<isa::Operand> args, std::vector<bool> pairs, isa::Operand result);
  void call_indirect(isa::Operand target, std::vector<isa::Operand> args, std::vector<bool> pairs,
                     isa::Operand result);
  void ret();  // `jv LINK`, or `yield` in tasks

  // A point to come back to when what was emitted since is not wanted after all.
  struct Mark {
    size_t code, calls, rets, slots, labels;
  };
  Mark mark() const;
  void rewind(const Mark&);

  MirFunction finish();
  MirFunction& function() { return fn_; }

 private:
  std::pair<isa::Operand, isa::Operand> address(const Location&) const;
  bool open_end() const;
  std::optional<isa::Operand> same_value(const isa::Inst&) const;
  isa::Operand emit_value(isa::Op, isa::Operand dst, std::initializer_list<isa::Operand> sources);

  MirFunction fn_;
  std::vector<bool> used_;
  std::vector<bool> reusable_;  // by virtual register: written once, by emit_reg or emit_pair
  int next_virtual_ = isa::kFirstVirtual;
};

Location offset_by(Location l, int32_t bytes);

}  // namespace cs::csl
