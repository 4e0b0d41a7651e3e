// Statements. The Flow that exec returns says whether the next statement is reached; what is not reached is
// not evaluated. In code that is being emitted, break, continue and return are jumps as well.
#include <fmt/format.h>

#include "compiler/csl/eval.h"
#include "compiler/csl/warnings.h"

namespace cs::csl {

using ast::StmtKind;

Flow Evaluator::exec(const ast::Stmt* s) {
  if (!step(s->loc)) return Flow::stopped;
  if (emitting()) {
    builder_->loc = s->loc;
    constexpr size_t kMostInstructions = 100'000;  // four times what fits into a PE
    if (const size_t size = builder_->function().code.size(); size > kMostInstructions) {
      fail(s->loc,
           fmt::format("this function has more than {} instructions, far beyond a PE's {} bytes",
                       kMostInstructions, machine().core.memory_bytes),
           "unroll and inline less");
      session_.stopped = true;
      return Flow::stopped;
    }
  }
  return exec_node(s);
}

Flow Evaluator::exec_body(const ast::Block& block) {
  const size_t locals = locals_.size();
  Flow flow = Flow::next;
  for (const ast::Stmt* s : block.body) {
    flow = exec(s);
    if (flow != Flow::next) break;
  }
  locals_.resize(locals);
  return flow;
}

Flow Evaluator::exec_node(const ast::Stmt* s) {
  switch (s->kind) {
    case StmtKind::block: {
      const auto& n = static_cast<const ast::Block&>(*s);
      if (n.is_comptime) {
        ComptimeScope scope(*this);
        return exec_body(n);
      }
      if (n.label.empty()) return exec_body(n);
      check_label(n.label, n.loc);
      Target t{.label = n.label, .emitting = emitting(), .depth = frame_->depth};
      if (emitting()) t.break_label = builder_->new_label();
      targets_.push_back(t);
      const size_t index = targets_.size() - 1;
      Flow flow = exec_body(n);
      const bool used = t.break_label >= 0 && builder_->label_used(t.break_label);
      if (t.break_label >= 0) builder_->place(t.break_label);
      if (used || (!t.emitting && flow == Flow::break_ && leaving_ == index)) flow = Flow::next;
      targets_.resize(index);
      return flow;
    }
    case StmtKind::decl: {
      const ast::Decl* d = static_cast<const ast::DeclStmt&>(*s).decl;
      if (const auto* v = ast::try_as<ast::Variable>(d)) {
        const Flow flow = exec_decl(*v);
        ValueObserver* observer = session_.options.observer;
        if (observer && !locals_.empty() && locals_.back().name == v->name)
          observer->declared(v->loc, locals_.back().cell());
        return flow;
      }
      fail(s->loc, "only const and var can be declared here");
      return Flow::next;
    }
    case StmtKind::expr: {
      const ast::Expr* e = static_cast<const ast::ExprStmt&>(*s).expr;
      const Value v = eval(e);
      const bool plain = e->kind == ast::ExprKind::call || e->kind == ast::ExprKind::builtin ||
                         e->kind == ast::ExprKind::block_expr;
      if (v.ok() && !v.is(ValueKind::void_) && !plain)
        diag().warning(
            e->loc, named("unused-value", fmt::format("this value of type '{}' is not used", v.type->name)),
            "assign it to _ if that is meant");
      return Flow::next;
    }
    case StmtKind::assign:
      return exec_assign(static_cast<const ast::Assign&>(*s));
    case StmtKind::if_stmt:
      return exec_if(static_cast<const ast::If&>(*s));
    case StmtKind::while_stmt:
      return exec_while(static_cast<const ast::While&>(*s));
    case StmtKind::for_stmt:
      return exec_for(static_cast<const ast::For&>(*s));
    case StmtKind::switch_stmt: {
      const auto& n = static_cast<const ast::Switch&>(*s);
      Flow flow = Flow::next;
      eval_switch(n.subject, n.prongs, nullptr, n.loc, true, flow);
      return flow;
    }
    case StmtKind::return_stmt:
      return exec_return(static_cast<const ast::Return&>(*s));
    case StmtKind::break_stmt:
      return exec_break(static_cast<const ast::Break&>(*s));
    case StmtKind::continue_stmt:
      return exec_continue(static_cast<const ast::Continue&>(*s));
  }
  return Flow::next;
}

Local* Evaluator::find_local(std::string_view name) {
  if (!frame_) return nullptr;
  for (size_t i = locals_.size(); i-- > frame_->locals;)
    if (locals_[i].name == name) return &locals_[i];
  return nullptr;
}

void Evaluator::declare(std::string_view name, Value v, bool is_const) {
  locals_.push_back({.name = name, .value = std::move(v), .is_const = is_const});
}

Flow Evaluator::exec_if(const ast::If& n) {
  const auto run = [&](const ast::Stmt* s) {
    const size_t locals = locals_.size();
    const Flow f = s ? exec(s) : Flow::next;
    locals_.resize(locals);
    return f;
  };
  if (!emitting()) {
    const Value c = eval_as(n.condition, types_.get(TypeKind::boolean), "condition");
    if (!c.ok()) return Flow::next;
    return run(c.truth() ? n.then : n.otherwise);
  }
  FunctionBuilder& b = *builder_;
  const int no = b.new_label();
  const size_t errors = diag().errors();
  const Truth truth = branch(n.condition, false, no);
  if (truth != Truth::runtime) {
    b.place(no);
    return diag().errors() > errors ? Flow::next : run(truth == Truth::yes ? n.then : n.otherwise);
  }
  ++frame_->depth;
  const Flow first = run(n.then);
  Flow second = Flow::next;
  if (n.otherwise) {
    const int end = b.new_label();
    if (first == Flow::next) b.jump(end);
    b.place(no);
    second = run(n.otherwise);
    b.place(end);
  } else {
    b.place(no);
  }
  --frame_->depth;
  if (first == Flow::next || second == Flow::next) return Flow::next;
  return first == second ? first : Flow::stopped;
}

Flow Evaluator::exec_return(const ast::Return& n) {
  Frame& f = *frame_;
  if (!f.function) {
    fail(n.loc, "'return' outside of a function");
    return Flow::return_;
  }
  const bool is_void = f.result_type && f.result_type->kind == TypeKind::void_;
  Value v = void_value();
  if (n.value)
    v = f.result_type ? eval_as(n.value, f.result_type, "return value") : rvalue(n.value);
  else if (!is_void && f.result_type)
    v = fail(n.loc,
             fmt::format("'{}' returns '{}': a value is needed", f.function->name, f.result_type->name));
  if (n.value && is_void && v.ok() && !v.is(ValueKind::void_))
    v = fail(n.loc, fmt::format("'{}' returns nothing", f.function->name));
  if (!f.emitting) {
    f.result = v;
    f.has_result = true;
    return Flow::return_;
  }
  FunctionBuilder& b = *builder_;
  b.loc = n.loc;
  if (is_void || !v.ok()) {
    f.has_result = true;
    f.result = v;
    if (f.inlined)
      b.jump(f.end_label);
    else
      b.ret();
    return Flow::return_;
  }
  if (f.inlined && f.depth == 0 && !f.has_result &&
      always_reached(f.targets)) {  // the only return that is reached: no copy
    f.result = keep(v);
    f.has_result = true;
    return Flow::return_;
  }
  if (!f.has_result) {
    const Type* t = v.type;
    if (t->bytes == 0) {
      fail(n.loc, fmt::format("this value of type '{}' depends on a run-time condition", t->name));
      return Flow::return_;
    }
    f.result = t->is_scalar() ? Value::scalar(t, b.temp(t))
                              : Value::place(t, b.slot("result", t->bytes, t->align), false);
    f.has_result = true;
  }
  store(f.result, v, n.loc);
  if (f.inlined)
    b.jump(f.end_label);
  else
    b.ret();
  return Flow::return_;
}

// No jump of emitted code went past this point to a label of these targets.
bool Evaluator::always_reached(size_t first_target) const {
  for (size_t i = first_target; i < targets_.size(); ++i) {
    const Target& t = targets_[i];
    if (t.emitting && t.break_label >= 0 && builder_->label_used(t.break_label)) return false;
    if (t.emitting && t.continue_label >= 0 && builder_->label_used(t.continue_label)) return false;
  }
  return true;
}

int Evaluator::find_target(std::string_view label, bool loop) {
  for (size_t i = targets_.size(); i-- > frame_->targets;)
    if (label.empty() ? targets_[i].is_loop : targets_[i].label == label && (!loop || targets_[i].is_loop))
      return int(i);
  return -1;
}

Flow Evaluator::exec_break(const ast::Break& n) {
  const int index = find_target(n.label, false);
  if (index < 0) {
    fail(n.loc, n.label.empty() ? "'break' outside of a loop"
                                : fmt::format("no loop or block is labelled '{}'", n.label));
    return Flow::stopped;
  }
  Value v;
  if (n.value) v = rvalue(n.value, targets_[size_t(index)].want);
  Target& t = targets_[size_t(index)];
  if (!emitting() && t.emitting) {
    fail(n.loc, "a comptime block cannot leave a run-time loop");
    return Flow::stopped;
  }
  if (!t.emitting) {
    t.result = v;
    if (n.value && t.want && v.ok()) t.result = coerce(v, t.want, n.loc, "value");
    t.has_result = true;
    leaving_ = size_t(index);
    return Flow::break_;
  }
  if (n.value) {
    if (frame_->depth == t.depth && !t.has_result && always_reached(size_t(index) + 1)) {
      Value kept = keep(t.want ? coerce(v, t.want, n.loc, "value") : v);
      targets_[size_t(index)].result = kept;
      targets_[size_t(index)].has_result = true;
    } else {
      Value result = t.result;
      bool has = t.has_result;
      merge_result(result, has, v, t.want, n.loc);
      targets_[size_t(index)].result = result;
      targets_[size_t(index)].has_result = has;
    }
  }
  builder_->jump(targets_[size_t(index)].break_label);
  return Flow::break_;
}

Flow Evaluator::exec_continue(const ast::Continue& n) {
  const int index = find_target(n.label, true);
  if (index < 0) {
    fail(n.loc,
         n.label.empty() ? "'continue' outside of a loop" : fmt::format("no loop is labelled '{}'", n.label));
    return Flow::stopped;
  }
  Target& t = targets_[size_t(index)];
  if (t.emitting) builder_->jump(t.continue_label);
  leaving_ = size_t(index);
  return Flow::continue_;
}

}  // namespace cs::csl
