// Builtins that make ids: colors, queues, microthreads, task ids; and task control.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/builtins.h"

namespace cs::csl {
namespace {

using isa::Op;

// From a known number in a range, or (not checked) from a u16 of the running program.
Value make_id(Evaluator& e, const ast::Builtin& n, TypeKind kind, int64_t low, int64_t high,
              const char* what) {
  if (e.emitting()) {
    const auto mark = e.builder().mark();
    const Value v = e.rvalue(n.args[0]);
    if (!v.ok()) return {};
    if (v.is(ValueKind::scalar) && v.type->kind == TypeKind::integer && !v.type->is_signed &&
        v.type->bits <= 16)
      return Value::scalar(e.types().get(kind), e.operand(e.keep(v), n.loc));
    if (v.is(ValueKind::scalar))
      return e.fail(n.args[0]->loc,
                    fmt::format("{} at run time must be a 'u16', this is '{}'", what, v.type->name));
    e.builder().rewind(mark);
  }
  int64_t id = 0;
  return e.eval_int(n.args[0], low, high, what, id) ? Value::integer(e.types().get(kind), id) : Value();
}

Value get_color(Evaluator& e, const ast::Builtin& n, const Type*) {
  // Ids above the routable ones exist as task ids on WSE-2.
  const int highest = std::max(e.machine().router.colors - 1, e.machine().task_ids.local_last);
  return make_id(e, n, TypeKind::color, 0, highest, "a color");
}

Value get_local_task_id(Evaluator& e, const ast::Builtin& n, const Type*) {
  const auto& ids = e.machine().task_ids;
  return make_id(e, n, TypeKind::local_task_id, ids.local_first, ids.local_last, "a local task id");
}

Value get_control_task_id(Evaluator& e, const ast::Builtin& n, const Type*) {
  const auto& ids = e.machine().task_ids;
  return make_id(e, n, TypeKind::control_task_id, ids.control_first, ids.control_last, "a control task id");
}

// From a color (WSE-2) or an input queue (WSE-3).
Value get_data_task_id(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value v = e.rvalue(n.args[0]);
  if (!v.ok()) return {};
  const bool queues = e.machine().queues.data_task_on_queue;
  const TypeKind need = queues ? TypeKind::input_queue : TypeKind::color;
  if (v.type->kind != need)
    return e.fail(n.args[0]->loc,
                  fmt::format("data tasks of {} are bound to {}, this is '{}'", e.machine().name,
                              queues ? "input queues" : "colors", v.type->name),
                  queues ? "@get_data_task_id(input_queue)" : "@get_data_task_id(color)");
  if (v.is(ValueKind::scalar))
    return Value::scalar(e.types().get(TypeKind::data_task_id), v.location.operand());
  return Value::integer(e.types().get(TypeKind::data_task_id), v.i);
}

Value get_input_queue(Evaluator& e, const ast::Builtin& n, const Type*) {
  return make_id(e, n, TypeKind::input_queue, 0, int64_t(e.machine().queues.input_words.size()) - 1,
                 "an input queue");
}

Value get_output_queue(Evaluator& e, const ast::Builtin& n, const Type*) {
  return make_id(e, n, TypeKind::output_queue, 0, int64_t(e.machine().queues.output_words.size()) - 1,
                 "an output queue");
}

Value get_ut_id(Evaluator& e, const ast::Builtin& n, const Type*) {
  Value v = make_id(e, n, TypeKind::ut_id, 0, e.machine().core.microthreads - 1, "a microthread id");
  if (v.is(ValueKind::integer)) e.unit().used_microthreads.insert(int(v.i));
  return v;
}

Value get_int(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value v = e.rvalue(n.args[0]);
  if (!v.ok()) return {};
  if (v.type->is_int()) return v;
  const Type* u16 = e.types().integer(16, false);
  if (v.is(ValueKind::dsr)) return Value::integer(u16, v.as<DsrValue>().index);
  if (!v.type->is_id() && v.type->kind != TypeKind::enumeration)
    return e.fail(n.args[0]->loc, fmt::format("@get_int takes an id or an enum, this is '{}'", v.type->name));
  if (v.type->kind == TypeKind::enumeration) u16 = v.type->element;
  return v.is(ValueKind::integer) ? Value::integer(u16, v.i) : Value::scalar(u16, e.operand(v, n.loc));
}

int bound_id(Evaluator& e, const FunctionRef& ref) {
  for (const MirTask& t : e.unit().tile.tasks)
    for (const FunctionInstance& f : e.unit().functions)
      if (f.index == t.function && f.ref.decl == ref.decl && f.ref.module == ref.module) return t.id;
  return -1;
}

// ---- activate, block, unblock

void add_once(std::vector<uint8_t>& list, int id) {
  if (std::find(list.begin(), list.end(), id) == list.end()) list.push_back(uint8_t(id));
}

// The id of the argument: a comptime number, or a register in `reg`.
bool task_argument(Evaluator& e, const ast::Builtin& n, int& id, isa::Operand& reg, bool& thread) {
  const Value v = e.rvalue(n.args[0]);
  if (!v.ok()) return false;
  thread = v.type->kind == TypeKind::ut_id;
  if (v.is(ValueKind::scalar) && v.type->is_id()) {
    reg = v.location.operand();
    return true;
  }
  id = task_id_of(e, v, n.args[0]->loc);
  reg = FunctionBuilder::imm(id);
  return id >= 0;
}

Value activate(Evaluator& e, const ast::Builtin& n, const Type*) {
  int id = -1;
  isa::Operand reg;
  bool thread = false;
  if (!task_argument(e, n, id, reg, thread)) return {};
  if (thread) return e.fail(n.loc, "a microthread cannot be activated", "activate a local task");
  if (e.emitting())
    e.builder().emit(Op::actvt, {reg});
  else {
    add_once(e.unit().tile.activated, id);
    e.unit().activations.emplace_back(uint8_t(id), n.loc);
  }
  return e.void_value();
}

// At comptime the last of several calls decides; data ids without a task start blocked unless unblocked here.
Value block_or_unblock(Evaluator& e, const ast::Builtin& n, bool blocks) {
  int id = -1;
  isa::Operand reg;
  bool thread = false;
  if (!task_argument(e, n, id, reg, thread)) return {};
  if (e.emitting()) {
    e.builder().emit(blocks ? Op::blk : Op::ublk, {FunctionBuilder::imm(thread), reg});
    return e.void_value();
  }
  MirTile& tile = e.unit().tile;
  std::vector<uint8_t>& blocked = thread ? tile.blocked_threads : tile.blocked;
  if (blocks) {
    add_once(blocked, id);
    if (!thread) std::erase(tile.unblocked, uint8_t(id));
  } else {
    std::erase(blocked, uint8_t(id));
    if (!thread) add_once(tile.unblocked, id);
  }
  return e.void_value();
}
Value block(Evaluator& e, const ast::Builtin& n, const Type*) { return block_or_unblock(e, n, true); }
Value unblock(Evaluator& e, const ast::Builtin& n, const Type*) { return block_or_unblock(e, n, false); }

constexpr BuiltinRow kRows[] = {
    {"get_color", 1, 1, Allowed::anywhere, get_color},
    {"get_local_task_id", 1, 1, Allowed::anywhere, get_local_task_id},
    {"get_control_task_id", 1, 1, Allowed::anywhere, get_control_task_id},
    {"get_data_task_id", 1, 1, Allowed::anywhere, get_data_task_id},
    {"get_input_queue", 1, 1, Allowed::anywhere, get_input_queue},
    {"get_output_queue", 1, 1, Allowed::anywhere, get_output_queue},
    {"get_ut_id", 1, 1, Allowed::anywhere, get_ut_id},
    {"get_int", 1, 1, Allowed::anywhere, get_int},
    {"activate", 1, 1, Allowed::either, activate},
    {"block", 1, 1, Allowed::either, block},
    {"unblock", 1, 1, Allowed::either, unblock},
};

}  // namespace

int task_id_of(Evaluator& e, const Value& v, SourceLoc where) {
  if (v.is(ValueKind::function)) {
    const FunctionRef& ref = v.as<FunctionRef>();
    const int id = bound_id(e, ref);
    if (id < 0)
      e.fail(where, fmt::format("'{}' is not bound to a task id", ref.decl->name),
             ref.decl->is_task ? "bind it: @bind_local_task(task, id)" : "it is a function, not a task");
    return id;
  }
  const bool fits =
      v.is(ValueKind::integer) && (v.type->is_task_id() || v.type->kind == TypeKind::color ||
                                   v.type->kind == TypeKind::input_queue || v.type->kind == TypeKind::ut_id);
  if (fits) return int(v.i);
  e.fail(where, fmt::format("a task id is needed here, this is '{}'", v.type ? v.type->name : "?"),
         "@get_local_task_id(n), or a bound task");
  return -1;
}

std::span<const BuiltinRow> id_builtins() { return kRows; }

}  // namespace cs::csl
