// Local declarations and assignments: values move into registers, memory or comptime variables.
#include <fmt/format.h>

#include "compiler/csl/eval.h"

namespace cs::csl {

namespace {

// The local behind `x`, `x.f`, `x[i].g` …
std::string_view root_name(const ast::Expr* e) {
  while (e) {
    if (const auto* id = ast::try_as<ast::Identifier>(e)) return id->name;
    const auto* field = ast::try_as<ast::Field>(e);
    const auto* index = ast::try_as<ast::Index>(e);
    e = field ? field->base : index ? index->base : nullptr;
  }
  return {};
}

}  // namespace

Flow Evaluator::exec_comptime_decl(const ast::Variable& n) {
  ComptimeScope scope(*this);
  const Flow flow = exec_decl(n);
  Local& local = locals_.back();
  if (local.name != n.name) return flow;
  local.is_comptime = true;
  local.depth = frame_->depth;
  if (local.value.ok() && !csl::is_comptime(local.value))
    local.value =
        fail(n.loc, fmt::format("the value of comptime variable '{}' is not known at comptime", n.name));
  return flow;
}

Flow Evaluator::exec_decl(const ast::Variable& n) {
  if (n.is_comptime && emitting()) return exec_comptime_decl(n);
  const Type* t = n.type ? eval_type(n.type) : nullptr;
  const bool is_const = n.variable_kind == ast::VariableKind::constant;
  if (n.type && !t) {
    declare(n.name, {}, is_const);
    return Flow::next;
  }
  if (find_local(n.name)) {
    fail(n.loc, fmt::format("'{}' is declared twice", n.name));
    return Flow::next;
  }
  Value v;
  const int first_new = emitting() ? builder_->next_virtual() : 0;
  if (!n.value)
    v = Value(t, ValueKind::undefined);
  else
    v = t ? eval_as(n.value, t, "initial value") : rvalue(n.value);
  if (!n.value && !t) fail(n.loc, fmt::format("'{}' needs a type or an initial value", n.name));
  if (!emitting() || !v.ok()) {
    declare(n.name, v, is_const);
    return Flow::next;
  }
  if (is_const) {
    declare(n.name, keep(v), true);
    return Flow::next;
  }
  if (v.is(ValueKind::aggregate) && v.type->kind == TypeKind::comptime_struct &&
      !v.aggregate().items.empty() && v.aggregate().names) {
    std::vector<Field> fields;
    std::string name = "struct {";
    for (size_t i = 0; i < v.aggregate().items.size(); ++i) {
      fields.push_back({.name = std::string((*v.aggregate().names)[i]), .type = v.aggregate().items[i].type});
      name += fmt::format(" {}: {},", fields.back().name, fields.back().type->name);
    }
    v = coerce(v, types_.structure(name, name + " }", fields), n.loc, "initial value");
  }
  if (v.ok() && v.type->bytes == 0) {
    v = fail(n.loc, fmt::format("a variable of type '{}' does not exist at run time", v.type->name),
             v.type->is_number() ? "write its type: var x: i16 = …" : "make it const");
  }
  if (!v.ok()) {
    declare(n.name, v, false);
    return Flow::next;
  }
  const bool memory = !v.type->is_scalar() || (frame_->addressed && frame_->addressed->contains(n.name));
  Value place = memory ? Value::place(v.type, builder_->slot(n.name, v.type->bytes, v.type->align), false)
                       : Value::scalar(v.type, builder_->temp(v.type), true);
  if (v.is(ValueKind::scalar) && !v.variable && !memory && v.location.value >= first_new)
    place.location = v.location,
    builder_->pin(v.location.operand());  // the register of the initial value becomes the variable's
  else
    store(place, v, n.loc);
  declare(n.name, place, false);
  return Flow::next;
}

void Evaluator::assign(const ast::Expr* target, const Value& value, SourceLoc where) {
  if (!value.ok()) return;
  if (const auto* id = ast::try_as<ast::Identifier>(target)) {
    if (id->name == "_") return;
    if (Local* local = find_local(id->name); local && local->is_const) {
      if (local->cell().ok())
        fail(target->loc, fmt::format("'{}' is constant", id->name), "declare it with 'var'");
      return;
    }
  }
  if (assign_packed(target, value, where)) return;
  if (Value* c = cell(target)) {
    const Type* t = c->type;
    const Value v = t && c->ok() ? coerce(value, t, where, "value") : value;
    if (!v.ok()) return;
    c = cell(target);  // a default value may have moved it
    if (c) *c = v;
    return;
  }
  const Value place = emitting() ? locate(target) : eval(target);
  if (!place.ok()) return;
  if (!emitting()) {
    fail(target->loc, "this cannot be assigned at comptime",
         place.runtime() ? "run-time variables get their first value where they are declared" : "");
    return;
  }
  const bool variable = place.is(ValueKind::scalar) && place.variable;
  if ((!place.is(ValueKind::place) && !variable) || place.is_const) {
    fail(target->loc, "this is constant and cannot be assigned");
    return;
  }
  store(place, coerce(value, place.type, where, "value"), where);
}

// What the target of an assignment holds, for values that have no type of their own.
const Type* Evaluator::target_type(const ast::Assign& n) {
  if (const auto* id = ast::try_as<ast::Identifier>(n.target)) {
    if (id->name == "_") return nullptr;
    if (Local* local = find_local(id->name)) return local->cell().type;
    auto it = frame_->module->entries.find(id->name);
    return it == frame_->module->entries.end() ? nullptr : it->second.value.type;
  }
  using enum ast::ExprKind;
  const ast::ExprKind k = n.value->kind;
  if (k != if_expr && k != switch_expr && k != block_expr && k != enum_literal && k != init && k != undefined)
    return nullptr;
  if (!emitting()) {
    const Value* c = cell(n.target);
    return c ? c->type : nullptr;
  }
  const auto mark = builder_->mark();  // the target is found again, after the value
  const Value place = locate(n.target);
  builder_->rewind(mark);
  return place.ok() ? place.type : nullptr;
}

Flow Evaluator::exec_assign(const ast::Assign& n) {
  if (emitting())
    if (const Local* root = find_local(root_name(n.target)); root && root->is_comptime) {
      if (root->depth != frame_->depth) {
        fail(
            n.loc,
            fmt::format("comptime variable '{}' would change under a run-time condition or loop", root->name),
            "make it a run-time variable, or the loop inline");
        return Flow::next;
      }
      ComptimeScope scope(*this);
      return exec_assign(n);
    }
  if (!n.compound) {
    const auto* id = ast::try_as<ast::Identifier>(n.target);
    const Type* want = target_type(n);
    const int first_new = emitting() ? builder_->next_virtual() : 0;
    const Value v = want ? eval(n.value, want) : eval(n.value);
    Local* local = id ? find_local(id->name) : nullptr;
    if (emitting() && local && !local->is_const && local->value.is(ValueKind::scalar) && v.ok()) {
      const Value c = coerce(v, local->value.type, n.loc, "value");
      if (c.is(ValueKind::scalar))
        builder_->move_new(find_local(id->name)->value.location.operand(), c.location.operand(), first_new);
      else if (c.ok())
        store(find_local(id->name)->value, c, n.loc);
      return Flow::next;
    }
    // The place of the target is found after the value, which is kept from changing meanwhile. Finding a name changes
    // nothing, so that of `d = @set_dsd_base_addr(d, p)` only the changed word is stored.
    assign(n.target, id && v.is(ValueKind::dsd) ? v : keep(v), n.loc);
    return Flow::next;
  }
  if (!emitting()) {
    Value* c = cell(n.target);
    const Value before = c ? *c : rvalue(n.target);
    assign(n.target, binary(n.op, before, rvalue(n.value, before.type), n.loc), n.loc);
    return Flow::next;
  }
  // The place is found once: indices may have effects.
  const Value place = locate(n.target);
  if (!place.ok()) return Flow::next;
  const bool variable = place.is(ValueKind::scalar) && place.variable;
  if ((!place.is(ValueKind::place) && !variable) || place.is_const) {
    fail(n.target->loc, "this is constant and cannot be assigned");
    return Flow::next;
  }
  const int first_new = builder_->next_virtual();
  const Value operand_value = rvalue(n.value, place.type);
  builder_->loc = n.loc;
  const Value result =
      coerce(binary(n.op, load(place, n.loc), operand_value, n.loc), place.type, n.loc, "value");
  if (variable && result.is(ValueKind::scalar))
    builder_->move_new(place.location.operand(), result.location.operand(), first_new);
  else
    store(place, result, n.loc);
  return Flow::next;
}

}  // namespace cs::csl
