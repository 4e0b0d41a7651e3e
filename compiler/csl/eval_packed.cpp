// Structures whose fields are runs of bits, and unions: reading, writing and building them.
//
// A packed structure of at most 32 bits is a scalar and lives in registers like its backing integer; a larger
// one lives in memory. At comptime both are integers. A field at run time is a `part`: a place (which may be
// a register) of one or two words and the bits of it that count. Loading shifts and masks; storing reads,
// merges and writes back.
#include <bit>

#include <fmt/format.h>

#include "compiler/csl/eval.h"
#include "runtime/numerics/numerics.h"

namespace cs::csl {

using isa::Op;
using isa::Operand;
using isa::OperandKind;
using Bits = unsigned __int128;

namespace {

Bits mask_of(int bits) { return bits >= 128 ? ~Bits(0) : (Bits(1) << bits) - 1; }

bool is_signed(const Type& t) {
  if (t.kind == TypeKind::enumeration) return t.element->is_signed;
  return t.kind == TypeKind::integer && t.is_signed;
}

}  // namespace

Value Evaluator::from_bits(const Type* t, Bits bits) const {
  const int n = t->packed_bits();
  bits &= mask_of(n < 0 ? int(t->bytes) * 8 : n);
  if (t->kind == TypeKind::floating && t->bits == 16)
    return Value::floating(t, double(numerics::half_to_float(uint16_t(bits), t->format)));
  if (t->kind == TypeKind::floating) return Value::floating(t, double(std::bit_cast<float>(uint32_t(bits))));
  if (t->kind == TypeKind::pointer) return Value::pointer(t, {OperandKind::imm, int32_t(bits), 0, -1});
  __int128 v = __int128(bits);
  if (n > 0 && n < 128 && is_signed(*t) && (bits >> (n - 1) & 1)) v -= __int128(1) << n;
  return Value::integer(t, v);
}

bool Evaluator::to_bits(const Value& v, Bits& bits) const {
  const int n = v.type->packed_bits();
  const Bits mask = mask_of(n < 0 ? int(v.type->bytes) * 8 : n);
  if (v.is(ValueKind::undefined))
    bits = 0;
  else if (v.is(ValueKind::floating))
    bits = float_bits(v.type, v.f);
  else if (v.is(ValueKind::integer))
    bits = Bits(v.i) & mask;
  else if (v.is(ValueKind::pointer) && !v.object && v.location.kind == OperandKind::imm &&
           v.location.index < 0)
    bits = uint16_t(v.location.value + v.location.extra);
  else
    return false;
  return true;
}

// Field `f` of a packed value.
Value Evaluator::packed_member(const Value& base, const Field& f, SourceLoc where) {
  if (base.is(ValueKind::undefined)) return Value(f.type, ValueKind::undefined);
  if (base.is(ValueKind::integer)) return from_bits(f.type, Bits(base.i) >> f.bit_offset);
  Value part = base;
  part.kind = ValueKind::place;
  part.type = f.type;
  if (!emitting()) return fail(where, "the value of a run-time variable is not known at comptime");
  int shift = base.part_shift + f.bit_offset;
  if (!part.location.in_register()) {
    part.location.extra += shift / 16 * 2;
    shift %= 16;
  }
  part.part_shift = uint8_t(shift);
  part.part_bits = f.bits;
  part.variable = false;
  if (base.is(ValueKind::scalar)) part.is_const = !base.variable;
  return part;
}

Value Evaluator::load_part(const Value& v, SourceLoc where) {
  FunctionBuilder& b = *builder_;
  const int shift = v.part_shift, bits = v.part_bits;
  if (!v.type->is_scalar())
    return fail(where, fmt::format("'{}' inside a packed structure cannot be read as a whole", v.type->name),
                "read its fields one by one");
  const bool registers = v.location.in_register();
  const bool wide = registers ? v.location.kind == OperandKind::pair : shift + bits > 16;
  if (shift + bits > 32) {  // lies in three words: the low 32 - shift bits, then the rest
    Value low = v, high = v;
    low.type = types_.integer(32, false);
    low.part_bits = uint8_t(32 - shift);
    high.type = low.type;
    high.location.extra += 4;
    high.part_shift = 0;
    high.part_bits = uint8_t(shift + bits - 32);
    const Operand l = load_part(low, where).location.operand();
    const Operand h =
        b.emit_pair(Op::sll32, {load_part(high, where).location.operand(), FunctionBuilder::imm(32 - shift)});
    return Value::scalar(v.type, b.emit_pair(Op::or32, {l, h}));
  }
  const Type* unit = types_.integer(wide ? 32 : 16, false);
  Operand o = registers ? v.location.operand() : b.load_new(unit, v.location);
  const int width = wide ? 32 : 16;
  const auto emit = [&](Op narrow, Op pair, int by) {
    return wide ? b.emit_pair(pair, {o, FunctionBuilder::imm(by)})
                : b.emit_reg(narrow, {o, FunctionBuilder::imm(by)});
  };
  if (is_signed(*v.type) && bits < width) {
    if (shift + bits < width) o = emit(Op::sll16, Op::sll32, width - shift - bits);
    o = emit(Op::sar16, Op::sar32, width - bits);
  } else {
    if (shift) o = emit(Op::slr16, Op::slr32, shift);
    if (shift + bits < width) o = emit(Op::and16, Op::and32, int32_t(uint32_t(mask_of(bits))));
  }
  if (wide && !v.type->is_pair()) o = b.emit_reg(Op::wunpl, {o});
  if (!wide && v.type->is_pair()) o = b.emit_pair(is_signed(*v.type) ? Op::ext16 : Op::extu16, {o});
  return Value::scalar(v.type, o);
}

void Evaluator::store_part(const Value& place, const Value& v, SourceLoc where) {
  FunctionBuilder& b = *builder_;
  const int shift = place.part_shift, bits = place.part_bits;
  if (!place.type->is_scalar()) {
    fail(where, fmt::format("'{}' inside a packed structure cannot be written as a whole", place.type->name),
         "write its fields one by one");
    return;
  }
  const bool registers = place.location.in_register();
  const bool wide = registers ? place.location.kind == OperandKind::pair : shift + bits > 16;
  Operand o = operand(v, where);
  if (shift + bits > 32) {
    Value low = place, high = place;
    low.type = high.type = types_.integer(32, false);
    low.part_bits = uint8_t(32 - shift);
    high.location.extra += 4;
    high.part_shift = 0;
    high.part_bits = uint8_t(shift + bits - 32);
    store_part(low, Value::scalar(low.type, o), where);
    store_part(high, Value::scalar(high.type, b.emit_pair(Op::slr32, {o, FunctionBuilder::imm(32 - shift)})),
               where);
    return;
  }
  const int width = wide ? 32 : 16;
  const Type* unit = types_.integer(width, false);
  const auto emit = [&](Op narrow, Op pair, const Operand& x, const Operand& y) {
    return wide ? b.emit_pair(pair, {x, y}) : b.emit_reg(narrow, {x, y});
  };
  const bool pair_value = v.type->is_pair() || place.type->is_pair();
  if (wide && !pair_value) o = b.emit_pair(Op::extu16, {o});
  if (!wide && pair_value) o = b.emit_reg(Op::wunpl, {o});
  if (bits < width) {
    const int32_t mask = int32_t(uint32_t(mask_of(bits)));
    const int32_t keep = int32_t(~(uint32_t(mask_of(bits)) << shift) & uint32_t(mask_of(width)));
    o = emit(Op::and16, Op::and32, o, FunctionBuilder::imm(mask));
    if (shift) o = emit(Op::sll16, Op::sll32, o, FunctionBuilder::imm(shift));
    const Operand before = registers ? place.location.operand() : b.load_new(unit, place.location);
    o = emit(Op::or16, Op::or32, emit(Op::and16, Op::and32, before, FunctionBuilder::imm(keep)), o);
  }
  if (registers)
    b.move(place.location.operand(), o);
  else
    b.store(unit, place.location, o);
}

// A field of a packed structure that is known at comptime gets a new value: the whole structure is assigned.
bool Evaluator::assign_packed(const ast::Expr* target, const Value& value, SourceLoc where) {
  const auto* n = ast::try_as<ast::Field>(target);
  if (!n || emitting()) return false;
  const Value base = eval(n->base);
  if (!base.ok() || base.type->kind != TypeKind::packed || base.runtime()) return false;
  const Field* f = base.type->field(n->name);
  if (!f) return false;
  Bits bits = 0, whole = 0;
  const Value v = coerce(value, f->type, where, "value");
  if (!v.ok()) return true;
  if (!to_bits(v, bits)) {
    fail(where, fmt::format("this '{}' has no bits at comptime", v.type->name));
    return true;
  }
  to_bits(base, whole);
  whole = (whole & ~(mask_of(f->bits) << f->bit_offset)) | bits << f->bit_offset;
  assign(n->base, Value::integer(base.type, __int128(whole)), where);
  return true;
}

Value Evaluator::make_packed(const Type* t, const std::vector<Value>& items, SourceLoc where) {
  Bits known = 0;
  bool runtime = false;
  for (size_t i = 0; i < items.size(); ++i) {
    Bits bits = 0;
    if (!items[i].ok()) continue;
    if (to_bits(items[i], bits))
      known |= bits << t->fields[i].bit_offset;
    else
      runtime = true;
  }
  const Value base = Value::integer(t, __int128(known));
  if (!runtime) return base;
  if (!emitting()) return fail(where, "a field of this packed structure is not known at comptime");
  Value place = t->is_scalar() ? Value::scalar(t, builder_->temp(t), true)
                               : Value::place(t, builder_->slot("packed", t->bytes, t->align), false);
  store(place, base, where);
  for (size_t i = 0; i < items.size(); ++i) {
    Bits bits = 0;
    if (items[i].ok() && !to_bits(items[i], bits))
      store(packed_member(place, t->fields[i], where), items[i], where);
  }
  place.variable = false;
  return place;
}

Value Evaluator::finish_struct(const Type* t, std::vector<Value> items, SourceLoc where) {
  if (t->is_union) {
    size_t given = 0;
    for (const Value& v : items) given += v.ok();
    if (given != 1)
      return fail(where, fmt::format("a union takes the value of one variant, here are {}", given));
  }
  if (t->kind == TypeKind::packed) return make_packed(t, items, where);
  for (size_t i = 0; i < items.size(); ++i)
    if (!items[i].ok()) items[i] = Value(t->fields[i].type, ValueKind::undefined);
  return Value::with(t, ValueKind::aggregate, Aggregate{.items = std::move(items)});
}

// Writing variant `index` of a union that is known at comptime: false (reported) if another one is active.
bool Evaluator::check_variant(const Value& v, int index, SourceLoc where) {
  const Aggregate& a = v.aggregate();
  if (!a.items[size_t(index)].is(ValueKind::undefined)) return true;
  for (size_t i = 0; i < a.items.size(); ++i)
    if (!a.items[i].is(ValueKind::undefined)) {
      fail(where,
           fmt::format("variant '{}' is not the active one, which is '{}'",
                       v.type->fields[size_t(index)].name, v.type->fields[i].name),
           "assign the whole union to change its variant: u = U { .variant = value }");
      return false;
    }
  return true;
}

}  // namespace cs::csl
