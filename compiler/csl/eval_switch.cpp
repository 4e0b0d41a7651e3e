// Switches: on values known at comptime one prong is evaluated, on others every prong is emitted behind its
// comparisons.
#include <fmt/format.h>

#include "compiler/csl/eval.h"

namespace cs::csl {

using isa::Operand;

bool Evaluator::prong_item(const ast::Prong::Item& i, const Type* t, Value& first, Value& last) {
  first = eval_comptime(i.first, t, "a case");
  last = i.last ? eval_comptime(i.last, t, "a case") : first;
  return first.ok() && last.ok();
}

Value Evaluator::run_prong(const ast::Prong& p, const Type* want, Flow& flow) {
  const size_t locals = locals_.size();
  Value v = void_value();
  if (const auto* e = ast::try_as<ast::ExprStmt>(p.body))
    v = rvalue(e->expr, want);
  else
    flow = exec(p.body);
  locals_.resize(locals);
  return v;
}

Value Evaluator::eval_switch(const ast::Expr* subject, const std::vector<const ast::Prong*>& prongs,
                             const Type* want, SourceLoc where, bool is_statement, Flow& flow) {
  const Value v = keep(rvalue(subject));
  if (!v.ok()) return {};
  const bool ordinal = v.type->is_int() || v.type->is_id() || v.type->kind == TypeKind::enumeration ||
                       v.type->kind == TypeKind::boolean || v.type->kind == TypeKind::type ||
                       v.is(ValueKind::text);
  if (!ordinal) return fail(where, fmt::format("'switch' does not take a '{}'", v.type->name));
  if (v.is(ValueKind::scalar) || (v.type->is_int64() && v.is(ValueKind::aggregate))) {
    Value result = void_value();
    return runtime_switch(v, prongs, is_statement ? types_.get(TypeKind::void_) : want, where, result, flow)
               ? result
               : Value();
  }
  const ast::Prong* other = nullptr;
  for (const ast::Prong* p : prongs) {
    if (p->items.empty()) other = p;
    for (const ast::Prong::Item& i : p->items) {
      Value first, last;
      const bool numbers = v.is(ValueKind::integer);
      if (!prong_item(i, numbers ? v.type : nullptr, first, last)) return {};
      const bool hit = numbers ? v.i >= first.i && v.i <= last.i : equal(v, first);
      if (hit) return run_prong(*p, want, flow);
    }
  }
  if (other) return run_prong(*other, want, flow);
  return is_statement && v.type->kind == TypeKind::enumeration
             ? void_value()
             : fail(where, fmt::format("no case for {}", print(v)), "add 'else => …'");
}

bool Evaluator::covers(const Type* t, const std::vector<std::pair<__int128, __int128>>& cases) const {
  __int128 values = 0;
  for (const auto& [low, high] : cases) values += high - low + 1;  // they do not overlap
  if (t->kind == TypeKind::enumeration) return values >= __int128(t->fields.size());
  const int bits = t->kind == TypeKind::boolean ? 1 : t->kind == TypeKind::integer ? t->bits : 64;
  return bits < 100 && values >= __int128(1) << bits;
}

// Compares one case after the other; what is not compared goes to `else`, or cannot be.
bool Evaluator::runtime_switch(const Value& v, const std::vector<const ast::Prong*>& prongs, const Type* want,
                               SourceLoc where, Value& result, Flow& flow) {
  FunctionBuilder& b = *builder_;
  const bool statement = want && want->kind == TypeKind::void_;
  const int end = b.new_label();
  const ast::Prong* other = nullptr;
  bool has = false, good = true, falls = false;
  std::vector<std::pair<__int128, __int128>> cases;
  const auto finish = [&](const ast::Prong& p) {
    Flow f = Flow::next;
    const Value r = run_prong(p, statement ? nullptr : has ? result.type : want, f);
    if (!statement && f == Flow::next && r.ok() && !r.is(ValueKind::void_))
      good &= merge_result(result, has, r, want, p.loc).ok();
    if (f == Flow::next) {
      falls = true;
      b.jump(end);
    }
  };
  ++frame_->depth;
  for (const ast::Prong* p : prongs) {
    if (p->items.empty()) {
      other = p;
      continue;
    }
    const int body = b.new_label(), next = b.new_label();
    for (size_t k = 0; k < p->items.size(); ++k) {
      Value first, last;
      if (!prong_item(p->items[k], v.type, first, last)) return false;
      for (const auto& [low, high] : cases)
        if (first.i <= high && last.i >= low) {
          fail(p->items[k].first->loc, fmt::format("the case {} is there already", print(first)));
          return false;
        }
      cases.emplace_back(first.i, last.i);
      const bool final_item = k + 1 == p->items.size();
      bool inverted = false;
      if (p->items[k].last) {
        const int skip = final_item ? next : b.new_label();
        b.jump_if(compare(ast::BinaryOp::lt, v, first, v.type, inverted, where), true, skip);
        const Operand in = compare(ast::BinaryOp::le, v, last, v.type, inverted, where);
        b.jump_if(in, !final_item, final_item ? next : body);
        if (!final_item) b.place(skip);
      } else {
        const Operand same = compare(ast::BinaryOp::eq, v, first, v.type, inverted, where);
        b.jump_if(same, !final_item, final_item ? next : body);
      }
    }
    b.place(body);
    finish(*p);
    b.place(next);
  }
  if (other)
    finish(*other);
  else if (!covers(v.type, cases))
    fail(where, fmt::format("not every value of '{}' has a case", v.type->name), "add 'else => …'");
  else
    b.emit(isa::Op::trap, {FunctionBuilder::imm(0)});  // no value leads here
  b.place(end);
  --frame_->depth;
  flow = falls ? Flow::next : Flow::stopped;
  return good;
}

}  // namespace cs::csl
