// Places in memory: elements, members, pointers; loads and stores.
//
// A place is a literal, global or slot plus an optional register. Known indices move the literal part; the
// others are scaled and added up in the register.
#include <bit>

#include <fmt/format.h>

#include "compiler/csl/eval.h"
#include "compiler/csl/kernel_checks.h"
#include "compiler/csl/lower_dsd.h"
#include "compiler/csl/suggest.h"

namespace cs::csl {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

namespace {

constexpr uint64_t kElementwise = 8;  // bigger aggregates are copied by vector moves

std::string index_help(const Type& t) { return fmt::format("the type is '{}'", t.name); }

}  // namespace

Value Evaluator::load(const Value& v, SourceLoc where) {
  if (!v.is(ValueKind::place)) return v;
  if (!emitting()) {
    // Aggregates and DSDs stay places: their type and address may be all that is asked for.
    if (!v.type->is_scalar() && !v.type->is_int64()) return v;
    return fail(where, "the value of a run-time variable is not known at comptime",
                "declare it with 'const', or use it in a function or task");
  }
  if (v.part_bits) return load_part(v, where);
  if (v.type->is_int64()) {
    const auto [low, high] = split_int64(v, where);
    return join_int64(v.type, low, high);
  }
  if (!v.type->is_scalar()) return v;
  return Value::scalar(v.type, builder_->load_new(v.type, v.location));
}

Value Evaluator::keep(const Value& v) {
  if (!emitting()) return v;
  if (v.is(ValueKind::scalar) && v.variable) {
    const Operand r = builder_->temp(v.type);
    builder_->move(r, v.location.operand());
    return Value::scalar(v.type, r);
  }
  if (v.is(ValueKind::place) && !v.is_const) {
    if (v.type->is_scalar() || v.type->is_int64()) return load(v, builder_->loc);
    const Value copy = Value::place(v.type, builder_->slot("copy", v.type->bytes, v.type->align), false);
    store(copy, v, builder_->loc);
    return Value::place(v.type, copy.location, true);
  }
  if (v.is(ValueKind::dsd) && !is_comptime(v)) {
    const Value copy = Value::place(v.type, builder_->slot("dsd", v.type->bytes, v.type->align), false);
    store(copy, v, builder_->loc);
    return Value::place(v.type, copy.location, true);
  }
  return v;
}

Operand Evaluator::operand(const Value& v, SourceLoc where) {
  switch (v.kind) {
    case ValueKind::scalar:
      return v.location.operand();
    case ValueKind::place:
      return load(v, where).location.operand();
    case ValueKind::integer:
      if (v.type->kind == TypeKind::integer && v.type->bytes <= 2 && v.type->is_signed)
        return FunctionBuilder::imm(int16_t(v.i));
      return FunctionBuilder::imm(v.type->bytes == 4 || v.type->bytes == 0 ? int32_t(uint32_t(v.i))
                                                                           : int32_t(uint16_t(v.i)));
    case ValueKind::floating:
      return FunctionBuilder::imm(int32_t(float_bits(v.type, v.f)));
    case ValueKind::undefined:
      return FunctionBuilder::imm(0);
    case ValueKind::pointer:
      if (!v.object) return v.location.operand();
      fail(where, "a pointer to a comptime variable does not exist at run time");
      return FunctionBuilder::imm(0);
    case ValueKind::function:
      return {OperandKind::function, int32_t(function_index(v.as<FunctionRef>(), {}, where)), 0};
    default:
      fail(where,
           fmt::format("a value of type '{}' does not exist at run time", v.type ? v.type->name : "?"));
      return FunctionBuilder::imm(0);
  }
}

Operand Evaluator::low_word(const Value& v, SourceLoc where) {
  const Operand o = operand(v.type->is_int64() ? split_int64(v, where).first : v, where);
  return o.kind == OperandKind::pair ? builder_->emit_reg(Op::wunpl, {o}) : o;
}

Location Evaluator::in_memory(const Value& v, SourceLoc where) {
  if (v.is(ValueKind::place)) return v.location;
  if (is_comptime(v) && !v.is(ValueKind::undefined)) return constant_place(v, where);
  const Value copy = Value::place(v.type, builder_->slot("temporary", v.type->bytes, v.type->align), false);
  store(copy, v, where);
  return copy.location;
}

// The place of an expression if it has one; constants get one in read-only memory.
Value Evaluator::locate(const ast::Expr* e) {
  if (!step(e->loc)) return {};
  Value v;
  if (const auto* n = ast::try_as<ast::Index>(e)) {
    const Value base = locate(n->base);
    std::vector<Value> indices;
    if (!base.ok() || !eval_indices(*n, indices)) return {};
    v = element(base, indices, e->loc);
  } else if (const auto* n = ast::try_as<ast::Field>(e)) {
    const Value base = n->base->kind == ast::ExprKind::field || n->base->kind == ast::ExprKind::index
                           ? locate(n->base)
                           : eval(n->base);
    if (!base.ok()) return {};
    v = member(base, n->name, e->loc);
  } else {
    v = eval(e);
  }
  const bool constant = v.is(ValueKind::aggregate) || v.is(ValueKind::integer) || v.is(ValueKind::floating) ||
                        v.is(ValueKind::dsd);
  if (constant && v.type->bytes && is_comptime(v))
    return Value::place(v.type, constant_place(v, e->loc), true);
  if (v.is(ValueKind::aggregate) && v.type->bytes && emitting())
    return Value::place(v.type, in_memory(v, e->loc), false);
  return v;
}

bool Evaluator::eval_indices(const ast::Index& n, std::vector<Value>& out) {
  bool good = true;
  for (const ast::Expr* e : n.indices) {
    const int first_new = emitting() ? builder_->next_virtual() : 0;
    out.push_back(rvalue(e));
    Value& index = out.back();
    // a[i + 1]: the literal goes into the address, unless the sum is looked at.
    if (emitting() && !kernel_checks() && index.is(ValueKind::scalar) && index.type->kind == TypeKind::integer &&
        index.type->bits == 16)
      if (const auto sum = builder_->take_back_add(index.location.operand(), first_new)) {
        index.location = Location::of(sum->first);
        index.location.extra = sum->second;
      }
    if (out.back().ok() && !out.back().type->is_int() && out.back().type->kind != TypeKind::enumeration) {
      fail(e->loc, fmt::format("an index must be an integer, this is '{}'", out.back().type->name));
      good = false;
    }
    good &= out.back().ok();
  }
  return good;
}

namespace {

// Sums up index * stride (in bytes): the known part in `bytes`, the others in a register.
class IndexSum {
 public:
  IndexSum(Evaluator& e, SourceLoc where) : e_(e), where_(where) {}

  bool add(const Value& index, int64_t stride, int64_t limit, const Type& type) {
    if (index.is(ValueKind::integer)) {
      if (index.i < 0 || (limit >= 0 && index.i >= limit)) {
        e_.fail(where_, fmt::format("index {} is outside of 0 … {}", print_int(index.i), limit - 1),
                index_help(type));
        return false;
      }
      bytes += int64_t(index.i) * stride;
      return true;
    }
    if (!e_.emitting()) {
      e_.fail(where_, "an index of a comptime value must be known at comptime");
      return false;
    }
    FunctionBuilder& b = e_.builder();
    Operand o = index.is(ValueKind::scalar) ? index.location.operand() : e_.low_word(index, where_);
    bytes += o.kind == OperandKind::reg ? int64_t(o.extra) * stride : 0;  // see eval_indices
    o.extra = 0;
    if (o.kind == OperandKind::pair) o = b.emit_reg(Op::wunpl, {o});
    if (stride != 1) {
      const bool power = std::has_single_bit(uint64_t(stride));
      o = power ? b.emit_reg(Op::sll16, {o, FunctionBuilder::imm(std::countr_zero(uint64_t(stride)))})
                : b.emit_reg(Op::imul16, {o, FunctionBuilder::imm(int32_t(stride))});
    }
    add_register(o);
    return true;
  }
  void add_register(Operand o) {
    reg = reg.kind == OperandKind::none ? o : e_.builder().emit_reg(Op::add16, {reg, o});
  }

  int64_t bytes = 0;
  Operand reg;

 private:
  Evaluator& e_;
  SourceLoc where_;
};

}  // namespace

Value Evaluator::element(const Value& base_value, const std::vector<Value>& indices, SourceLoc where) {
  Value base = base_value;
  if (base.type->kind == TypeKind::pointer && !base.type->many) base = dereference(load(base, where), where);
  if (!base.ok()) return {};
  if (base.type->kind == TypeKind::pointer) {  // [*]T
    const Value p = load(base, where);
    if (!p.ok()) return {};
    if (indices.size() != 1)
      return fail(where, fmt::format("a pointer takes one index, here are {}", indices.size()));
    Value first = dereference(p, where);
    if (!first.ok() || !first.is(ValueKind::place)) return first;
    IndexSum sum(*this, where);
    if (!sum.add(indices[0], base.type->element->bytes, -1, *base.type)) return {};
    if (first.location.index >= 0 && sum.reg.kind != OperandKind::none)
      sum.add_register({OperandKind::reg, first.location.index, 0});
    if (sum.reg.kind != OperandKind::none) first.location.index = sum.reg.value;
    first.location.extra += int32_t(sum.bytes);
    return first;
  }
  if (base.is(ValueKind::aggregate) && base.type->kind == TypeKind::comptime_struct &&
      !base.aggregate().names) {
    if (indices.size() != 1 || !indices[0].is(ValueKind::integer))
      return fail(where, "this needs one index, known at comptime");
    if (indices[0].i < 0 || indices[0].i >= __int128(item_count(base)))
      return fail(where, fmt::format("index {} is outside of 0 … {}", print_int(indices[0].i),
                                     int64_t(item_count(base)) - 1));
    return item(base, uint64_t(indices[0].i));
  }
  if (base.type->kind != TypeKind::array)
    return fail(where, fmt::format("a value of type '{}' has no elements", base.type->name));
  const Type& t = *base.type;
  if (indices.size() != t.dims.size())
    return fail(where, fmt::format("{} has {} dimension{}, here {} {} given", t.name, t.dims.size(),
                                   t.dims.size() == 1 ? "" : "s", indices.size(),
                                   indices.size() == 1 ? "index is" : "indices are"));
  if (base.is(ValueKind::undefined)) return Value(t.element, ValueKind::undefined);
  bool known = true;
  for (const Value& i : indices) known &= i.is(ValueKind::integer);
  if (base.is(ValueKind::aggregate) && !known && emitting())
    base = Value::place(base.type, in_memory(base, where), true);
  IndexSum sum(*this, where);
  int64_t stride = base.is(ValueKind::place) ? t.element->bytes : 1;
  for (size_t k = t.dims.size(); k-- > 0;) {
    check_index(*this, indices[k], t.dims[k], where);
    if (!sum.add(indices[k], stride, t.dims[k], t)) return {};
    stride *= t.dims[k];
  }
  if (base.is(ValueKind::aggregate)) return item(base, uint64_t(sum.bytes));
  if (!base.is(ValueKind::place)) return fail(where, "this value has no elements");
  Location l = offset_by(base.location, int32_t(sum.bytes));
  if (sum.reg.kind != OperandKind::none) {
    if (l.index >= 0) sum.add_register({OperandKind::reg, l.index, 0});
    l.index = sum.reg.value;
  }
  return Value::place(t.element, l, base.is_const);
}

Value Evaluator::member(const Value& base_value, std::string_view name, SourceLoc where, bool quiet) {
  Value base = base_value;
  if (base.type->kind == TypeKind::pointer) base = dereference(load(base, where), where);
  if (!base.ok()) return {};
  std::vector<std::string> known;
  if (base.is(ValueKind::module)) {
    auto& module = *static_cast<ModuleInstance*>(base.object.get());
    if (auto it = module.entries.find(name); it != module.entries.end())
      return global_value(module, it->second, where);
    for (const auto& [entry, _] : module.entries) known.emplace_back(entry);
    if (quiet) return {};
    return fail(where, fmt::format("module '{}' has no '{}'", module.source->path, name),
                did_you_mean(name, known));
  }
  if (base.is(ValueKind::type) && base.type_value()->kind == TypeKind::enumeration) {
    const Type* t = base.type_value();
    if (const Field* f = t->field(name)) return Value::integer(t, f->value);
    for (const Field& f : t->fields) known.push_back(f.name);
    if (quiet) return {};
    return fail(where, fmt::format("enum '{}' has no '{}'", t->name, name), did_you_mean(name, known));
  }
  if (base.type->kind == TypeKind::packed)
    if (const Field* f = base.type->field(name)) return packed_member(base, *f, where);
  if (const Value* v = named_item(base, name)) return base.type->is_union ? variant(base, *v, where) : *v;
  const Field* f = base.type->kind == TypeKind::structure ? base.type->field(name) : nullptr;
  if (f && base.is(ValueKind::place))
    return Value::place(f->type, offset_by(base.location, int32_t(f->offset)), base.is_const);
  if (f && base.is(ValueKind::undefined)) return Value(f->type, ValueKind::undefined);
  if (quiet) return {};
  for (const Field& field : base.type->fields) known.push_back(field.name);
  if (base.is(ValueKind::aggregate) && base.aggregate().names)
    for (std::string_view n : *base.aggregate().names) known.emplace_back(n);
  return fail(where, fmt::format("a value of type '{}' has no field '{}'", base.type->name, name),
              did_you_mean(name, known));
}

Value Evaluator::dereference(const Value& p, SourceLoc where) {
  if (!p.ok()) return {};
  if (p.type->kind != TypeKind::pointer)
    return fail(where, fmt::format("a value of type '{}' is no pointer", p.type->name));
  if (p.is(ValueKind::undefined)) return fail(where, "this pointer is undefined");
  if (p.is(ValueKind::pointer) && p.object) return p.as<Value>();
  Location l = p.location;
  if (p.is(ValueKind::scalar))
    l = {OperandKind::imm, 0, 0, p.location.value};
  else if (!p.is(ValueKind::pointer))
    return fail(where, "this pointer is not known here");
  return Value::place(p.type->element, l, p.type->is_const);
}

Value Evaluator::address_of(const Value& v, SourceLoc where) {
  if (!v.ok()) return {};
  if (v.is(ValueKind::function)) return v;
  if (v.part_bits || !v.is(ValueKind::place))
    return v.part_bits ? fail(where, "a field of a packed structure has no address", "copy it to a variable")
                       : fail(where, fmt::format("this value of type '{}' has no address", v.type->name));
  const Type* t = types_.pointer(v.type, v.is_const, false);
  Location l = v.location;
  if (l.index < 0) return Value::pointer(t, l);
  const Operand base{OperandKind::reg, l.index, 0};
  if (l.kind == OperandKind::imm && l.value + l.extra == 0) return Value::scalar(t, base);
  const Operand offset = l.kind == OperandKind::imm ? FunctionBuilder::imm(l.value + l.extra) : l.operand();
  return Value::scalar(t, builder_->emit_reg(Op::add16, {base, offset}));
}

void Evaluator::store(const Value& place, const Value& v, SourceLoc where) {
  if (!v.ok() || !place.ok() || v.is(ValueKind::undefined)) return;
  FunctionBuilder& b = *builder_;
  if (place.part_bits) return store_part(place, v, where);
  if (place.is(ValueKind::scalar)) return b.move(place.location.operand(), operand(v, where));
  const Type* t = place.type;
  if (t->is_scalar()) return b.store(t, place.location, operand(v, where));
  if (t->is_int64()) return store_int64(place, v, where);
  if (t->is_dsd()) return store_dsd(*this, place.location, v, where);
  if (v.is(ValueKind::place)) {
    if (!(v.location == place.location)) copy_memory(*this, place.location, v.location, t->bytes, where);
    return;
  }
  if (v.is(ValueKind::integer))
    return copy_memory(*this, place.location, constant_place(v, where), t->bytes, where);
  const bool splat = v.aggregate().count > kElementwise && v.aggregate().items[0].type->is_scalar();
  if (splat) return fill_memory(*this, place.location, v.aggregate().items[0], v.aggregate().count, where);
  const uint64_t n = item_count(v);
  if (n > kElementwise && is_comptime(v))
    return copy_memory(*this, place.location, constant_place(v, where), t->bytes, where);
  for (uint64_t i = 0; i < n; ++i) {
    const bool array = t->kind == TypeKind::array;
    const Type* et = array ? t->element : t->fields[i].type;
    const uint32_t offset = array ? uint32_t(i) * et->bytes : t->fields[i].offset;
    store(Value::place(et, offset_by(place.location, int32_t(offset)), false), item(v, i), where);
  }
}

}  // namespace cs::csl
