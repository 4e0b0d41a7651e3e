// @map(fn, inputs…, output): a loop that takes an element of every input, calls the function and stores its result, as
// often as its shortest operand has elements.
//
// Operands that are mem1d DSDs are walked by addresses in registers. All others (rings, several dimensions, the fabric,
// registers that the program loaded) are DSRs that take one step per use; the loop ends when one of them is used up.
#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "compiler/csl/builtins.h"
#include "compiler/csl/lower_dsd.h"
#include "compiler/csl/lower_vector.h"
#include "compiler/csl/tensor_access.h"

namespace cs::csl {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

namespace {

struct MapOperand {
  bool dsd = false;
  Value value;              // scalar or pointer operand
  Operand address, stride;  // DSD: running address, bytes per step
  Operand dsr;              // DSR that takes single steps
  bool owned = false;       // chosen here
  const Type* element = nullptr;
};

// A DSR number that nothing else uses now.
int take_dsr(Unit& u) {
  for (int index = 7; index > 1; --index)
    if (u.used_dsrs.insert(index).second) return index;
  return -1;
}

// Operands other than mem1d DSDs.
bool step_operand(Evaluator& e, const Value& v, bool is_output, SourceLoc where, MapOperand& out) {
  if (v.type->is_dsr()) {
    const auto& r = v.as<DsrValue>();
    out.dsr = {r.file, r.index, 0};
    return true;
  }
  const bool fits = v.type->kind == (is_output ? TypeKind::fabout_dsd : TypeKind::fabin_dsd) ||
                    v.type->kind == TypeKind::mem4d_dsd || v.type->kind == TypeKind::circbuf_dsd;
  const int index = fits ? take_dsr(e.unit()) : -1;
  if (index < 0) {
    e.fail(where, fits ? "no DSR is free for this operand of @map"
                       : fmt::format("a '{}' cannot be an {} of @map", v.type->name, is_output ? "output" : "input"));
    return false;
  }
  out.dsr = {is_output ? OperandKind::dest : OperandKind::src1, index, 0};
  out.owned = true;
  isa::DsrConfig config;
  config.single_step = true;
  load_dsr(e, out.dsr.kind, index, dsd_value(v), v.type, config, where);
  return true;
}

bool map_operand(Evaluator& e, const Value& v, const Type* element, bool is_output, SourceLoc where,
                 MapOperand& out, std::vector<Operand>& lengths) {
  out.element = element;
  if (v.type->is_dsr() || (v.type->is_dsd() && v.type->kind != TypeKind::mem1d_dsd))
    return step_operand(e, v, is_output, where, out);
  if (!v.type->is_dsd()) {
    out.value = e.keep(v);
    return true;
  }
  FunctionBuilder& b = e.builder();
  const DsdValue d = dsd_value(v);
  out.dsd = true;
  out.address = b.reg();
  b.move(out.address, dsd_word(e, d, 1));
  const Operand stride = dsd_word(e, d, 3);
  if (stride.kind == OperandKind::imm)
    out.stride = FunctionBuilder::imm(int16_t(stride.value) * int32_t(element->bytes));
  else
    out.stride = b.emit_reg(Op::imul16, {stride, FunctionBuilder::imm(int32_t(element->bytes))});
  lengths.push_back(dsd_word(e, d, 2));
  return true;
}

// The register that counts the elements down from the least of the lengths.
Operand least_length(Evaluator& e, const std::vector<Operand>& lengths) {
  FunctionBuilder& b = e.builder();
  const Operand count = b.reg();
  std::optional<uint16_t> known;
  for (const Operand& length : lengths)
    if (length.kind == OperandKind::imm) known = std::min(known.value_or(UINT16_MAX), uint16_t(length.value));
  std::vector<Operand> distinct;
  if (known) distinct.push_back(FunctionBuilder::imm(*known));
  for (const Operand& length : lengths)
    if (length.kind != OperandKind::imm && std::find(distinct.begin(), distinct.end(), length) == distinct.end())
      distinct.push_back(length);
  b.move(count, distinct[0]);
  for (size_t i = 1; i < distinct.size(); ++i) {
    const int enough = b.new_label();
    b.jump_if(b.emit_reg(Op::lteu16, {count, distinct[i]}), true, enough);
    b.move(count, distinct[i]);
    b.place(enough);
  }
  return count;
}

bool is_stepped(const MapOperand& o) { return o.dsr.is_dsr(); }

// What is left of a DSR.
Operand length_of(Evaluator& e, const Operand& dsr) {
  const int address = isa::dsr_length(int(dsr.kind) - int(OperandKind::dest), dsr.value);
  return e.builder().emit_reg(Op::ldcfg16, {FunctionBuilder::imm(address)});
}

Value next_element(Evaluator& e, const MapOperand& o) {
  const bool pair = o.element->is_pair();
  const Operand r = pair ? e.builder().pair() : e.builder().reg();
  e.builder().emit(pair ? Op::mov32 : Op::mov16, {r, o.dsr});
  return Value::scalar(o.element, r);
}

// The steps of the mem1d operands, and back to the top.
Value end_map(Evaluator& e, const std::vector<MapOperand>& operands, const Operand& count, bool counted, int top,
              int end) {
  FunctionBuilder& b = e.builder();
  for (const MapOperand& o : operands)
    if (o.dsd) b.emit(Op::add16, {o.address, o.address, o.stride});
  if (counted) {
    b.emit(Op::sub16, {count, count, FunctionBuilder::imm(1)});
    b.jump_if(count, true, top);
  } else {
    b.jump(top);
  }
  --e.frame().depth;
  b.place(end);
  for (const MapOperand& o : operands)
    if (is_stepped(o) && o.owned) e.unit().used_dsrs.erase(o.dsr.value);
  return bool_value(e.types(), true);
}

}  // namespace

Value map_builtin(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value fn = e.rvalue(n.args[0]);
  if (!fn.ok()) return {};
  if (!fn.is(ValueKind::function))
    return e.fail(n.args[0]->loc, fmt::format("@map needs a function, this is '{}'", fn.type->name));
  const size_t inputs = fn.type->params.size();
  const bool has_result = fn.type->element->kind != TypeKind::void_;
  if (n.args.size() != 1 + inputs + has_result)
    return e.fail(n.loc, fmt::format("this function needs {} inputs{}, here are {} operands", inputs,
                                     has_result ? " and a destination" : "", n.args.size() - 1));
  std::vector<MapOperand> operands(n.args.size() - 1);
  std::vector<Operand> lengths;
  for (size_t k = 0; k < operands.size(); ++k) {
    const Type* t = k < inputs ? fn.type->params[k] : fn.type->element;
    const Value v = e.rvalue(n.args[k + 1], k < inputs ? t : nullptr);
    if (!v.ok() || !map_operand(e, v, t, k >= inputs, n.args[k + 1]->loc, operands[k], lengths))
      return {};
  }
  const bool counted = !lengths.empty();
  const bool steps = std::any_of(operands.begin(), operands.end(), is_stepped);
  if (!counted && !steps) return e.fail(n.loc, "@map needs a DSD among its operands");
  FunctionBuilder& b = e.builder();
  const Operand count = counted ? least_length(e, lengths) : Operand{};
  const int top = b.new_label(), end = b.new_label();
  if (counted) b.jump_if(count, false, end);
  b.place(top);
  for (const MapOperand& o : operands)
    if (is_stepped(o)) b.jump_if(length_of(e, o.dsr), false, end);
  ++e.frame().depth;
  std::vector<Value> args;
  std::vector<SourceLoc> where;
  for (size_t k = 0; k < inputs; ++k) {
    const MapOperand& o = operands[k];
    args.push_back(
        is_stepped(o) ? next_element(e, o)
        : o.dsd ? e.load(Value::place(o.element, {OperandKind::imm, 0, 0, o.address.value}, false), n.loc)
              : o.value);
    where.push_back(n.args[k + 1]->loc);
  }
  const Value result = e.call(fn, args, where, n.loc);
  if (result.ok() && has_result) {
    const MapOperand& o = operands.back();
    if (is_stepped(o)) {
      const Value v = e.coerce(result, o.element, n.loc, "result");
      if (v.ok()) b.emit(o.element->is_pair() ? Op::mov32 : Op::mov16, {o.dsr, e.operand(v, n.loc)});
      return end_map(e, operands, count, counted, top, end);
    }
    const Value to = o.dsd ? Value::place(o.element, {OperandKind::imm, 0, 0, o.address.value}, false)
                           : e.dereference(o.value, n.loc);
    if (to.ok()) e.store(to, e.coerce(result, to.type, n.loc, "result"), n.loc);
  }
  return result.ok() ? end_map(e, operands, count, counted, top, end) : Value();
}

}  // namespace cs::csl
