// Conversions. coerce is what happens by itself (assignment, parameters): never loses a value. convert is
// @as.
#include <algorithm>
#include <cmath>
#include <cstring>

#include <fmt/format.h>

#include "compiler/csl/eval.h"
#include "compiler/csl/suggest.h"
#include "runtime/numerics/numerics.h"

namespace cs::csl {

using isa::Op;
using isa::Operand;

namespace {

bool in_range(const Type& t, __int128 v) {
  if (t.kind != TypeKind::integer) return true;
  if (t.bits == 0) return v == 0;
  if (t.bits >= 127 && (!t.is_signed || t.bits == 128)) return t.is_signed || v >= 0;
  const __int128 one = 1;
  if (t.is_signed) return v >= -(one << (t.bits - 1)) && v < (one << (t.bits - 1));
  return v >= 0 && v < (one << t.bits);
}

}  // namespace

// The low bits of `v` as a value of `t`: what instructions keep.
__int128 wrapped(const Type& t, __int128 v) {
  if (t.kind != TypeKind::integer || t.bits >= 127 || in_range(t, v)) return v;
  const unsigned __int128 mask = (((unsigned __int128)1) << t.bits) - 1;
  const unsigned __int128 low = (unsigned __int128)v & mask;
  const bool negative = t.is_signed && t.bits > 0 && (low >> (t.bits - 1) & 1);
  return negative ? __int128(low) - (__int128)mask - 1 : __int128(low);
}

namespace {

std::string range_text(const Type& t) {
  const __int128 one = 1;
  if (t.bits == 0) return "0 alone";
  if (t.bits >= 127 && (!t.is_signed || t.bits == 128)) return fmt::format("{} bits", t.bits);
  return t.is_signed
             ? fmt::format("{} … {}", print_int(-(one << (t.bits - 1))), print_int((one << (t.bits - 1)) - 1))
             : fmt::format("0 … {}", print_int((one << t.bits) - 1));
}

// Every value of `from` is a value of `to`.
bool widens(const Type& from, const Type& to) {
  if (from.kind != TypeKind::integer || to.kind != TypeKind::integer) return false;
  if (from.is_signed == to.is_signed) return from.bits <= to.bits;
  return to.is_signed && from.bits < to.bits;
}

// Rounded once: the step over f32 is made odd when it is not exact, so that it cannot fall on a tie.
uint16_t half_from_double(double v, Fp16Format format) {
  float f = float(v);
  if (double(f) != v && std::isfinite(f)) {
    uint32_t bits = 0;
    std::memcpy(&bits, &f, sizeof bits);
    if (bits % 2 == 0) f = std::nextafter(f, float(v > double(f) ? INFINITY : -INFINITY));
  }
  return numerics::float_to_half(f, format);
}

}  // namespace

double Evaluator::round_to(const Type* t, double v) const {
  if (t->kind != TypeKind::floating) return v;
  if (t->bits == 32) return double(float(v));
  return double(numerics::half_to_float(half_from_double(v, t->format), t->format));
}

uint32_t Evaluator::float_bits(const Type* t, double v) const {
  if (t->kind == TypeKind::floating && t->bits == 16) return half_from_double(v, t->format);
  const float f = float(v);
  uint32_t bits = 0;
  std::memcpy(&bits, &f, sizeof bits);
  return bits;
}

Value Evaluator::coerce_number(const Value& v, const Type* t, SourceLoc where, const char* what) {
  if (v.is(ValueKind::integer) && t->is_int()) {
    if (in_range(*t, v.i)) return Value::integer(t, v.i);
    return fail(where, fmt::format("{} {} does not fit '{}'", what, print_int(v.i), t->name),
                fmt::format("'{}' holds {}", t->name, range_text(*t)));
  }
  if (v.is(ValueKind::integer) && v.type->kind == TypeKind::comptime_int && t->is_float())
    return Value::floating(t, round_to(t, double(v.i)));
  if (v.is(ValueKind::floating) && t->is_float()) {
    if (v.type->kind == TypeKind::comptime_float || t->kind == TypeKind::comptime_float ||
        v.type->bits <= t->bits)
      return Value::floating(t, round_to(t, v.f));
  }
  if ((v.runtime() || v.is(ValueKind::aggregate)) && widens(*v.type, *t))
    return runtime_convert(load(v, where), t, where);
  if (v.runtime() && v.type->kind == TypeKind::floating && t->kind == TypeKind::floating &&
      v.type->bits < t->bits)
    return runtime_convert(load(v, where), t, where);
  return fail(where, fmt::format("{} has type '{}', here '{}' is needed", what, v.type->name, t->name),
              fmt::format("convert it: @as({}, …)", t->name));
}

Value Evaluator::coerce_pointer(const Value& v, const Type* t, SourceLoc where, const char* what) {
  const Type &from = *v.type->element, &to = *t->element;
  const bool writable = !v.type->is_const || t->is_const;
  bool fits = &from == &to && (v.type->many == t->many);
  fits |= t->many && from.kind == TypeKind::array && from.element == &to;  // *[n]T to [*]T
  fits |= t->many && &from == &to;                                         // *T to [*]T
  fits |= from.kind == TypeKind::array && to.kind == TypeKind::array && from.element == to.element &&
          from.bytes == to.bytes;
  fits |= to.kind == TypeKind::void_;  // *T to *anyopaque
  fits |= to.kind == TypeKind::array && to.elements() == 1 && to.element == &from &&
          !v.type->many;  // *T to *[1]T
  if (!fits || !writable)
    return fail(where, fmt::format("{} has type '{}', here '{}' is needed", what, v.type->name, t->name),
                fits ? "a pointer to const cannot become one to var" : "convert it: @ptrcast(T, …)");
  Value r = load(v, where);
  r.type = t;
  return r;
}

// .{ .name = value } to structures and unions.
Value Evaluator::coerce_struct(const Value& v, const Type* t, SourceLoc where) {
  std::vector<std::string> known;
  for (const Field& f : t->fields) known.push_back(f.name);
  for (std::string_view name : v.aggregate().names ? *v.aggregate().names : Names{})
    if (t->field_index(name) < 0)
      return fail(where, fmt::format("'{}' has no field '{}'", t->name, name), did_you_mean(name, known));
  std::vector<Value> items;
  for (const Field& f : t->fields) {
    const Value* found = named_item(v, f.name);
    items.emplace_back();
    if (!found && t->is_union) continue;
    const Value item_value =
        found       ? *found
        : f.initial ? eval_comptime(static_cast<const ast::Expr*>(f.initial), f.type, "a default value")
                    : fail(where, fmt::format("field '{}' of '{}' is missing", f.name, t->name));
    items.back() = coerce(item_value, f.type, where, "field");
    if (!items.back().ok()) return {};
  }
  return finish_struct(t, std::move(items), where);
}

// .{ … } to arrays and structures; arrays and structures element by element.
Value Evaluator::coerce_aggregate(const Value& v, const Type* t, SourceLoc where, const char* what) {
  const Aggregate& a = v.aggregate();
  const bool array = t->kind == TypeKind::array;
  Aggregate out;
  if (a.count && array && a.count == t->elements()) {
    out.items.push_back(coerce(a.items[0], t->element, where, what));
    out.count = a.count;
    return out.items[0].ok() ? Value::with(t, ValueKind::aggregate, std::move(out)) : Value();
  }
  const uint64_t n = item_count(v), need = array ? t->elements() : t->fields.size();
  if (!array && (a.names || n == 0)) return coerce_struct(v, t, where);
  if (n != need || (a.names && array))
    return fail(where, fmt::format("{} has {} elements, '{}' needs {}", what, n, t->name, need));
  for (uint64_t i = 0; i < n; ++i) {
    out.items.push_back(coerce(item(v, i), array ? t->element : t->fields[i].type, where, what));
    if (!out.items.back().ok()) return {};
  }
  if (!array) return finish_struct(t, std::move(out.items), where);
  return Value::with(t, ValueKind::aggregate, std::move(out));
}

Value Evaluator::coerce(const Value& v, const Type* t, SourceLoc where, const char* what) {
  if (!v.ok() || !t) return {};
  if (v.type == t || t->kind == TypeKind::any)
    return v.is(ValueKind::place) && (t->is_scalar() || (t->is_int64() && emitting())) ? load(v, where) : v;
  if (v.is(ValueKind::undefined)) return Value(t, ValueKind::undefined);
  if (v.type->is_number() && t->is_number()) return coerce_number(v, t, where, what);
  if (v.type->kind == TypeKind::pointer && t->kind == TypeKind::pointer)
    return coerce_pointer(v, t, where, what);
  if (v.is(ValueKind::aggregate) && (t->is_aggregate() || t->has_fields()))
    return coerce_aggregate(v, t, where, what);
  if (t->kind == TypeKind::comptime_struct && (v.is(ValueKind::aggregate) || v.is(ValueKind::module)))
    return v;
  if (v.type->kind == TypeKind::enum_literal && t->kind == TypeKind::enumeration) {
    return member(type_value(types_, t), v.text(), where);
  }
  if (v.type->kind == TypeKind::function && t->kind == TypeKind::function) {
    bool fits = v.type->params.size() == t->params.size() && v.type->element == t->element;
    for (size_t i = 0; fits && i < t->params.size(); ++i) fits = v.type->params[i] == t->params[i];
    if (fits) {
      Value r = v;
      if (!v.is(ValueKind::function)) r.type = t;
      return r;
    }
  }
  return fail(where, fmt::format("{} has type '{}', here '{}' is needed", what, v.type->name, t->name),
              v.type->is_number() && (t->is_number() || t->kind == TypeKind::boolean)
                  ? fmt::format("convert it: @as({}, …)", t->name)
                  : "");
}

// The type both operands of a binary operator can have.
const Type* Evaluator::peer(const Value& a, const Value& b) {
  const Type *x = a.type, *y = b.type;
  if (x == y) return x;
  if (!x->is_number() || !y->is_number()) {
    if (x->kind == TypeKind::enum_literal) return y;
    if (y->kind == TypeKind::enum_literal) return x;
    const bool pointers = x->kind == TypeKind::pointer && y->kind == TypeKind::pointer;
    return pointers || (x->kind == TypeKind::function && y->kind == TypeKind::function) ? x : nullptr;
  }
  if (x->is_float() || y->is_float()) {
    if (x->is_int() && x->kind != TypeKind::comptime_int) return nullptr;
    if (y->is_int() && y->kind != TypeKind::comptime_int) return nullptr;
    if (x->kind == TypeKind::floating && y->kind == TypeKind::floating) return x->bits > y->bits ? x : y;
    return x->kind == TypeKind::floating   ? x
           : y->kind == TypeKind::floating ? y
                                           : types_.get(TypeKind::comptime_float);
  }
  if (x->kind == TypeKind::comptime_int) return y;
  if (y->kind == TypeKind::comptime_int) return x;
  if (widens(*x, *y)) return y;
  if (widens(*y, *x)) return x;
  // A known operand takes the other's type if its value fits.
  if (a.is(ValueKind::integer) && !b.is(ValueKind::integer)) return in_range(*y, a.i) ? y : nullptr;
  if (b.is(ValueKind::integer) && !a.is(ValueKind::integer)) return in_range(*x, b.i) ? x : nullptr;
  if (a.is(ValueKind::integer) && b.is(ValueKind::integer))
    return in_range(*x, b.i) ? x : in_range(*y, a.i) ? y : nullptr;
  return nullptr;
}

Value Evaluator::convert(const Value& value, const Type* t, SourceLoc where) {
  Value v = load(value, where);
  if (!v.ok() || v.type == t) return v;
  const bool target = t->is_number() || t->kind == TypeKind::boolean || t->kind == TypeKind::enumeration;
  const bool source =
      v.type->is_number() || v.type->kind == TypeKind::boolean || v.type->kind == TypeKind::enumeration;
  if (!target || !source) return coerce(v, t, where, "value");
  if (v.is(ValueKind::undefined)) return Value(t, ValueKind::undefined);
  if (v.is(ValueKind::scalar) || v.is(ValueKind::aggregate)) return runtime_convert(v, t, where);
  if (v.is(ValueKind::floating)) {
    if (t->kind == TypeKind::boolean) return Value::integer(t, v.f != 0);
    if (t->is_float()) return Value::floating(t, round_to(t, v.f));
    if (emitting() && t->kind == TypeKind::integer && v.type->kind == TypeKind::floating) {
      // As the instruction: NaN is 0, the rest the nearest number of 16, 32 or 64 bits.
      const int bits = t->is_int64() ? 64 : t->is_pair() ? 32 : 16;
      const __int128 low = t->is_signed ? -(__int128(1) << (bits - 1)) : 0;
      const __int128 high = (__int128(1) << (t->is_signed ? bits - 1 : bits)) - 1;
      if (std::isnan(v.f)) return Value::integer(t, 0);
      const __int128 near = v.f >= double(high) ? high : v.f <= double(low) ? low : __int128(std::trunc(v.f));
      return Value::integer(t, wrapped(*t, near));
    }
    if (!(std::fabs(v.f) < 1e37)) return fail(where, fmt::format("{} is no value of '{}'", v.f, t->name));
    return coerce(Value::integer(types_.get(TypeKind::comptime_int), __int128(v.f)), t, where, "value");
  }
  if (t->kind == TypeKind::boolean) return Value::integer(t, v.i != 0);
  if (t->is_float()) return Value::floating(t, round_to(t, double(v.i)));
  if (t->kind == TypeKind::enumeration) {
    for (const Field& f : t->fields)
      if (f.value == v.i) return Value::integer(t, v.i);
    return fail(where, fmt::format("enum '{}' has no value {}", t->name, print_int(v.i)));
  }
  // A typed number loses its upper bits here as a variable does; a literal that does not fit is a mistake.
  if (emitting() && t->kind == TypeKind::integer && v.type->kind != TypeKind::comptime_int)
    return Value::integer(t, wrapped(*t, v.i));
  return coerce_number(Value::integer(types_.get(TypeKind::comptime_int), v.i), t, where, "value");
}

Value Evaluator::convert_int(const Value& v, const Type* t) {
  FunctionBuilder& b = *builder_;
  const Operand o = v.location.operand();
  const bool wide = v.type->is_pair();
  const Type* from = v.type->kind == TypeKind::enumeration ? v.type->element : v.type;
  if (t->is_pair() && !wide)
    return Value::scalar(t, b.emit_pair(from->is_signed ? Op::ext16 : Op::extu16, {o}));
  if (!t->is_pair() && wide) return normalise(t, b.emit_reg(Op::wunpl, {o}));
  if (!t->is_pair() && t->bits < from->bits && t->kind == TypeKind::integer)
    return normalise(t, b.emit_reg(Op::mov16, {o}));
  Value r = v;
  r.type = t;
  return r;
}

// Scalar conversions in registers.
Value Evaluator::runtime_convert(const Value& v, const Type* t, SourceLoc where) {
  if (v.type->is_int64() && t->bytes != 0) return convert_from_int64(v, t, where);
  if (t->is_int64()) return convert_to_int64(v, t, where);
  FunctionBuilder& b = *builder_;
  const Operand o = v.location.operand();
  const bool from_float = v.type->kind == TypeKind::floating;
  const Type* from = v.type->kind == TypeKind::enumeration ? v.type->element : v.type;
  if (t->kind == TypeKind::comptime_int || t->kind == TypeKind::comptime_float || t->bytes == 0)
    return fail(where, fmt::format("a run-time value cannot become '{}'", t->name));
  if (t->kind == TypeKind::boolean) {
    if (from_float) {  // != 0, and NaN is true
      const Operand zero = b.emit_reg(v.type->is_pair() ? Op::feqs : Op::feqh, {o, FunctionBuilder::imm(0)});
      return Value::scalar(t, b.emit_reg(Op::xor16, {zero, FunctionBuilder::imm(1)}));
    }
    const Operand zero = b.emit_reg(v.type->is_pair() ? Op::eq32 : Op::eq16, {o, FunctionBuilder::imm(0)});
    return Value::scalar(t, b.emit_reg(Op::xor16, {zero, FunctionBuilder::imm(1)}));
  }
  if (!from_float && t->kind != TypeKind::floating) return convert_int(v, t);
  if (from_float && t->kind == TypeKind::floating) {
    if (v.type->bits == t->bits) return v;
    return Value::scalar(t, t->bits == 32 ? b.emit_pair(Op::fh2s, {o}) : b.emit_reg(Op::fs2h, {o}));
  }
  if (from_float) {  // toward zero, through f32
    const Operand s = v.type->bits == 16 ? b.emit_pair(Op::fh2s, {o}) : o;
    if (t->is_pair()) return Value::scalar(t, b.emit_pair(t->is_signed ? Op::fs2xp32 : Op::fs2xpu32, {s}));
    const bool is_signed = t->is_signed;
    return normalise(t, b.emit_reg(is_signed ? Op::fs2xp16 : Op::fs2xpu16, {s}));
  }
  const bool is_signed = from->is_signed;
  Operand s;
  if (t->bits == 16 && is_signed && !from->is_pair()) return Value::scalar(t, b.emit_reg(Op::xp162fh, {o}));
  if (from->is_pair())
    s = b.emit_pair(is_signed ? Op::xp322fs : Op::xpu322fs, {o});
  else
    s = b.emit_pair(is_signed ? Op::xp162fs : Op::xpu162fs, {o});
  return Value::scalar(t, t->bits == 32 ? s : b.emit_reg(Op::fs2h, {s}));
}

// Registers hold 16 or 32 bits; narrower integers are kept extended.
Value Evaluator::normalise(const Type* t, const Operand& o) {
  if (t->kind != TypeKind::integer || t->bits == 16 || t->bits == 32) return Value::scalar(t, o);
  FunctionBuilder& b = *builder_;
  const bool wide = t->is_pair();
  const Operand shift = FunctionBuilder::imm((wide ? 32 : 16) - t->bits);
  const auto emit = [&](Op narrow, Op pair, const Operand& a, const Operand& c) {
    return wide ? b.emit_pair(pair, {a, c}) : b.emit_reg(narrow, {a, c});
  };
  if (!t->is_signed)
    return Value::scalar(t,
                         emit(Op::and16, Op::and32, o, FunctionBuilder::imm(int32_t((1u << t->bits) - 1))));
  return Value::scalar(t, emit(Op::sar16, Op::sar32, emit(Op::sll16, Op::sll32, o, shift), shift));
}

}  // namespace cs::csl
