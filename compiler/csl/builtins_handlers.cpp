// Builtins around teardown, flushed queues and configuration registers.
//
// Handlers are functions that one task calls: the task of id 29, which the hardware activates when a color goes into
// teardown and when a queue that was flushed is empty. It asks for what happened and calls the handlers concerned.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/builtins.h"

namespace cs::csl {
namespace {

using isa::Op;
using isa::Operand;

// A function without parameters and result.
bool handler_function(Evaluator& e, const ast::Expr* x, uint32_t& index) {
  const Value f = e.eval(x);
  if (!f.ok()) return false;
  if (!f.is(ValueKind::function) || f.as<FunctionRef>().decl->is_task || !f.type->params.empty()) {
    e.fail(x->loc, fmt::format("a handler is a function without parameters, this is '{}'", f.type->name),
           "fn handler() void { … }");
    return false;
  }
  index = e.function_index(f.as<FunctionRef>(), {}, x->loc);
  return true;
}

Value add_handler(Evaluator& e, const ast::Builtin& n, Unit::Handler h, const std::string& what) {
  for (const Unit::Handler& other : e.unit().handlers)
    if (other.address == h.address && other.bit == h.bit) return e.fail(n.loc, what + " has a handler already");
  if (!handler_function(e, n.args[0], h.function)) return {};
  h.loc = n.loc;
  e.unit().handlers.push_back(h);
  return e.void_value();
}

Value set_teardown_handler(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value color = e.eval_comptime(n.args[1], nullptr, "the color");
  if (!color.ok()) return {};
  if (color.type->kind != TypeKind::color || color.i >= e.machine().router.colors)
    return e.fail(n.args[1]->loc,
                  fmt::format("a color below {} is needed here, this is '{}'", e.machine().router.colors, print(color)),
                  "@get_color(n)");
  Unit::Handler h;
  h.address = uint16_t(color.i < 16 ? isa::ConfigReg::teardown_low : isa::ConfigReg::teardown_high);
  h.bit = int(color.i) % 16;
  return add_handler(e, n, h, fmt::format("color {}", print_int(color.i)));
}

// The flush register of a queue; -1 and an error if it is none.
int flush_register(Evaluator& e, const ast::Builtin& n, const ast::Expr* x) {
  const Value q = e.eval_comptime(x, nullptr, "the queue");
  if (!q.ok()) return -1;
  const bool output = q.type->kind == TypeKind::output_queue;
  if (!output && q.type->kind != TypeKind::input_queue) {
    e.fail(x->loc, fmt::format("a queue is needed here, this is '{}'", q.type->name),
           "@get_input_queue(n) or @get_output_queue(n)");
    return -1;
  }
  if (!e.wse3()) {
    e.fail(n.loc, fmt::format("@{} does not exist on {}", n.name, e.machine().name));
    return -1;
  }
  return (output ? isa::kOutputFlush : isa::kInputFlush) + int(q.i);
}

Value set_empty_queue_handler(Evaluator& e, const ast::Builtin& n, const Type*) {
  const int address = flush_register(e, n, n.args[1]);
  if (address < 0) return {};
  Unit::Handler h;
  h.address = uint16_t(address);
  return add_handler(e, n, h, "this queue");
}

Value queue_flush(Evaluator& e, const ast::Builtin& n, const Type*) {
  const int address = flush_register(e, n, n.args[0]);
  if (address < 0) return {};
  e.builder().emit(Op::stcfg16, {FunctionBuilder::imm(address), FunctionBuilder::imm(1)});
  return e.void_value();
}

// ---- configuration registers

// The address as an operand; known ones are checked.
bool config_address(Evaluator& e, const ast::Builtin& n, Operand& out) {
  const Value v = e.eval_as(n.args[0], e.types().integer(16, false), "address");
  if (!v.ok()) return false;
  if (v.is(ValueKind::integer) && !isa::is_config_address(int32_t(v.i))) {
    e.fail(n.args[0]->loc, fmt::format("there is no configuration register {}", print_int(v.i)),
           "the functions of <tile_config> know the addresses");
    return false;
  }
  out = v.is(ValueKind::integer) ? FunctionBuilder::imm(int32_t(v.i)) : e.operand(v, n.loc);
  return true;
}

Value get_config(Evaluator& e, const ast::Builtin& n, const Type*) {
  Operand address;
  if (!config_address(e, n, address)) return {};
  if (!e.emitting()) return e.fail(n.loc, "a configuration register is read at run time", "read it in a function");
  return Value::scalar(e.types().integer(16, false), e.builder().emit_reg(Op::ldcfg16, {address}));
}

Value set_config(Evaluator& e, const ast::Builtin& n, const Type*) {
  Operand address;
  const bool good = config_address(e, n, address);
  const Value v = e.eval_as(n.args[1], e.types().integer(16, false), "value");
  if (!good || !v.ok()) return {};
  if (e.emitting()) {
    e.builder().emit(Op::stcfg16, {address, e.operand(v, n.loc)});
    return e.void_value();
  }
  if (address.kind != isa::OperandKind::imm || !v.is(ValueKind::integer))
    return e.fail(n.loc, "address and value must be known at comptime here");
  if (isa::is_color_config(uint32_t(address.value)) ||
      isa::is_dsr_length(uint32_t(address.value)) ||
      (address.value >= isa::kFilter && address.value < isa::kTaskPriority))
    return e.fail(n.loc, "this register belongs to the compiler", "use @set_local_color_config or @load_to_dsr");
  auto& config = e.unit().tile.config;
  const auto same = [&](const ConfigInit& c) { return c.address == address.value; };
  std::erase_if(config, same);
  config.push_back({uint16_t(address.value), uint16_t(v.i)});
  return e.void_value();
}

Value set_active_prng(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value v = e.eval_as(n.args[0], e.types().integer(16, false), "number of a PRNG");
  if (v.ok()) e.builder().emit(Op::stcfg16, {FunctionBuilder::imm(int(isa::ConfigReg::prng)), e.operand(v, n.loc)});
  return e.void_value();
}

// The number of a color's filter at this PE: filters are numbered by color.
Value get_filter_id(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value color = e.eval_comptime(n.args[0], nullptr, "the color");
  if (!color.ok()) return {};
  int number = 0;
  for (const auto& [c, route] : e.unit().tile.routes) {
    if (route.filter.kind == FilterKind::none) continue;
    if (c == color.i) return Value::integer(e.types().integer(16, false), number);
    ++number;
  }
  return e.fail(n.loc, fmt::format("{} has no filter that this program configures", print(color)),
                "@set_local_color_config(color, .{ … .filter = … })");
}

constexpr BuiltinRow kRows[] = {
    {"set_active_prng", 1, 1, Allowed::code, set_active_prng},
    {"get_filter_id", 1, 1, Allowed::either, get_filter_id},
    {"set_teardown_handler", 2, 2, Allowed::config, set_teardown_handler},
    {"set_empty_queue_handler", 2, 2, Allowed::config, set_empty_queue_handler},
    {"queue_flush", 1, 1, Allowed::code, queue_flush},
    {"get_config", 1, 2, Allowed::either, get_config},
    {"get_config_unchecked", 1, 1, Allowed::either, get_config},
    {"set_config", 2, 3, Allowed::either, set_config},
    {"set_config_unchecked", 2, 2, Allowed::either, set_config},
};

}  // namespace

void finish_handlers(Evaluator& e) {
  Unit& u = e.unit();
  if (u.handlers.empty()) return;
  const SourceLoc loc = u.handlers[0].loc;
  for (const MirTask& t : u.tile.tasks)
    if (t.kind == TaskKind::local && t.id == isa::kTeardownTask) {
      e.fail(loc, fmt::format("task id {} calls the handlers, but '{}' is bound to it", isa::kTeardownTask,
                              u.tile.functions[t.function].name));
      return;
    }
  std::stable_sort(u.handlers.begin(), u.handlers.end(),
                   [](const Unit::Handler& a, const Unit::Handler& b) { return a.address < b.address; });
  FunctionBuilder b("handlers", loc, MirFunction::Kind::task);
  int address = -1;
  Operand word;
  for (const Unit::Handler& h : u.handlers) {
    if (h.address != address)  // one read per register: reading may clear it
      word = b.emit_reg(Op::ldcfg16, {FunctionBuilder::imm(address = h.address)});
    const int next = b.new_label();
    b.jump_if(b.emit_reg(Op::and16, {word, FunctionBuilder::imm(1 << h.bit)}), false, next);
    b.call(h.function, {}, {}, {});
    b.place(next);
  }
  b.ret();
  u.tile.tasks.push_back({.kind = TaskKind::local,
                          .id = isa::kTeardownTask,
                          .function = uint32_t(u.tile.functions.size())});
  u.tile.functions.push_back(b.finish());
}

std::span<const BuiltinRow> handler_builtins() { return kRows; }

}  // namespace cs::csl
