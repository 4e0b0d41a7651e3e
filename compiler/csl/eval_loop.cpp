// Loops and switches. Loops of emitted code test at the bottom, with one test in front when it is not known
// that the body runs; loops that are evaluated (comptime, inline) repeat the body.
#include <fmt/format.h>

#include "compiler/csl/eval.h"

namespace cs::csl {

using isa::Op;
using isa::Operand;

// A label of an enclosing loop or block cannot be given again.
void Evaluator::check_label(std::string_view label, SourceLoc where) {
  if (!label.empty() && find_target(label, false) >= 0)
    fail(where, fmt::format("label '{}' is that of an enclosing loop or block", label), "choose another one");
}

size_t Evaluator::push_loop(std::string_view label, bool emit) {
  Target t{.label = label, .is_loop = true, .emitting = emit, .depth = frame_->depth};
  if (emit) {
    t.break_label = builder_->new_label();
    t.continue_label = builder_->new_label();
  }
  targets_.push_back(t);
  return targets_.size() - 1;
}

// What a repeated body's flow means for the loop: whether to leave it, and the flow of the whole loop then.
Flow Evaluator::leave_loop(Flow flow, size_t target, bool& leave) {
  const Target& t = targets_[target];
  leave = false;
  if (session_.stopped) {
    leave = true;
    return Flow::stopped;
  }
  if (flow == Flow::next) return flow;
  if (t.emitting) {  // jumps were emitted; go on if one of them leads to the next iteration
    if (builder_->label_used(t.continue_label)) return Flow::next;
    leave = true;
    return flow;
  }
  if (flow == Flow::continue_ && leaving_ == target) return Flow::next;
  leave = true;
  return flow == Flow::break_ && leaving_ == target ? Flow::next : flow;
}

Flow Evaluator::exec_while(const ast::While& n) {
  check_label(n.label, n.loc);
  if (emitting() && !n.is_inline) return exec_runtime_while(n);
  return exec_comptime_while(n);
}

Flow Evaluator::exec_comptime_while(const ast::While& n) {
  const bool emit = emitting();
  const int64_t limit = emit ? session_.options.max_inlined_iterations : INT64_MAX;
  const size_t target = push_loop(n.label, emit), locals = locals_.size();
  Flow flow = Flow::next;
  for (int64_t k = 0;; ++k) {
    const Value c = coerce(rvalue(n.condition), types_.get(TypeKind::boolean), n.condition->loc, "condition");
    if (!c.ok()) break;
    if (!c.is(ValueKind::integer)) {
      fail(n.condition->loc, "the condition of an inline loop must be known at comptime");
      break;
    }
    if (!c.truth()) break;
    if (k >= limit) {
      fail(n.loc, fmt::format("inline loop has more than {} iterations", limit),
           "raise --max-inlined-iterations, or drop 'inline'");
      break;
    }
    if (emit) targets_[target].continue_label = builder_->new_label();
    bool leave = false;
    flow = leave_loop(exec(n.body), target, leave);
    locals_.resize(locals);
    if (emit) builder_->place(targets_[target].continue_label);
    if (leave) break;
    if (n.step) exec(n.step);
  }
  if (emit) {
    builder_->place(targets_[target].break_label);
    if (builder_->label_used(targets_[target].break_label)) flow = Flow::next;
  }
  targets_.resize(target);
  return flow;
}

Flow Evaluator::exec_runtime_while(const ast::While& n) {
  FunctionBuilder& b = *builder_;
  const size_t target = push_loop(n.label, true), locals = locals_.size();
  const int exit_label = targets_[target].break_label, next = targets_[target].continue_label,
            top = b.new_label();
  const size_t errors = diag().errors();
  const Truth first = branch(n.condition, false, exit_label);
  Flow flow = Flow::next;
  if (first == Truth::no) {
    b.place(exit_label);
    b.place(next);
    targets_.resize(target);
    return Flow::next;
  }
  ++frame_->depth;
  b.place(top);
  exec(n.body);
  locals_.resize(locals);
  b.place(next);
  if (n.step) exec(n.step);
  if (first == Truth::yes) {
    b.jump(top);
    flow = b.label_used(exit_label) ? Flow::next : Flow::stopped;
  } else if (diag().errors() == errors) {
    branch(n.condition, true, top);
  }
  --frame_->depth;
  b.place(exit_label);
  targets_.resize(target);
  return flow;
}

// Declares the loop variables: `position` counts elements from 0, or is the value itself for ranges.
void Evaluator::declare_for(const ast::For& n, const Value& range, const Value& position,
                            const Value& index) {
  if (range.is(ValueKind::range)) {
    declare(n.value, position, true);
  } else {
    Value array = range;
    if (n.value_is_pointer && !array.is(ValueKind::place))
      array = fail(n.loc, "the elements of this value have no address");
    Value v = array.ok() ? element(array, {position}, n.loc) : Value();
    if (n.value_is_pointer)
      v = address_of(v, n.loc);
    else
      v = keep(load(v, n.loc));
    declare(n.value, v, true);
  }
  if (!n.index.empty()) declare(n.index, index, true);
}

Flow Evaluator::exec_for(const ast::For& n) {
  check_label(n.label, n.loc);
  Value range = eval(n.range);
  if (!range.ok()) return Flow::next;
  if (range.type->kind == TypeKind::pointer && range.type->element->kind == TypeKind::array)
    range = dereference(load(range, n.loc), n.loc);
  if (!range.ok()) return Flow::next;
  const bool tuple = range.is(ValueKind::aggregate) && range.type->kind == TypeKind::comptime_struct &&
                     !range.aggregate().names;
  if (!range.is(ValueKind::range) && range.type->kind != TypeKind::array && !tuple) {
    fail(n.range->loc, fmt::format("'for' walks a range or an array, this is '{}'", range.type->name));
    return Flow::next;
  }
  if (range.type->kind == TypeKind::array && range.type->dims.size() != 1) {
    fail(n.range->loc, fmt::format("'for' walks arrays of one dimension, this is '{}'", range.type->name));
    return Flow::next;
  }
  const bool known = !range.is(ValueKind::range) || is_comptime(range);
  uint64_t count = 0;
  if (known && range.is(ValueKind::range)) {
    const auto& r = range.as<RangeValue>();
    const __int128 span = r.step.i > 0 ? r.stop.i - r.start.i : r.start.i - r.stop.i;
    const __int128 step = r.step.i > 0 ? r.step.i : -r.step.i;
    count = span <= 0 ? 0 : uint64_t((span + step - 1) / step);
  } else if (known) {
    count = range.type->kind == TypeKind::array ? range.type->elements() : item_count(range);
  }
  if (!emitting() && range.is(ValueKind::place)) {
    fail(n.range->loc, "this array is not known at comptime");
    return Flow::next;
  }
  if (emitting() && n.is_inline && known && int64_t(count) > session_.options.max_inlined_iterations) {
    fail(n.loc,
         fmt::format("inline loop has {} iterations, limit {}", count,
                     session_.options.max_inlined_iterations),
         "raise --max-inlined-iterations, or drop 'inline'");
    return Flow::next;
  }
  if (emitting() && n.is_inline && !known) {
    fail(n.range->loc, "the range of an inline loop must be known at comptime");
    return Flow::next;
  }
  if (!emitting() || n.is_inline || (known && count <= 1) || tuple) return exec_unrolled_for(n, range, count);
  return exec_runtime_for(n, range);
}

Flow Evaluator::exec_unrolled_for(const ast::For& n, const Value& range, uint64_t count) {
  const bool emit = emitting();
  const size_t target = push_loop(n.label, emit), locals = locals_.size();
  const Type* u16 = types_.integer(16, false);
  const size_t errors = diag().errors();
  Flow flow = Flow::next;
  for (uint64_t k = 0; k < count; ++k) {
    if (!step(n.loc)) {
      flow = Flow::stopped;
      break;
    }
    Value position = Value::integer(u16, __int128(k));
    if (range.is(ValueKind::range)) {
      const auto& r = range.as<RangeValue>();
      position = Value::integer(r.element, r.start.i + r.step.i * __int128(k));
    }
    declare_for(n, range, position, Value::integer(u16, __int128(k)));
    if (emit) targets_[target].continue_label = builder_->new_label();
    bool leave = false;
    flow = leave_loop(exec(n.body), target, leave);
    if (emit) builder_->place(targets_[target].continue_label);
    locals_.resize(locals);
    if (leave) break;
    if (k == 0 && layout_ && !emit && range.is(ValueKind::range) && diag().errors() == errors)
      k += repeat_color_config(n, range.as<RangeValue>(), count);
  }
  if (emit) {
    builder_->place(targets_[target].break_label);
    if (builder_->label_used(targets_[target].break_label)) flow = Flow::next;
  }
  targets_.resize(target);
  return flow;
}

Flow Evaluator::exec_runtime_for(const ast::For& n, const Value& range) {
  FunctionBuilder& b = *builder_;
  const Type* u16 = types_.integer(16, false);
  const bool is_range = range.is(ValueKind::range);
  Value start = Value::integer(u16, 0),
        stop = Value::integer(u16, is_range ? 0 : __int128(range.type->elements()));
  Value step_value = Value::integer(u16, 1);
  if (is_range) {
    const auto& r = range.as<RangeValue>();
    start = r.start;
    stop = keep(r.stop);
    step_value = r.step;
  }
  const Type* t = is_range ? range.as<RangeValue>().element : u16;
  const bool down = step_value.is(ValueKind::integer) && step_value.i < 0;
  Operand counter;
  Value place, position;
  if (t->is_int64()) {
    place = Value::place(t, b.slot("counter", t->bytes, t->align), false);
    store(place, load(start, n.loc), n.loc);
    position = Value::place(t, place.location, true);
  } else {
    counter = b.temp(t);
    b.move(counter, operand(start, n.loc));
    position = Value::scalar(t, counter);
  }
  const size_t target = push_loop(n.label, true), locals = locals_.size();
  const int exit_label = targets_[target].break_label, next = targets_[target].continue_label,
            top = b.new_label();
  const bool surely = start.is(ValueKind::integer) && stop.is(ValueKind::integer) &&
                      (down ? start.i > stop.i : start.i < stop.i);
  const auto more = [&](bool sense, int label) {
    bool inverted = false;
    const Operand r =
        compare(down ? ast::BinaryOp::gt : ast::BinaryOp::lt, position, stop, t, inverted, n.loc);
    b.jump_if(r, sense, label);
  };
  if (!surely) more(false, exit_label);
  Value index = position;
  const bool counts_up =
      start.is(ValueKind::integer) && start.i == 0 && step_value.is(ValueKind::integer) && step_value.i == 1;
  if (!n.index.empty() && !(counts_up && t == u16)) {
    index = Value::scalar(u16, b.reg());
    b.move(index.location.operand(), FunctionBuilder::imm(0));
  }
  ++frame_->depth;
  b.place(top);
  declare_for(n, range, position, index);
  exec(n.body);
  locals_.resize(locals);
  --frame_->depth;
  b.place(next);
  b.loc = n.loc;
  if (index.location != position.location)
    b.emit(Op::add16, {index.location.operand(), index.location.operand(), FunctionBuilder::imm(1)});
  if (t->is_int64())
    step_int64(place, step_value, n.loc);
  else
    b.emit(t->is_pair() ? Op::add32 : Op::add16, {counter, counter, operand(step_value, n.loc)});
  more(true, top);
  b.place(exit_label);
  targets_.resize(target);
  return Flow::next;
}

}  // namespace cs::csl
