// Builtins about what a PE shows to the host (symbols, tensors) and where it lies (the rectangle).
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/builtins.h"
#include "compiler/csl/placement.h"

namespace cs::csl {
namespace {

using isa::Op;

Value get_rectangle(Evaluator& e, const ast::Builtin& n, const Type*) {
  const LayoutState& s = *e.layout();
  if (!s.has_rectangle) return e.fail(n.loc, "@get_rectangle comes before @set_rectangle");
  const Type *u16 = e.types().integer(16, false), *anonymous = e.types().get(TypeKind::comptime_struct);
  const auto pair = [&](int w, int h) {
    Aggregate a;
    a.items = {Value::integer(u16, w), Value::integer(u16, h)};
    a.names = std::make_shared<Names>(Names{"width", "height"});
    return a;
  };
  const Placement p = placement_of(e.session().options, e.machine(), s.width, s.height, s.memcpy);
  Aggregate a = pair(s.width, s.height);
  a.items.push_back(Value::with(anonymous, ValueKind::aggregate, pair(p.fabric_width, p.fabric_height)));
  a.items.push_back(Value::with(anonymous, ValueKind::aggregate, pair(p.x, p.y)));
  a.names = std::make_shared<Names>(Names{"width", "height", "fabric", "offsets"});
  return Value::with(anonymous, ValueKind::aggregate, std::move(a));
}

// The host's number of an exported name, -1: the layout does not export it.
int number_of(Evaluator& e, const std::string& name) {
  const auto& exports = e.layout()->exports;
  const auto it =
      std::find_if(exports.begin(), exports.end(), [&](const ExportedName& x) { return x.name == name; });
  return it == exports.end() ? -1 : int(it - exports.begin());
}

Value get_symbol_id(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value v = e.eval(n.args[0]);
  if (!v.ok()) return {};
  const auto same = [&](const SymbolOfHost& s) {
    if (!v.is(ValueKind::function) || !s.value.is(ValueKind::function)) return equal(s.value, v);
    const auto &a = v.as<FunctionRef>(), &b = s.value.as<FunctionRef>();
    return a.decl == b.decl && a.module == b.module;
  };
  for (const SymbolOfHost& s : e.unit().host_symbols)
    if (const int id = number_of(e, s.name);
        id >= 0 && (v.is(ValueKind::text) ? s.name == v.text() : same(s)))
      return Value::integer(e.types().integer(16, false), id);
  return e.fail(n.args[0]->loc, "this is no symbol that the layout exports by a name",
                "@export_symbol(symbol) in a comptime block, @export_name(\"symbol\", type) in the layout");
}

// Emits: the value of the symbol with this number among those that `fits` chooses; a trap if there is none.
template <typename Fits>
Value choose(Evaluator& e, const ast::Expr* number, const Type* result_type, SourceLoc where, Fits fits) {
  const Value id = e.eval_as(number, e.types().integer(16, false), "the number of the symbol");
  if (!id.ok()) return {};
  FunctionBuilder& b = e.builder();
  const isa::Operand wanted = e.operand(e.keep(id), where), result = b.temp(result_type);
  const int end = b.new_label();
  b.move(result, FunctionBuilder::imm(0));
  ++e.frame().depth;
  for (const SymbolOfHost& s : e.unit().host_symbols) {
    const int number_here = number_of(e, s.name);
    if (number_here < 0 || !fits(s)) continue;
    const int next = b.new_label();
    b.jump_if(b.emit_reg(Op::eq16, {wanted, FunctionBuilder::imm(number_here)}), false, next);
    b.move(result, e.operand(e.load(s.value, where), where));
    b.jump(end);
    b.place(next);
  }
  b.emit(Op::trap, {FunctionBuilder::imm(0)});
  --e.frame().depth;
  b.place(end);
  return Value::scalar(result_type, result);
}

bool is_tensor(const SymbolOfHost& s) { return s.value.type->kind == TypeKind::pointer; }

Value get_symbol_value(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = e.eval_type(n.args[0]);
  if (!t) return {};
  const auto fits = [&](const SymbolOfHost& s) {
    return s.value.type == t && !s.value.is(ValueKind::function);
  };
  const auto& symbols = e.unit().host_symbols;
  if (!t->is_scalar() || std::none_of(symbols.begin(), symbols.end(), fits))
    return e.fail(n.args[0]->loc, fmt::format("no symbol of type '{}' is exported", t->name),
                  "@export_symbol a variable of that type");
  return choose(e, n.args[1], t, n.loc, fits);
}

Value get_tensor_ptr(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = e.types().pointer(e.types().integer(16, false), false, true);
  return choose(e, n.args[0], t, n.loc, is_tensor);
}

Value has_exported_tensors(Evaluator& e, const ast::Builtin&, const Type*) {
  const auto& symbols = e.unit().host_symbols;
  return bool_value(e.types(), std::any_of(symbols.begin(), symbols.end(), is_tensor));
}

constexpr BuiltinRow kRows[] = {
    {"get_rectangle", 0, 0, Allowed::anywhere, get_rectangle},
    {"get_symbol_id", 1, 1, Allowed::either, get_symbol_id},
    {"get_symbol_value", 2, 2, Allowed::code, get_symbol_value},
    {"get_tensor_ptr", 1, 1, Allowed::code, get_tensor_ptr},
    {"has_exported_tensors", 0, 0, Allowed::code, has_exported_tensors},
    {"import_comptime_value", 2, 2, Allowed::anywhere, import_comptime_value},
};

}  // namespace

std::span<const BuiltinRow> symbol_builtins() { return kRows; }

}  // namespace cs::csl
