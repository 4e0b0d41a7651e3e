// Operators on values known at comptime; the others go to ops_runtime.cpp.
//
// Comptime integers are 128 bits wide and overflow is an error; typed ones are checked against their type
// (wrapping is an error at comptime, as in Zig), but in code that runs later they wrap, whether a caller gave
// literals or variables. Floats are doubles, rounded to their type after every
// operation.
#include <cmath>

#include <fmt/format.h>

#include "compiler/csl/eval.h"

namespace cs::csl {

using enum ast::BinaryOp;
using ast::BinaryOp;

namespace {

bool is_comparison(BinaryOp op) { return op >= eq && op <= ge; }

template <class T>
bool compare_values(BinaryOp op, T a, T b) {
  switch (op) {
    case eq:
      return a == b;
    case ne:
      return a != b;
    case lt:
      return a < b;
    case le:
      return a <= b;
    case gt:
      return a > b;
    default:
      return a >= b;
  }
}

std::optional<double> float_op(BinaryOp op, double a, double b) {
  switch (op) {
    case add:
      return a + b;
    case sub:
      return a - b;
    case mul:
      return a * b;
    case div:
      return a / b;
    default:
      return std::nullopt;
  }
}

std::optional<__int128> int_op(BinaryOp op, __int128 a, __int128 b, const char*& why) {
  __int128 r = 0;
  bool overflow = false;
  switch (op) {
    case add:
      overflow = __builtin_add_overflow(a, b, &r);
      break;
    case sub:
      overflow = __builtin_sub_overflow(a, b, &r);
      break;
    case mul:
      overflow = __builtin_mul_overflow(a, b, &r);
      break;
    case div:
    case rem:
      if (b == 0) {
        why = "division by zero";
        return std::nullopt;
      }
      overflow = b == -1 && a == -a && a != 0;  // the smallest number
      if (!overflow) r = op == div ? a / b : a % b;
      break;
    case bit_and:
      r = a & b;
      break;
    case bit_or:
      r = a | b;
      break;
    case bit_xor:
      r = a ^ b;
      break;
    default:
      why = "this operator does not take integers";
      return std::nullopt;
  }
  if (overflow) {
    why = "the result does not fit 127 bits";
    return std::nullopt;
  }
  return r;
}

bool can_compare_only(const Type& t) { return !t.is_number(); }

}  // namespace

Value Evaluator::binary(BinaryOp op, Value a, Value b, SourceLoc where) {
  if (!a.ok() || !b.ok()) return {};
  if (op == shl || op == shr) return shift(op, a, b, where);
  if (a.is(ValueKind::undefined) || b.is(ValueKind::undefined)) return fail(where, "an operand is undefined");
  if (a.is(ValueKind::text) && b.is(ValueKind::text) && (op == eq || op == ne))
    return bool_value(types_, (a.text() == b.text()) == (op == eq));
  if (a.is(ValueKind::type) && b.is(ValueKind::type) && (op == eq || op == ne))
    return bool_value(types_, (a.object == b.object) == (op == eq));
  const Type* t = peer(a, b);
  if (!t || (can_compare_only(*t) && t->kind == TypeKind::array))
    return fail(where,
                fmt::format("operator '{}' does not fit '{}' and '{}'", ast::spelling(op), a.type->name,
                            b.type->name),
                t ? "" : "convert one of them with @as");
  a = coerce(a, t, where, "left operand");
  b = coerce(b, t, where, "right operand");
  if (!a.ok() || !b.ok()) return {};
  if (can_compare_only(*t)) {
    const bool bits = t->kind == TypeKind::boolean && (op == bit_and || op == bit_or || op == bit_xor);
    const bool ordered = t->kind == TypeKind::enumeration || t->is_id();
    if (!bits && op != eq && op != ne && !(ordered && is_comparison(op)))
      return fail(where, fmt::format("operator '{}' does not fit '{}'", ast::spelling(op), t->name));
  }
  const bool halves = t->is_int64() && (a.is(ValueKind::aggregate) || b.is(ValueKind::aggregate));
  if (a.is(ValueKind::scalar) || b.is(ValueKind::scalar) || halves) {
    if (emitting()) return runtime_binary(op, a, b, t, where);
    return fail(where, "this value is not known at comptime");
  }
  return comptime_binary(op, a, b, t, where);
}

Value Evaluator::comptime_binary(BinaryOp op, const Value& a, const Value& b, const Type* t,
                                 SourceLoc where) {
  if (a.is(ValueKind::floating) && b.is(ValueKind::floating)) {
    if (is_comparison(op)) return bool_value(types_, compare_values(op, a.f, b.f));
    if (const auto r = float_op(op, a.f, b.f)) return Value::floating(t, round_to(t, *r));
    return fail(where, fmt::format("operator '{}' does not fit '{}'", ast::spelling(op), t->name));
  }
  if (a.is(ValueKind::integer) && b.is(ValueKind::integer)) {
    if (is_comparison(op)) return bool_value(types_, compare_values(op, a.i, b.i));
    const char* why = nullptr;
    const auto r = int_op(op, a.i, b.i, why);
    if (!r) return fail(where, why);
    if (t->kind != TypeKind::integer) return Value::integer(t, *r);
    if (emitting()) return Value::integer(t, wrapped(*t, *r));  // what the instruction would give
    return coerce(Value::integer(types_.get(TypeKind::comptime_int), *r), t, where, "the result");
  }
  if (is_comparison(op) && (op == eq || op == ne)) {
    if (a.is(ValueKind::pointer) && b.is(ValueKind::pointer))
      return bool_value(types_, (a.object == b.object && a.location == b.location) == (op == eq));
    return bool_value(types_, equal(a, b) == (op == eq));
  }
  return fail(where, fmt::format("operator '{}' does not fit '{}' and '{}'", ast::spelling(op), a.type->name,
                                 b.type->name));
}

Value Evaluator::shift(BinaryOp op, const Value& a, const Value& b, SourceLoc where) {
  if (!a.type->is_int() || !b.type->is_int())
    return fail(where, fmt::format("operator '{}' does not fit '{}' and '{}'", ast::spelling(op),
                                   a.type->name, b.type->name));
  if (a.is(ValueKind::undefined) || b.is(ValueKind::undefined)) return fail(where, "an operand is undefined");
  if (b.is(ValueKind::integer) && (b.i < 0 || b.i > 127))
    return fail(where, fmt::format("shift by {}", print_int(b.i)));
  if (a.is(ValueKind::integer) && b.is(ValueKind::integer)) {
    if (op == shr) return Value::integer(a.type, a.i >> int(b.i));
    if (a.type->kind == TypeKind::integer && a.type->bits == 0) return a;
    if (a.type->kind == TypeKind::integer && a.type->bits < 127) {  // bits shifted out are lost
      const unsigned __int128 mask = (((unsigned __int128)1) << a.type->bits) - 1;
      unsigned __int128 r = ((unsigned __int128)a.i << int(b.i)) & mask;
      const bool negative = a.type->is_signed && (r >> (a.type->bits - 1) & 1);
      return Value::integer(a.type, negative ? __int128(r) - (__int128)mask - 1 : __int128(r));
    }
    const __int128 limit = (((__int128)1) << 126) >> int(b.i);
    if (a.i > limit || a.i < -limit) return fail(where, "the result does not fit 127 bits");
    return Value::integer(a.type, a.i * (((__int128)1) << int(b.i)));
  }
  if (!emitting()) return fail(where, "this value is not known at comptime");
  Value x = a;
  if (a.type->kind == TypeKind::comptime_int) {
    if (!b.runtime()) return fail(where, "this value is not known at comptime");
    return fail(where, "a comptime_int is shifted by a run-time value", "give it a type: @as(u16, …)");
  }
  x = load(a, where);
  const Type* t = a.type;
  if (t->is_int64()) return shift_int64(op == shl, x, b, where);
  const bool wide = t->is_pair();
  const isa::Operand count = low_word(b, where);
  const isa::Op code = op == shl      ? (wide ? isa::Op::sll32 : isa::Op::sll16)
                       : t->is_signed ? (wide ? isa::Op::sar32 : isa::Op::sar16)
                                      : (wide ? isa::Op::slr32 : isa::Op::slr16);
  const isa::Operand o = operand(x, where);
  const isa::Operand r = wide ? builder_->emit_pair(code, {o, count}) : builder_->emit_reg(code, {o, count});
  return op == shl ? normalise(t, r) : Value::scalar(t, r);
}

Value Evaluator::unary(ast::UnaryOp op, const Value& v, SourceLoc where) {
  if (!v.ok()) return {};
  const Type* t = v.type;
  const bool fits = op == ast::UnaryOp::logical_not ? t->kind == TypeKind::boolean
                    : op == ast::UnaryOp::negate    ? t->is_number()
                                                    : t->is_int();
  if (!fits || v.is(ValueKind::undefined))
    return fail(where, fmt::format("operator '{}' does not fit '{}'", ast::spelling(op),
                                   v.is(ValueKind::undefined) ? "undefined" : t->name));
  if (v.is(ValueKind::floating)) return Value::floating(t, -v.f);
  if (v.is(ValueKind::integer)) {
    if (op == ast::UnaryOp::logical_not) return bool_value(types_, !v.truth());
    if (op == ast::UnaryOp::negate) return comptime_binary(sub, Value::integer(t, 0), v, t, where);
    const bool plain = t->kind == TypeKind::comptime_int || t->is_signed;
    return Value::integer(t, plain ? ~v.i : ~v.i & ((((__int128)1) << t->bits) - 1));
  }
  if (!emitting()) return fail(where, "this value is not known at comptime");
  if (t->is_int64()) return unary_int64(op, v, where);
  FunctionBuilder& b = *builder_;
  const isa::Operand o = operand(v, where);
  const bool wide = t->is_pair();
  if (op == ast::UnaryOp::logical_not)
    return Value::scalar(t, b.emit_reg(isa::Op::xor16, {o, FunctionBuilder::imm(1)}));
  if (t->is_float())
    return Value::scalar(t, wide ? b.emit_pair(isa::Op::fnegs, {o}) : b.emit_reg(isa::Op::fnegh, {o}));
  const bool negate = op == ast::UnaryOp::negate;
  const isa::Operand r = wide ? b.emit_pair(negate ? isa::Op::neg32 : isa::Op::not32, {o})
                              : b.emit_reg(negate ? isa::Op::neg16 : isa::Op::not16, {o});
  return normalise(t, r);
}

}  // namespace cs::csl
