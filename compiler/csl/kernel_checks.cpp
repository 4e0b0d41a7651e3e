// See kernel_checks.h.
#include "compiler/csl/kernel_checks.h"

#include <algorithm>
#include <atomic>

#include "compiler/csl/eval.h"
#include "runtime/isa/trap.h"

namespace cs::csl {

namespace {

std::atomic<bool> g_checks{false};

}  // namespace

void set_kernel_checks(bool on) { g_checks = on; }

bool kernel_checks() { return g_checks; }

void check_index(Evaluator& e, const Value& index, int64_t extent, SourceLoc where) {
  const bool at_run_time = e.emitting() && index.ok() && !index.is(ValueKind::integer);
  if (!kernel_checks() || !at_run_time || index.type->kind != TypeKind::integer) return;
  const Type* t = index.type;
  FunctionBuilder& b = e.builder();
  const int bad = b.new_label(), good = b.new_label();
  const int value_bits = std::min<int>(t->bits, 33) - (t->is_signed ? 1 : 0);
  const auto below = [&](int64_t limit) {
    return e.operand(e.binary(ast::BinaryOp::lt, index, Value::integer(t, limit), where), where);
  };
  ++e.frame().depth;
  if (t->is_signed) b.jump_if(below(0), true, bad);
  if (extent < int64_t(1) << value_bits)
    b.jump_if(below(extent), true, good);
  else
    b.jump(good);
  b.place(bad);
  b.emit(isa::Op::trap, {FunctionBuilder::imm(isa::kTrapIndex)});
  b.place(good);
  --e.frame().depth;
}

}  // namespace cs::csl
