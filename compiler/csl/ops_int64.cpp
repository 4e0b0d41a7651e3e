// Integers of 33 to 64 bits in a running program.
//
// They lie in memory as two words, the low one first. As a value, one is an aggregate of its two halves (u32), of
// which either may be known; both known, it is an integer. Sums, comparisons, shifts and bit operations are a few
// instructions on the halves; products, quotients and conversions from and to floats are functions of the library
// <int64>, which leave the upper half of their result in a variable.
#include <fmt/format.h>

#include "compiler/csl/eval.h"

namespace cs::csl {

using enum ast::BinaryOp;
using ast::BinaryOp;
using isa::Op;
using isa::Operand;

namespace {

Operand imm(int32_t v) { return FunctionBuilder::imm(v); }

}  // namespace

Value Evaluator::join_int64(const Type* t, const Value& low, const Value& high) {
  if (low.is(ValueKind::integer) && high.is(ValueKind::integer))
    return Value::integer(t, wrapped(*t, high.i << 32 | low.i));
  Aggregate a;
  a.items = {low, high};
  return Value::with(t, ValueKind::aggregate, std::move(a));
}

// The halves of an integer of 64 bits, known or not.
std::pair<Value, Value> Evaluator::split_int64(const Value& v, SourceLoc where) {
  const Type* u32 = types_.integer(32, false);
  if (v.is(ValueKind::aggregate)) return {v.aggregate().items[0], v.aggregate().items[1]};
  if (v.is(ValueKind::place))
    return {load(Value::place(u32, v.location, true), where),
            load(Value::place(u32, offset_by(v.location, 4), true), where)};
  const unsigned __int128 bits = v.is(ValueKind::integer) ? (unsigned __int128)v.i : 0;
  return {Value::integer(u32, uint32_t(bits)), Value::integer(u32, uint32_t(bits >> 32))};
}

void Evaluator::store_int64(const Value& place, const Value& v, SourceLoc where) {
  const Type* u32 = types_.integer(32, false);
  const auto [low, high] = split_int64(v, where);
  const Operand l = operand(low, where), h = operand(high, where);
  builder_->store(u32, place.location, l);
  builder_->store(u32, offset_by(place.location, 4), h);
}

// Narrower ones are kept extended.
Value Evaluator::normalise_int64(const Type* t, const Operand& low, Operand high) {
  const Type* u32 = types_.integer(32, false);
  FunctionBuilder& b = *builder_;
  if (t->bits < 64 && t->is_signed) {
    high = b.emit_pair(Op::sll32, {high, imm(64 - t->bits)});
    high = b.emit_pair(Op::sar32, {high, imm(64 - t->bits)});
  } else if (t->bits < 64) {
    high = b.emit_pair(Op::and32, {high, imm(int32_t((1u << (t->bits - 32)) - 1))});
  }
  return join_int64(t, Value::scalar(u32, low), Value::scalar(u32, high));
}

// ---- the library

Value Evaluator::call_int64(const char* function, std::vector<Value> args, const Type* result, SourceLoc where) {
  const LoadedModule* source = session_.loader.load("<int64>", frame_->module->source, where, diag());
  ModuleInstance* module = nullptr;
  {
    ComptimeScope scope(*this);
    module = source ? instantiate(source, {}, where) : nullptr;
  }
  if (module == nullptr) return {};
  const Value low = call(global_value(*module, module->entries.find(function)->second, where), std::move(args),
                         std::vector<SourceLoc>(4, where), where);
  if (!low.ok() || !result->is_int64()) return low;
  const Value high = load(global_value(*module, module->entries.find("high")->second, where), where);
  return normalise_int64(result, operand(low, where), operand(high, where));
}

// ---- operators

Value Evaluator::add_int64(bool subtract, const Value& a, const Value& b, const Type* t, SourceLoc where) {
  FunctionBuilder& f = *builder_;
  const auto [al, ah] = split_int64(a, where);
  const auto [bl, bh] = split_int64(b, where);
  const Operand x = operand(al, where), y = operand(bl, where);
  const Operand low = f.emit_pair(subtract ? Op::sub32 : Op::add32, {x, y});
  const Operand carry = subtract ? f.emit_reg(Op::ltu32, {x, y}) : f.emit_reg(Op::ltu32, {low, y});
  const Operand high = f.emit_pair(subtract ? Op::sub32 : Op::add32, {operand(ah, where), operand(bh, where)});
  const Operand wide = f.emit_pair(Op::extu16, {carry});
  return normalise_int64(t, low, f.emit_pair(subtract ? Op::sub32 : Op::add32, {high, wide}));
}

Value Evaluator::runtime_int64(BinaryOp op, const Value& a, const Value& b, const Type* t, SourceLoc where) {
  if (op == add || op == sub) return add_int64(op == sub, a, b, t, where);
  const auto [al, ah] = split_int64(a, where);
  const auto [bl, bh] = split_int64(b, where);
  const std::vector<Value> words{al, ah, bl, bh};
  const auto call_it = [&](const char* name) { return call_int64(name, words, t, where); };
  switch (op) {
    case mul:
      return call_it("multiply");
    case div:
    case rem:
      if (b.is(ValueKind::integer) && b.i == 0) return fail(where, "division by zero");
      return call_it(t->is_signed ? (op == div ? "divide_signed" : "remainder_signed")
                                  : (op == div ? "divide" : "remainder"));
    case bit_and:
    case bit_or:
    case bit_xor: {
      const Op code = op == bit_and ? Op::and32 : op == bit_or ? Op::or32 : Op::xor32;
      const Operand low = builder_->emit_pair(code, {operand(al, where), operand(bl, where)});
      return normalise_int64(t, low, builder_->emit_pair(code, {operand(ah, where), operand(bh, where)}));
    }
    default:
      return fail(where, fmt::format("operator '{}' does not fit '{}'", ast::spelling(op), t->name));
  }
}

// A register that is nonzero when a == b, a < b or a <= b.
Operand Evaluator::compare_int64(BinaryOp op, const Value& a, const Value& b, bool is_signed, SourceLoc where) {
  FunctionBuilder& f = *builder_;
  const auto [al, ah] = split_int64(a, where);
  const auto [bl, bh] = split_int64(b, where);
  const Operand xl = operand(al, where), xh = operand(ah, where), yl = operand(bl, where), yh = operand(bh, where);
  const Operand same = f.emit_reg(Op::eq32, {xh, yh});
  const Operand low = f.emit_reg(op == eq ? Op::eq32 : op == lt ? Op::ltu32 : Op::lteu32, {xl, yl});
  const Operand decided = f.emit_reg(Op::and16, {same, low});
  if (op == eq) return decided;
  return f.emit_reg(Op::or16, {decided, f.emit_reg(is_signed ? Op::lt32 : Op::ltu32, {xh, yh})});
}

// Shifts of a word by 32 and more give 0, so that each half is the sum of what comes from either.
Value Evaluator::shift_int64(bool left, const Value& a, const Value& by, SourceLoc where) {
  FunctionBuilder& f = *builder_;
  const Type* t = a.type;
  const auto [al, ah] = split_int64(a, where);
  const Operand low = operand(al, where), high = operand(ah, where);
  const bool known = by.is(ValueKind::integer);
  Operand n = known ? imm(int32_t(by.i)) : operand(by.type->is_int64() ? split_int64(by, where).first : by, where);
  if (!known && (by.type->is_pair() || by.type->is_int64())) n = f.emit_reg(Op::wunpl, {n});
  const Operand back = known ? imm(uint16_t(32 - n.value)) : f.emit_reg(Op::sub16, {imm(32), n});
  const Operand beyond = known ? imm(uint16_t(n.value - 32)) : f.emit_reg(Op::sub16, {n, imm(32)});
  const auto merge = [&](const Operand& x, const Operand& y) { return f.emit_pair(Op::or32, {x, y}); };
  if (left) {
    const Operand over = merge(f.emit_pair(Op::slr32, {low, back}), f.emit_pair(Op::sll32, {low, beyond}));
    const Operand upper = merge(f.emit_pair(Op::sll32, {high, n}), over);
    return normalise_int64(t, f.emit_pair(Op::sll32, {low, n}), upper);
  }
  const Operand near = merge(f.emit_pair(Op::slr32, {low, n}), f.emit_pair(Op::sll32, {high, back}));
  Operand far = f.emit_pair(t->is_signed ? Op::sar32 : Op::slr32, {high, beyond});
  if (t->is_signed) {  // a shift to the right by a "negative" number of places is all signs
    const Operand beyond_word = f.emit_reg(Op::lteu16, {imm(32), n});
    far = f.emit_pair(Op::and32, {far, f.emit_pair(Op::ext16, {f.emit_reg(Op::neg16, {beyond_word})})});
  }
  return normalise_int64(t, merge(near, far), f.emit_pair(t->is_signed ? Op::sar32 : Op::slr32, {high, n}));
}

Value Evaluator::unary_int64(ast::UnaryOp op, const Value& v, SourceLoc where) {
  if (op == ast::UnaryOp::negate) return add_int64(true, Value::integer(v.type, 0), v, v.type, where);
  const auto [low, high] = split_int64(v, where);
  const Operand l = builder_->emit_pair(Op::not32, {operand(low, where)});
  return normalise_int64(v.type, l, builder_->emit_pair(Op::not32, {operand(high, where)}));
}

// ---- conversions

Value Evaluator::convert_from_int64(const Value& v, const Type* t, SourceLoc where) {
  FunctionBuilder& b = *builder_;
  const auto [low, high] = split_int64(v, where);
  if (t->kind == TypeKind::boolean) {
    const Operand any = b.emit_pair(Op::or32, {operand(low, where), operand(high, where)});
    return Value::scalar(t, b.emit_reg(Op::xor16, {b.emit_reg(Op::eq32, {any, imm(0)}), imm(1)}));
  }
  if (t->kind == TypeKind::floating) {
    const Value f = call_int64(v.type->is_signed ? "to_f32_signed" : "to_f32", {low, high}, types_.f32(), where);
    return f.ok() && t->bits != 32 ? runtime_convert(f, t, where) : f;
  }
  if (t->is_int64()) return normalise_int64(t, operand(low, where), operand(high, where));
  return low.is(ValueKind::integer) ? Value::integer(t, wrapped(*t, low.i)) : convert_int(low, t);
}

Value Evaluator::convert_to_int64(const Value& v, const Type* t, SourceLoc where) {
  FunctionBuilder& b = *builder_;
  if (v.type->is_float()) {
    const Value f = v.type->bits == 16 ? runtime_convert(v, types_.f32(), where) : v;
    return call_int64(t->is_signed ? "from_f32_signed" : "from_f32", {f}, t, where);
  }
  const Type* from = v.type->kind == TypeKind::enumeration ? v.type->element : v.type;
  const bool is_signed = from->kind == TypeKind::integer && from->is_signed;
  const Operand o = v.location.operand();
  const Operand low = v.type->is_pair() ? o : b.emit_pair(is_signed ? Op::ext16 : Op::extu16, {o});
  const Type* u32 = types_.integer(32, false);
  if (!is_signed) return join_int64(t, Value::scalar(u32, low), Value::integer(u32, 0));
  return normalise_int64(t, low, b.emit_pair(Op::sar32, {low, imm(31)}));
}

// A loop counter in memory: the next value.
void Evaluator::step_int64(const Value& counter, const Value& step_value, SourceLoc where) {
  store(counter, add_int64(false, counter, step_value, counter.type, where), where);
}

}  // namespace cs::csl
