// Operators on run-time values: instruction choice, multiplications and divisions by powers of two,
// conditions as jumps.
#include <bit>

#include <fmt/format.h>

#include "compiler/csl/eval.h"

namespace cs::csl {

using enum ast::BinaryOp;
using ast::BinaryOp;
using isa::Op;
using isa::Operand;

namespace {

bool is_comparison(BinaryOp op) { return op >= eq && op <= ge; }

struct IntOps {
  BinaryOp op;
  Op narrow, narrow_unsigned, wide, wide_unsigned;
};
constexpr IntOps kIntOps[] = {{add, Op::add16, Op::add16, Op::add32, Op::add32},
                              {sub, Op::sub16, Op::sub16, Op::sub32, Op::sub32},
                              {mul, Op::imul16, Op::imul16, Op::imul32, Op::imul32},
                              {div, Op::div16, Op::divu16, Op::div32, Op::divu32},
                              {rem, Op::rem16, Op::remu16, Op::rem32, Op::remu32},
                              {bit_and, Op::and16, Op::and16, Op::and32, Op::and32},
                              {bit_or, Op::or16, Op::or16, Op::or32, Op::or32},
                              {bit_xor, Op::xor16, Op::xor16, Op::xor32, Op::xor32},
                              {eq, Op::eq16, Op::eq16, Op::eq32, Op::eq32},
                              {lt, Op::lt16, Op::ltu16, Op::lt32, Op::ltu32},
                              {le, Op::lte16, Op::lteu16, Op::lte32, Op::lteu32}};

const IntOps* int_ops(BinaryOp op) {
  for (const IntOps& row : kIntOps)
    if (row.op == op) return &row;
  return nullptr;
}

// f32 and f16 instruction.
std::pair<Op, Op> float_ops(BinaryOp op) {
  switch (op) {
    case add:
      return {Op::fadds, Op::faddh};
    case sub:
      return {Op::fsubs, Op::fsubh};
    case mul:
      return {Op::fmuls, Op::fmulh};
    case div:
      return {Op::fdivs, Op::fdivh};
    case eq:
      return {Op::feqs, Op::feqh};
    case lt:
      return {Op::flts, Op::flth};
    case le:
      return {Op::flteqs, Op::flteqh};
    default:
      return {Op::count, Op::count};
  }
}

const Type* number_type(const Type* t) {
  return t->kind == TypeKind::enumeration || t->kind == TypeKind::packed ? t->element : t;
}

}  // namespace

Value Evaluator::runtime_binary(BinaryOp op, const Value& a, const Value& b, const Type* t, SourceLoc where) {
  if (is_comparison(op)) {
    bool inverted = false;
    const Operand r = compare(op, a, b, t, inverted, where);
    const Type* boolean = types_.get(TypeKind::boolean);
    return Value::scalar(boolean, inverted ? builder_->emit_reg(Op::xor16, {r, FunctionBuilder::imm(1)}) : r);
  }
  if (t->is_int64()) return runtime_int64(op, a, b, t, where);
  return t->is_float() ? runtime_float(op, a, b, t, where) : runtime_int(op, a, b, t, where);
}

Value Evaluator::runtime_float(BinaryOp op, const Value& a, const Value& b, const Type* t, SourceLoc where) {
  const auto [wide, narrow] = float_ops(op);
  if (wide == Op::count)
    return fail(where, fmt::format("operator '{}' does not fit '{}'", ast::spelling(op), t->name));
  const Operand x = operand(a, where), y = operand(b, where);
  return Value::scalar(t,
                       t->is_pair() ? builder_->emit_pair(wide, {x, y}) : builder_->emit_reg(narrow, {x, y}));
}

// Multiplication, division and remainder by 2^k without the multiplier or the divider.
Value Evaluator::by_power_of_two(BinaryOp op, const Value& a, __int128 n, const Type* t, bool& done) {
  done = n > 0 && n < (__int128(1) << 31) && std::has_single_bit(uint64_t(n)) &&
         (op == mul || op == div || op == rem);
  if (!done) return {};
  const int k = std::countr_zero(uint64_t(n));
  FunctionBuilder& b = *builder_;
  const bool wide = t->is_pair();
  const Operand x = a.location.operand();
  const auto emit = [&](Op narrow, Op pair, const Operand& l, int r) {
    const Operand c = FunctionBuilder::imm(r);
    return wide ? b.emit_pair(pair, {l, c}) : b.emit_reg(narrow, {l, c});
  };
  if (op == mul) return k == 0 ? a : normalise(t, emit(Op::sll16, Op::sll32, x, k));
  if (!t->is_signed) {
    if (op == div) return k == 0 ? a : Value::scalar(t, emit(Op::slr16, Op::slr32, x, k));
    return Value::scalar(t, emit(Op::and16, Op::and32, x, int32_t(n - 1)));
  }
  if (k == 0) return op == div ? a : Value::integer(t, 0);
  // Toward zero: negative numbers get 2^k - 1 added first.
  const int bits = wide ? 32 : 16;
  const Operand sign = emit(Op::sar16, Op::sar32, x, bits - 1);
  const Operand bias = emit(Op::slr16, Op::slr32, sign, bits - k);
  const Operand sum = wide ? b.emit_pair(Op::add32, {x, bias}) : b.emit_reg(Op::add16, {x, bias});
  if (op == div) return Value::scalar(t, emit(Op::sar16, Op::sar32, sum, k));
  const Operand high = emit(Op::and16, Op::and32, sum, int32_t(-n));
  return Value::scalar(t, wide ? b.emit_pair(Op::sub32, {x, high}) : b.emit_reg(Op::sub16, {x, high}));
}

Value Evaluator::runtime_int(BinaryOp op, const Value& a, const Value& b, const Type* t, SourceLoc where) {
  const IntOps* row = int_ops(op);
  if (!row) return fail(where, fmt::format("operator '{}' does not fit '{}'", ast::spelling(op), t->name));
  const bool known = b.is(ValueKind::integer);
  if (known && b.i == 0 && (op == div || op == rem)) return fail(where, "division by zero");
  if (known && b.i == 0 && (op == add || op == sub || op == bit_or || op == bit_xor)) return a;
  if (a.is(ValueKind::integer) && a.i == 0 && op == add) return b;
  bool done = false;
  Value r;
  if (known) r = by_power_of_two(op, a, b.i, t, done);
  if (!done && op == mul && a.is(ValueKind::integer)) r = by_power_of_two(op, b, a.i, t, done);
  if (done) return r;
  const Operand x = operand(a, where), y = operand(b, where);
  const bool is_signed = number_type(t)->is_signed;
  const Op code = t->is_pair() ? (is_signed ? row->wide : row->wide_unsigned)
                               : (is_signed ? row->narrow : row->narrow_unsigned);
  return normalise(t, t->is_pair() ? builder_->emit_pair(code, {x, y}) : builder_->emit_reg(code, {x, y}));
}

// A register that is nonzero when the comparison holds (does not hold: inverted).
Operand Evaluator::compare(BinaryOp op, const Value& a, const Value& b, const Type* t, bool& inverted,
                           SourceLoc where) {
  inverted = op == ne;
  if (op == ne) op = eq;
  const bool turned = op == gt || op == ge;
  if (turned) op = op == gt ? lt : le;
  if (t->is_int64()) return compare_int64(op, turned ? b : a, turned ? a : b, t->is_signed, where);
  Operand x = operand(a, where), y = operand(b, where);
  if (turned) std::swap(x, y);
  Op code;
  if (t->is_float()) {
    code = t->is_pair() ? float_ops(op).first : float_ops(op).second;
  } else {
    const IntOps* row = int_ops(op);
    const bool is_signed = number_type(t)->is_signed;
    code = t->is_pair() ? (is_signed ? row->wide : row->wide_unsigned)
                        : (is_signed ? row->narrow : row->narrow_unsigned);
  }
  return builder_->emit_reg(code, {x, y});
}

Truth Evaluator::branch_compare(const ast::Binary& n, bool sense, int label) {
  const auto truth = [](const Value& v) { return v.truth() ? Truth::yes : Truth::no; };
  Value a = rvalue(n.left);
  if (!a.ok()) {
    eval(n.right);
    return Truth::no;
  }
  const bool enums = a.type->kind == TypeKind::enumeration || a.type->is_id();
  Value b = rvalue(n.right, enums ? a.type : nullptr);
  if (!b.ok()) return Truth::no;
  const Type* t = peer(a, b);
  const bool registers = a.is(ValueKind::scalar) || b.is(ValueKind::scalar);
  const bool plain = t && (t->is_number() || t->is_id() || t->kind == TypeKind::enumeration ||
                           t->kind == TypeKind::boolean || t->kind == TypeKind::pointer);
  if (!registers || !plain ||
      (!t->is_number() && n.op != eq && n.op != ne && !t->is_id() && t->kind != TypeKind::enumeration)) {
    const Value v = binary(n.op, a, b, n.loc);
    if (!v.ok()) return Truth::no;
    if (v.is(ValueKind::integer)) return truth(v);
    builder_->jump_if(operand(v, n.loc), sense, label);
    return Truth::runtime;
  }
  a = coerce(a, t, n.loc, "left operand");
  b = coerce(b, t, n.loc, "right operand");
  if (!a.ok() || !b.ok()) return Truth::no;
  builder_->loc = n.loc;
  const bool narrow = !t->is_pair() && !t->is_float();
  if (narrow && (n.op == eq || n.op == ne) && (b.is(ValueKind::integer) && b.i == 0)) {
    builder_->jump_if(operand(a, n.loc), (n.op == ne) == sense, label);
    return Truth::runtime;
  }
  bool inverted = false;
  const Operand r = compare(n.op, a, b, t, inverted, n.loc);
  builder_->jump_if(r, sense != inverted, label);
  return Truth::runtime;
}

// Jumps to the label if the condition is `sense`, else goes on. Known conditions emit no jump: the caller
// decides.
Truth Evaluator::branch(const ast::Expr* e, bool sense, int label) {
  if (!step(e->loc)) return Truth::no;
  if (const auto* n = ast::try_as<ast::Unary>(e); n && n->op == ast::UnaryOp::logical_not) {
    const Truth t = branch(n->operand, !sense, label);
    return t == Truth::runtime ? t : t == Truth::yes ? Truth::no : Truth::yes;
  }
  const auto* n = ast::try_as<ast::Binary>(e);
  if (n && (n->op == logical_and || n->op == logical_or)) {
    // `stop` is the value of the left side that decides alone.
    const bool stop = n->op == logical_or;
    const Truth decided = stop ? Truth::yes : Truth::no;
    const int skip = sense == stop ? label : builder_->new_label();
    const Truth left = branch(n->left, stop, skip);
    if (left == decided) return decided;
    ++frame_->depth;
    const Truth right = branch(n->right, sense, label);
    --frame_->depth;
    if (left == Truth::runtime && right != Truth::runtime) {
      if (right != decided && (right == Truth::yes) == sense) builder_->jump(label);
      if (skip != label) builder_->place(skip);
      // The left side decides: emitted above. If the right one is `decided` too, both ways lead the same way.
      return right == decided ? decided : Truth::runtime;
    }
    if (skip != label) builder_->place(skip);
    return left == Truth::runtime || right == Truth::runtime ? Truth::runtime : right;
  }
  if (n && is_comparison(n->op)) return branch_compare(*n, sense, label);
  const Value v = coerce(rvalue(e), types_.get(TypeKind::boolean), e->loc, "condition");
  if (!v.ok()) return Truth::no;
  if (v.is(ValueKind::integer)) return v.truth() ? Truth::yes : Truth::no;
  builder_->jump_if(operand(v, e->loc), sense, label);
  return Truth::runtime;
}

}  // namespace cs::csl
