// Builtins on numbers and memory: bit casts, aggregates of equal values, ranges, random bits, configuration
// registers.
#include <fmt/format.h>

#include "compiler/csl/builtins.h"

namespace cs::csl {
namespace {

using isa::Op;

Value bitcast(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = e.eval_type(n.args[0]);
  Value v = e.rvalue(n.args[1]);
  if (!t || !v.ok()) return {};
  if (v.type->kind == TypeKind::comptime_int && t->bytes) {  // its bits as an unsigned number of that size
    const Type* plain = e.types().integer(int(t->bytes) * 8, v.i < 0);
    v = e.coerce(v, plain, n.loc, "value");
  } else if (v.type->kind == TypeKind::comptime_float && t->bytes == 4) {
    v = e.coerce(v, e.types().f32(), n.loc, "value");
  }
  if (!v.ok()) return {};
  const auto is_number = [](const Type& x) { return x.is_scalar() || x.is_int64(); };
  if (!is_number(*t) || !is_number(*v.type) || t->bytes != v.type->bytes)
    return e.fail(n.loc,
                  fmt::format("@bitcast from '{}' ({} bytes) to '{}' ({} bytes)", v.type->name, v.type->bytes,
                              t->name, t->bytes),
                  "both types need the same size");
  if (unsigned __int128 bits = 0; !v.is(ValueKind::undefined) && e.to_bits(v, bits)) return e.from_bits(t, bits);
  if (v.is(ValueKind::undefined) || v.is(ValueKind::scalar) || v.is(ValueKind::aggregate)) {
    v.type = t;
    return v;
  }
  return e.emitting() ? Value::scalar(t, e.operand(v, n.loc))
                      : e.fail(n.loc, "these bits are not known at comptime");
}

Value ptrcast(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = e.eval_type(n.args[0]);
  Value v = e.rvalue(n.args[1]);
  if (!t || !v.ok()) return {};
  if (t->kind != TypeKind::pointer || (v.type->kind != TypeKind::pointer && !v.is(ValueKind::scalar)))
    return e.fail(n.loc,
                  fmt::format("@ptrcast from '{}' to '{}': both must be pointers", v.type->name, t->name));
  v.type = t;
  return v;
}

Value splat(const Type* t, Value v) {
  Aggregate a;
  a.count = t->elements();
  if (a.count) a.items.push_back(std::move(v));
  return Value::with(t, ValueKind::aggregate, std::move(a));
}

Value zero_of(const Type* t) {
  if (t->kind == TypeKind::array) return splat(t, zero_of(t->element));
  if (t->kind == TypeKind::structure) {
    Aggregate a;
    for (const Field& f : t->fields) a.items.push_back(zero_of(f.type));
    return Value::with(t, ValueKind::aggregate, std::move(a));
  }
  return t->is_float() ? Value::floating(t, 0) : Value::integer(t, 0);
}

Value zeros(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = e.eval_type(n.args[0]);
  if (!t) return {};
  if (t->kind != TypeKind::array && t->kind != TypeKind::structure && !t->is_number())
    return e.fail(n.args[0]->loc, fmt::format("@zeros does not make a '{}'", t->name), "@zeros([n]T)");
  return zero_of(t);
}

Value constants(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = e.eval_type(n.args[0]);
  if (!t) return {};
  if (t->kind != TypeKind::array)
    return e.fail(n.args[0]->loc, fmt::format("@constants makes arrays, not '{}'", t->name));
  const Value v = e.keep(e.eval_as(n.args[1], t->element, "element"));
  return v.ok() ? splat(t, v) : Value();
}

// @range(T, stop), (T, start, stop), (T, start, stop, step)
Value range(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = e.eval_type(n.args[0]);
  if (!t) return {};
  if (!t->is_int()) return e.fail(n.args[0]->loc, fmt::format("a range counts integers, not '{}'", t->name));
  RangeValue r{.element = t, .start = Value::integer(t, 0), .step = Value::integer(t, 1)};
  if (n.args.size() == 2) {
    r.stop = e.eval_as(n.args[1], t, "stop");
  } else {
    r.start = e.keep(e.eval_as(n.args[1], t, "start"));
    r.stop = e.eval_as(n.args[2], t, "stop");
    if (n.args.size() == 4) r.step = e.eval_as(n.args[3], t, "step");
  }
  if (!r.start.ok() || !r.stop.ok() || !r.step.ok()) return {};
  if (!r.step.is(ValueKind::integer)) return e.fail(n.args[3]->loc, "the step must be known at comptime");
  if (r.step.i == 0) return e.fail(n.args[3]->loc, "the step is 0");
  return Value::with(e.types().get(TypeKind::range), ValueKind::range, std::move(r));
}

Value range_part(Evaluator& e, const ast::Builtin& n, Value RangeValue::*part) {
  const Value v = e.eval(n.args[0]);
  if (!v.ok()) return {};
  return v.is(ValueKind::range)
             ? v.as<RangeValue>().*part
             : e.fail(n.loc, fmt::format("a range is needed here, this is '{}'", v.type->name));
}
Value range_start(Evaluator& e, const ast::Builtin& n, const Type*) {
  return range_part(e, n, &RangeValue::start);
}
Value range_stop(Evaluator& e, const ast::Builtin& n, const Type*) {
  return range_part(e, n, &RangeValue::stop);
}
Value range_step(Evaluator& e, const ast::Builtin& n, const Type*) {
  return range_part(e, n, &RangeValue::step);
}

Value random16(Evaluator& e, const ast::Builtin&, const Type*) {
  const auto r = e.builder().emit_reg(Op::ldcfg16, {FunctionBuilder::imm(int(isa::ConfigReg::random))});
  return Value::scalar(e.types().integer(16, false), r);
}

bool config_register(Evaluator& e, const ast::Builtin& n, int64_t& reg) {
  if (!e.frame().module->source->library) {
    e.fail(n.loc, fmt::format("@{} is for library modules", n.name));
    return false;
  }
  if (!e.eval_int(n.args[0], 0, isa::kConfigEnd - 1, "the register", reg)) return false;
  if (isa::is_config_address(int32_t(reg))) return true;
  e.fail(n.args[0]->loc, fmt::format("there is no configuration register {}", reg));
  return false;
}

Value ldcfg16(Evaluator& e, const ast::Builtin& n, const Type*) {
  int64_t reg = 0;
  if (!config_register(e, n, reg)) return {};
  return Value::scalar(e.types().integer(16, false),
                       e.builder().emit_reg(Op::ldcfg16, {FunctionBuilder::imm(int32_t(reg))}));
}

Value stcfg16(Evaluator& e, const ast::Builtin& n, const Type*) {
  int64_t reg = 0;
  if (!config_register(e, n, reg)) return {};
  const Value v = e.eval_as(n.args[1], e.types().integer(16, false), "value");
  if (v.ok()) e.builder().emit(Op::stcfg16, {FunctionBuilder::imm(int32_t(reg)), e.operand(v, n.loc)});
  return e.void_value();
}

constexpr BuiltinRow kRows[] = {
    {"bitcast", 2, 2, Allowed::anywhere, bitcast},
    {"ptrcast", 2, 2, Allowed::anywhere, ptrcast},
    {"zeros", 1, 1, Allowed::anywhere, zeros},
    {"constants", 2, 2, Allowed::anywhere, constants},
    {"range", 2, 4, Allowed::anywhere, range},
    {"range_start", 1, 1, Allowed::anywhere, range_start},
    {"range_stop", 1, 1, Allowed::anywhere, range_stop},
    {"range_step", 1, 1, Allowed::anywhere, range_step},
    {"random16", 0, 0, Allowed::code, random16},
    {"ldcfg16", 1, 1, Allowed::code, ldcfg16},
    {"stcfg16", 2, 2, Allowed::code, stcfg16},
};

}  // namespace

std::span<const BuiltinRow> numeric_builtins() { return kRows; }

}  // namespace cs::csl
