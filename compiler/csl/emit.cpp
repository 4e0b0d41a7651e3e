// FunctionBuilder: appends instructions; the only optimisation here is not to write a jump to the next
// instruction and nothing after an instruction that does not fall through, until a used label is placed.
#include "compiler/csl/emit.h"

#include <algorithm>

#include "runtime/support/diag.h"

namespace cs::csl {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

FunctionBuilder::FunctionBuilder(std::string name, SourceLoc where, MirFunction::Kind kind) : loc(where) {
  fn_.name = std::move(name);
  fn_.loc = where;
  fn_.kind = kind;
}

// False after a jump, return or yield that no label follows: what comes is never reached.
bool FunctionBuilder::open_end() const {
  if (fn_.code.empty()) return true;
  const Op last = fn_.code.back().op;
  if (last != Op::jmp && last != Op::jv && last != Op::yield) return true;
  for (size_t i = 0; i < fn_.labels.size(); ++i)
    if (used_[i] && fn_.labels[i] == fn_.code.size()) return true;
  return false;
}

void FunctionBuilder::emit(Op op, std::initializer_list<Operand> args) {
  if (!open_end()) return;
  isa::Inst inst{.op = op};
  std::copy(args.begin(), args.end(), inst.args.begin());
  fn_.code.push_back(inst);
  fn_.locs.push_back(loc);
}

// Instructions whose result depends on their operands alone, or on memory that nothing between may change.
static bool is_pure(const isa::Inst& i) {
  const isa::Cost c = isa::row(i.op).cost;
  return c == isa::Cost::alu || c == isa::Cost::fp || c == isa::Cost::divide || c == isa::Cost::load;
}

// The register that already holds what `wanted` would compute: looks back within the basic block.
std::optional<Operand> FunctionBuilder::same_value(const isa::Inst& wanted) const {
  constexpr size_t kWindow = 24;
  size_t start = fn_.code.size() > kWindow ? fn_.code.size() - kWindow : 0;
  for (uint32_t l : fn_.labels)
    if (l != ~0u) start = std::max(start, size_t(l));
  const bool is_load = isa::row(wanted.op).cost == isa::Cost::load;
  for (size_t i = fn_.code.size(); i-- > start;) {
    const isa::Inst& inst = fn_.code[i];
    const isa::Cost cost = isa::row(inst.op).cost;
    if (cost == isa::Cost::jump || cost == isa::Cost::task) return std::nullopt;
    if (is_load && (cost == isa::Cost::store || inst.is_vector() || cost == isa::Cost::config))
      return std::nullopt;
    const Operand& dst = inst.args[0];
    const bool same =
        inst.op == wanted.op && std::equal(inst.args.begin() + 1, inst.args.end(), wanted.args.begin() + 1);
    if (same && dst.value >= isa::kFirstVirtual && size_t(dst.value) < reusable_.size() &&
        reusable_[size_t(dst.value)] && is_pure(inst))
      return dst;
    for (size_t k = 1; k < 4; ++k)  // an operand gets another value here
      if (wanted.args[k] == dst && cost != isa::Cost::store) return std::nullopt;
  }
  return std::nullopt;
}

Operand FunctionBuilder::emit_value(Op op, Operand dst, std::initializer_list<Operand> sources) {
  isa::Inst inst{.op = op};
  std::copy(sources.begin(), sources.end(), inst.args.begin() + 1);
  if (is_pure(inst))
    if (const auto known = same_value(inst); known && known->kind == dst.kind) return *known;
  inst.args[0] = dst;
  reusable_.resize(std::max(reusable_.size(), size_t(dst.value) + 1));
  reusable_[size_t(dst.value)] = true;
  emit(op, {inst.args[0], inst.args[1], inst.args[2], inst.args[3]});
  return dst;
}

Operand FunctionBuilder::emit_reg(Op op, std::initializer_list<Operand> sources) {
  return emit_value(op, reg(), sources);
}
Operand FunctionBuilder::emit_pair(Op op, std::initializer_list<Operand> sources) {
  return emit_value(op, pair(), sources);
}

void FunctionBuilder::pin(const Operand& o) {
  if (o.value >= 0 && size_t(o.value) < reusable_.size()) reusable_[size_t(o.value)] = false;
}

std::optional<std::pair<Operand, int32_t>> FunctionBuilder::take_back_add(const Operand& r, int first_new) {
  if (r.kind != OperandKind::reg || r.value < first_new || fn_.code.empty()) return std::nullopt;
  const isa::Inst last = fn_.code.back();
  const bool adds = last.op == Op::add16 || last.op == Op::sub16;
  if (!adds || last.args[0] != r || last.args[1].kind != OperandKind::reg ||
      last.args[2].kind != OperandKind::imm)
    return std::nullopt;
  for (uint32_t l : fn_.labels)
    if (l == fn_.code.size()) return std::nullopt;
  fn_.code.pop_back();
  fn_.locs.pop_back();
  return std::pair(last.args[1], last.op == Op::add16 ? last.args[2].value : -last.args[2].value);
}

void FunctionBuilder::move(const Operand& dst, const Operand& src) {
  if (dst == src) return;
  pin(dst);
  emit(dst.kind == OperandKind::pair ? Op::mov32 : Op::mov16, {dst, src});
}

void FunctionBuilder::move_new(const Operand& dst, const Operand& src, int first_new) {
  pin(dst);
  const bool fresh = (src.kind == OperandKind::reg || src.kind == OperandKind::pair) &&
                     src.kind == dst.kind && src.value >= first_new;
  if (fresh && open_end() && !fn_.code.empty() && fn_.code.back().args[0] == src) {
    const char first = isa::row(fn_.code.back().op).form.empty() ? ' ' : isa::row(fn_.code.back().op).form[0];
    bool labelled = false;
    for (size_t i = 0; i < fn_.labels.size(); ++i) labelled |= fn_.labels[i] == fn_.code.size();
    // A call's result arrives by a move of its own.
    const bool call = !fn_.calls.empty() && fn_.calls.back().inst + 1 == fn_.code.size();
    if (!labelled && !call && (first == 'R' || first == 'P' || first == 'V')) {
      fn_.code.back().args[0] = dst;
      return;
    }
  }
  if (fresh && !fn_.calls.empty() && fn_.calls.back().inst + 1 == fn_.code.size() &&
      fn_.calls.back().result == src) {
    fn_.calls.back().result = dst;
    return;
  }
  move(dst, src);
}

int FunctionBuilder::new_label() {
  fn_.labels.push_back(~0u);
  used_.push_back(false);
  return int(fn_.labels.size()) - 1;
}

void FunctionBuilder::place(int label) {
  begun.clear();
  const Operand here{OperandKind::label, label, 0};
  const auto at_end = [&](int l) { return fn_.labels[size_t(l)] == fn_.code.size(); };
  // `jmp here` as the last instruction goes, unless a label after it would then mean something else.
  if (!fn_.code.empty() && fn_.code.back().op == Op::jmp && fn_.code.back().args[0] == here) {
    bool labelled = false;
    for (size_t i = 0; i < fn_.labels.size(); ++i) labelled |= at_end(int(i)) && used_[i];
    if (!labelled) {
      fn_.code.pop_back();
      fn_.locs.pop_back();
      for (uint32_t& l : fn_.labels)
        if (l != ~0u) l = std::min(l, uint32_t(fn_.code.size()));
    }
  }
  fn_.labels[size_t(label)] = uint32_t(fn_.code.size());
}

void FunctionBuilder::jump(int label) {
  if (!open_end()) return;
  used_[size_t(label)] = true;
  emit(Op::jmp, {{OperandKind::label, label, 0}});
}

void FunctionBuilder::jump_if(const Operand& condition, bool sense, int label) {
  if (!open_end()) return;
  used_[size_t(label)] = true;
  emit(sense ? Op::jmpt : Op::jmpf, {condition, {OperandKind::label, label, 0}});
}

Location FunctionBuilder::slot(std::string name, uint32_t bytes, uint32_t align) {
  fn_.slots.push_back({std::move(name), bytes, std::max(align, 2u)});
  return {OperandKind::slot, int32_t(fn_.slots.size()) - 1, 0, -1};
}

// Base and offset operands of a memory access. With an index register the symbol is the offset.
std::pair<Operand, Operand> FunctionBuilder::address(const Location& l) const {
  const bool literal = l.kind == OperandKind::imm;
  if (l.index >= 0) return {{OperandKind::reg, l.index, 0}, literal ? imm(l.value + l.extra) : l.operand()};
  if (literal) return {imm(0), imm(l.value + l.extra)};
  return {l.operand(), imm(0)};
}

void FunctionBuilder::load(const Type* t, const Operand& dst, const Location& from) {
  const auto [base, offset] = address(from);
  emit(t->bytes == 4 ? Op::ld32 : t->bytes == 1 ? Op::ld8 : Op::ld16, {dst, base, offset});
  if (t->bytes == 1 && t->is_signed) {
    emit(Op::sll16, {dst, dst, imm(8)});
    emit(Op::sar16, {dst, dst, imm(8)});
  }
}

Operand FunctionBuilder::load_new(const Type* t, const Location& from) {
  if (t->bytes == 1 && t->is_signed) {
    const Operand r = reg();
    load(t, r, from);
    return r;
  }
  const auto [base, offset] = address(from);
  if (t->bytes == 4) return emit_pair(Op::ld32, {base, offset});
  return emit_reg(t->bytes == 1 ? Op::ld8 : Op::ld16, {base, offset});
}

void FunctionBuilder::store(const Type* t, const Location& to, const Operand& value) {
  const auto [base, offset] = address(to);
  emit(t->bytes == 4 ? Op::st32 : t->bytes == 1 ? Op::st8 : Op::st16, {base, offset, value});
}

void FunctionBuilder::load16(const Operand& dst, const Location& from) {
  const auto [base, offset] = address(from);
  emit(Op::ld16, {dst, base, offset});
}

void FunctionBuilder::store16(const Location& to, const Operand& value) {
  const auto [base, offset] = address(to);
  emit(Op::st16, {base, offset, value});
}

void FunctionBuilder::call(uint32_t function, std::vector<Operand> args, std::vector<bool> pairs,
                           Operand result) {
  if (!open_end()) return;
  fn_.calls.push_back({uint32_t(fn_.code.size()), std::move(args), std::move(pairs), result});
  emit(Op::jal, {{OperandKind::reg, isa::kLinkRegister, 0}, {OperandKind::function, int32_t(function), 0}});
}

void FunctionBuilder::call_indirect(Operand target, std::vector<Operand> args, std::vector<bool> pairs,
                                    Operand result) {
  if (!open_end()) return;
  fn_.calls.push_back({uint32_t(fn_.code.size()), std::move(args), std::move(pairs), result});
  emit(Op::jalv, {{OperandKind::reg, isa::kLinkRegister, 0}, target});
}

void FunctionBuilder::ret() {
  if (!open_end()) return;
  if (fn_.kind == MirFunction::Kind::task) {
    emit(Op::yield, {});
    return;
  }
  fn_.rets.push_back(uint32_t(fn_.code.size()));
  emit(Op::jv, {{OperandKind::reg, isa::kLinkRegister, 0}});
}

FunctionBuilder::Mark FunctionBuilder::mark() const {
  return {fn_.code.size(), fn_.calls.size(), fn_.rets.size(), fn_.slots.size(), fn_.labels.size()};
}

void FunctionBuilder::rewind(const Mark& m) {
  fn_.code.resize(m.code);
  fn_.locs.resize(m.code);
  fn_.calls.resize(m.calls);
  fn_.rets.resize(m.rets);
  fn_.slots.resize(m.slots);
  fn_.labels.resize(m.labels);
  used_.resize(m.labels);
}

MirFunction FunctionBuilder::finish() {
  ret();
  for (uint32_t& l : fn_.labels)
    if (l == ~0u) l = uint32_t(fn_.code.size()) - 1;  // never placed, so never used
  return std::move(fn_);
}

Location offset_by(Location l, int32_t bytes) {
  l.extra += bytes;
  return l;
}

}  // namespace cs::csl
