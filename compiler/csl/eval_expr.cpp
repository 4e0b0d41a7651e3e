// Expressions: literals, names, operators with control flow, types as values.
//
//   eval        the value of an expression; aggregates and scalars in memory stay places
//   rvalue      the same, with scalars loaded
//   eval_as     coerced to a type
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/eval.h"
#include "compiler/csl/suggest.h"

namespace cs::csl {

using ast::ExprKind;

Value Evaluator::fail(SourceLoc where, std::string message, std::string help) {
  diag().error(where, std::move(message), std::move(help));
  int shown = 0;
  for (const Frame* f = frame_; f && shown < 3; f = f->up)
    if (f->function && f->call.valid()) {
      diag().note(f->call, fmt::format("in this call of '{}'", f->function->name));
      ++shown;
    }
  if (diag().full()) session_.stopped = true;
  return {};
}

bool Evaluator::step(SourceLoc where) {
  if (session_.stopped) return false;
  if (++session_.steps <= session_.options.comptime_step_limit) return true;
  fail(where,
       fmt::format("comptime evaluation does not end: {} steps done, limit {}", session_.steps - 1,
                   session_.options.comptime_step_limit),
       "check the condition of the loop around this");
  session_.stopped = true;
  return false;
}

Value Evaluator::eval(const ast::Expr* e, const Type* want) {
  if (!step(e->loc)) return {};
  if (builder_ && emitting()) builder_->loc = e->loc;
  return eval_node(e, want);
}

Value Evaluator::rvalue(const ast::Expr* e, const Type* want) { return load(eval(e, want), e->loc); }

Value Evaluator::eval_as(const ast::Expr* e, const Type* t, const char* what) {
  return coerce(eval(e, t), t, e->loc, what);
}

Value Evaluator::eval_comptime(const ast::Expr* e, const Type* want, const char* what) {
  ComptimeScope scope(*this);
  Value v = want ? eval_as(e, want, what) : rvalue(e);
  if (v.ok() && !is_comptime(v)) return fail(e->loc, fmt::format("{} must be known at comptime", what));
  return v;
}

bool Evaluator::eval_int(const ast::Expr* e, int64_t low, int64_t high, const char* what, int64_t& out) {
  const Value v = eval_comptime(e, nullptr, what);
  if (!v.ok()) return false;
  if (!v.is(ValueKind::integer) || v.type->kind == TypeKind::boolean) {
    fail(e->loc, fmt::format("{} must be an integer, this is '{}'", what, v.type->name));
    return false;
  }
  if (v.i < low || v.i > high) {
    fail(e->loc, fmt::format("{} must be between {} and {}, this is {}", what, low, high, print_int(v.i)));
    return false;
  }
  out = int64_t(v.i);
  return true;
}

Value Evaluator::eval_literal(const ast::Expr* e, const Type* want) {
  switch (e->kind) {
    case ExprKind::integer: {
      const auto& n = static_cast<const ast::Integer&>(*e);
      if (n.value >> 127) return fail(e->loc, "integer literal does not fit 127 bits");
      return Value::integer(types_.get(TypeKind::comptime_int), __int128(n.value));
    }
    case ExprKind::floating:
      return Value::floating(types_.get(TypeKind::comptime_float),
                             static_cast<const ast::Floating&>(*e).value);
    case ExprKind::string:
      return text_value(types_, static_cast<const ast::String&>(*e).value);
    case ExprKind::boolean:
      return bool_value(types_, static_cast<const ast::Boolean&>(*e).value);
    case ExprKind::undefined:
      return Value(want ? want : types_.get(TypeKind::undefined), ValueKind::undefined);
    case ExprKind::null:
      return fail(e->loc, "'null' is not supported", "CSL has no optional types; use a flag");
    case ExprKind::identifier:
      return eval_identifier(static_cast<const ast::Identifier&>(*e));
    case ExprKind::enum_literal: {
      Value v = text_value(types_, static_cast<const ast::EnumLiteral&>(*e).name);
      v.type = types_.get(TypeKind::enum_literal);
      return want && want->kind == TypeKind::enumeration ? coerce(v, want, e->loc, "value") : v;
    }
    default:
      return {};
  }
}

Value Evaluator::eval_node(const ast::Expr* e, const Type* want) {
  switch (e->kind) {
    case ExprKind::integer:
    case ExprKind::floating:
    case ExprKind::string:
    case ExprKind::boolean:
    case ExprKind::undefined:
    case ExprKind::null:
    case ExprKind::enum_literal:
      return eval_literal(e, want);
    case ExprKind::identifier:
      return eval_identifier(static_cast<const ast::Identifier&>(*e));
    case ExprKind::builtin:
      return eval_builtin(static_cast<const ast::Builtin&>(*e), want);
    case ExprKind::call:
      return eval_call(static_cast<const ast::Call&>(*e));
    case ExprKind::index: {
      const auto& n = static_cast<const ast::Index&>(*e);
      const Value base = eval(n.base);
      std::vector<Value> indices;
      if (!base.ok() || !eval_indices(n, indices)) return {};
      return element(base, indices, e->loc);
    }
    case ExprKind::field: {
      const auto& n = static_cast<const ast::Field&>(*e);
      const Value base = eval(n.base);
      return base.ok() ? member(base, n.name, e->loc) : Value();
    }
    case ExprKind::deref:
      return dereference(rvalue(static_cast<const ast::Deref&>(*e).base), e->loc);
    case ExprKind::address_of:
      return eval_address_of(static_cast<const ast::AddressOf&>(*e));
    case ExprKind::unary: {
      const auto& n = static_cast<const ast::Unary&>(*e);
      return unary(n.op, rvalue(n.operand, n.op == ast::UnaryOp::logical_not ? nullptr : want), e->loc);
    }
    case ExprKind::binary:
      return eval_binary(static_cast<const ast::Binary&>(*e), want);
    case ExprKind::comptime_expr:
      return eval_comptime(static_cast<const ast::ComptimeExpr&>(*e).operand, nullptr,
                           "a comptime expression");
    case ExprKind::if_expr:
      return eval_if(static_cast<const ast::IfExpr&>(*e), want);
    case ExprKind::switch_expr: {
      const auto& n = static_cast<const ast::SwitchExpr&>(*e);
      Flow flow = Flow::next;
      return eval_switch(n.subject, n.prongs, want, e->loc, false, flow);
    }
    case ExprKind::block_expr:
      return eval_block(static_cast<const ast::BlockExpr&>(*e), want);
    case ExprKind::init:
      return eval_init(static_cast<const ast::Init&>(*e), want);
    case ExprKind::tensor_access:
      return fail(e->loc, "a tensor access belongs to the field 'tensor_access' of @get_dsd");
    default: {
      const Type* t = eval_type(e);
      return t ? type_value(types_, t) : Value();
    }
  }
}

Value Evaluator::eval_identifier(const ast::Identifier& n) {
  if (Local* local = find_local(n.name)) {
    const Value& v = local->cell();
    if (v.is(ValueKind::poison)) return {};
    if (v.runtime() && !emitting() && !v.type->is_aggregate() && !v.type->is_dsd())
      return fail(n.loc, fmt::format("'{}' is not known at comptime", n.name));
    return v;
  }
  ModuleInstance& module = *frame_->module;
  if (auto it = module.entries.find(n.name); it != module.entries.end())
    return global_value(module, it->second, n.loc);
  constexpr std::pair<std::string_view, int> kDirections[] = {
      {"EAST", 0}, {"WEST", 1}, {"SOUTH", 2}, {"NORTH", 3}, {"RAMP", 4}};
  for (const auto& [name, port] : kDirections)
    if (name == n.name) return Value::integer(types_.get(TypeKind::direction), port);
  if (const Type* t = types_.by_name(n.name)) return type_value(types_, t);
  return fail(n.loc, fmt::format("'{}' is not declared", n.name), suggestion(n.name));
}

std::string Evaluator::suggestion(std::string_view name) {
  std::vector<std::string> known = types_.names();
  for (size_t i = frame_ ? frame_->locals : 0; i < locals_.size(); ++i) known.emplace_back(locals_[i].name);
  if (frame_)
    for (const auto& [entry, _] : frame_->module->entries) known.emplace_back(entry);
  for (const char* d : {"EAST", "WEST", "SOUTH", "NORTH", "RAMP"}) known.emplace_back(d);
  return did_you_mean(name, known);
}

Value Evaluator::eval_binary(const ast::Binary& n, const Type* want) {
  using enum ast::BinaryOp;
  if (n.op == logical_and || n.op == logical_or) return eval_short_circuit(n);
  const bool comparison = n.op >= eq && n.op <= ge;
  const Type* hint = comparison || (want && !want->is_number()) ? nullptr : want;
  Value a = rvalue(n.left, hint);
  if (!a.ok()) {
    eval(n.right);  // its errors too
    return {};
  }
  // A variable read now must keep its value while the right side runs, if that can change it.
  if (a.variable && n.right->kind == ExprKind::block_expr) a = keep(a);
  const bool enums = a.type->kind == TypeKind::enumeration || a.type->is_id();
  Value b = rvalue(n.right, comparison && enums ? a.type : hint);
  if (!b.ok()) return {};
  if (builder_ && emitting()) builder_->loc = n.loc;
  return binary(n.op, std::move(a), std::move(b), n.loc);
}

// The value of `and` / `or` as a bool in a register, by jumps.
Value Evaluator::eval_short_circuit(const ast::Binary& n) {
  const Type* boolean = types_.get(TypeKind::boolean);
  if (!emitting()) {
    Value a = eval_as(n.left, boolean, "operand");
    if (!a.ok()) return {};
    if (a.truth() == (n.op == ast::BinaryOp::logical_or)) return a;
    return eval_as(n.right, boolean, "operand");
  }
  FunctionBuilder& b = *builder_;
  const isa::Operand result = b.reg();
  const int no = b.new_label();
  const auto mark = b.mark();
  b.move(result, FunctionBuilder::imm(0));
  const Truth truth = branch(&n, false, no);
  if (truth != Truth::runtime) {
    if (!b.label_used(no)) b.rewind(mark);
    b.place(no);
    return bool_value(types_, truth == Truth::yes);
  }
  b.move(result, FunctionBuilder::imm(1));
  b.place(no);
  return Value::scalar(boolean, result);
}

// Joins the values of branches: the first run-time one decides the register, all are copied into it.
Value Evaluator::merge_result(Value& result, bool& has, const Value& v, const Type* want, SourceLoc where) {
  if (!v.ok()) return {};
  if (!has) {
    const Type* t = want ? want : v.type;
    if (t->bytes == 0)
      return fail(where, fmt::format("this value of type '{}' depends on a run-time condition", t->name),
                  "give it a type that exists at run time, with @as or a typed variable");
    result = t->is_scalar() ? Value::scalar(t, builder_->temp(t))
                            : Value::place(t, builder_->slot("if", t->bytes, t->align), false);
    has = true;
  }
  Value c = coerce(v, result.type, where, "value of this branch");
  if (!c.ok()) return {};
  if (result.is(ValueKind::place))
    store(result, c, where);
  else
    builder_->move(result.location.operand(), operand(c, where));
  return c;
}

Value Evaluator::eval_if(const ast::IfExpr& n, const Type* want) {
  if (!emitting()) {
    const Value c = eval_as(n.condition, types_.get(TypeKind::boolean), "condition");
    if (!c.ok()) return {};
    const ast::Expr* taken = c.truth() ? n.then : n.otherwise;
    return taken ? eval(taken, want) : void_value();
  }
  FunctionBuilder& b = *builder_;
  const int no = b.new_label(), end = b.new_label();
  const Truth truth = branch(n.condition, false, no);
  if (truth != Truth::runtime) {
    b.place(no);
    b.place(end);
    const ast::Expr* taken = truth == Truth::yes ? n.then : n.otherwise;
    return taken ? eval(taken, want) : void_value();
  }
  ++frame_->depth;
  Value result;
  bool has = false;
  Value first = rvalue(n.then, want);
  if (first.ok() && !want && first.type->bytes == 0 &&
      n.otherwise) {  // a literal: the other side has the type
    const auto mark = b.mark();
    const Value other = rvalue(n.otherwise);
    b.rewind(mark);
    if (!other.ok())
      first = {};
    else
      want = other.type->bytes ? other.type : nullptr;
  }
  bool good = merge_result(result, has, first, want, n.then->loc).ok();
  b.jump(end);
  b.place(no);
  if (n.otherwise && good)
    good =
        merge_result(result, has, rvalue(n.otherwise, has ? result.type : want), want, n.otherwise->loc).ok();
  b.place(end);
  --frame_->depth;
  return good ? result : Value();
}

Value Evaluator::eval_block(const ast::BlockExpr& n, const Type* want) {
  check_label(n.block->label, n.loc);
  Target t{.label = n.block->label, .emitting = emitting(), .want = want};
  if (emitting()) t.break_label = builder_->new_label();
  t.depth = frame_->depth;
  targets_.push_back(t);
  const size_t index = targets_.size() - 1, locals = locals_.size();
  const Flow flow = exec_body(*n.block);
  locals_.resize(locals);
  Target done = targets_[index];
  targets_.resize(index);
  if (done.break_label >= 0) builder_->place(done.break_label);
  if (flow == Flow::next)
    return done.has_result ? fail(n.loc, "this block ends without a value") : void_value();
  return done.has_result ? done.result : void_value();
}

Value Evaluator::eval_address_of(const ast::AddressOf& n) {
  if (!emitting())
    if (const auto* id = ast::try_as<ast::Identifier>(n.operand))
      if (Local* local = find_local(id->name); local && !local->cell().is(ValueKind::place)) {
        if (!local->box) local->box = std::make_shared<Value>(local->value);
        Value p(types_.pointer(local->box->type, local->is_const, false), ValueKind::pointer);
        p.object = local->box;
        p.location = {};
        return p;
      }
  return address_of(locate(n.operand), n.loc);
}

Value Evaluator::eval_call(const ast::Call& n) {
  const Value callee = rvalue(n.callee);
  if (!callee.ok()) return {};
  const bool known = callee.is(ValueKind::function);
  const ast::Function* f = known ? callee.as<FunctionRef>().decl : nullptr;
  std::vector<Value> args;
  std::vector<SourceLoc> where;
  bool good = true;
  for (size_t i = 0; i < n.args.size(); ++i) {
    const Type* want = i < callee.type->params.size() ? callee.type->params[i] : nullptr;
    if (want && want->kind == TypeKind::any) want = nullptr;
    const bool comptime = f && i < f->params.size() && f->params[i].is_comptime;
    args.push_back(comptime ? eval_comptime(n.args[i], want, "a comptime parameter") : eval(n.args[i], want));
    where.push_back(n.args[i]->loc);
    good &= args.back().ok();
  }
  return good ? call(callee, std::move(args), where, n.loc) : Value();
}

}  // namespace cs::csl
