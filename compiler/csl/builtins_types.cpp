// Builtins about types, reflection, strings, modules, and comptime itself.
#include <algorithm>

#include <fmt/format.h>
#include <iostream>

#include "compiler/csl/builtins.h"

namespace cs::csl {
namespace {

Value as_type(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = e.eval_type(n.args[0]);
  return t ? e.convert(e.eval(n.args[1], t), t, n.loc) : Value();
}

// The type of an expression, without its effects.
const Type* type_of_expr(Evaluator& e, const ast::Expr* x) {
  if (!e.emitting()) {
    // In a type, @type_of(parameter) asks for no value: the parameter may be a run-time one.
    if (const auto* id = ast::try_as<ast::Identifier>(x))
      if (Local* local = e.find_local(id->name)) return local->cell().ok() ? local->cell().type : nullptr;
    const Value v = e.eval(x);
    return v.ok() ? v.type : nullptr;
  }
  const auto mark = e.builder().mark();
  const Value v = e.eval(x);
  e.builder().rewind(mark);
  return v.ok() ? v.type : nullptr;
}

Value type_of(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = type_of_expr(e, n.args[0]);
  return t ? type_value(e.types(), t) : Value();
}

Value is_same_type(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type *a = e.eval_type(n.args[0]), *b = e.eval_type(n.args[1]);
  return a && b ? bool_value(e.types(), a == b) : Value();
}

Value is_comptime_value(Evaluator& e, const ast::Builtin& n, const Type*) {
  if (n.args.empty()) return bool_value(e.types(), !e.emitting());  // is this code evaluated or emitted
  if (!e.emitting()) return bool_value(e.types(), is_comptime(e.eval(n.args[0])));
  const auto mark = e.builder().mark();
  const Value v = e.eval(n.args[0]);
  e.builder().rewind(mark);
  return v.ok() ? bool_value(e.types(), is_comptime(v)) : Value();
}

Value is_arch(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value v = e.eval_comptime(n.args[0], nullptr, "the architecture");
  if (!v.ok()) return {};
  if (!v.is(ValueKind::text)) return e.fail(n.args[0]->loc, "the architecture must be a string");
  if (v.text() != "wse2" && v.text() != "wse3" && v.text() != "wse1")
    return e.fail(n.args[0]->loc, fmt::format("there is no architecture '{}'", v.text()),
                  "\"wse2\" or \"wse3\"");
  return bool_value(e.types(), v.text() == (e.wse3() ? "wse3" : "wse2"));
}

const Type* array_type_of(Evaluator& e, const ast::Builtin& n) {
  const Value v = e.eval(n.args[0]);
  if (!v.ok()) return nullptr;
  const Type* t = v.is(ValueKind::type) ? v.type_value() : v.type;
  if (t->kind == TypeKind::pointer && !t->many) t = t->element;
  if (t->kind == TypeKind::array) return t;
  e.fail(n.args[0]->loc, fmt::format("@{} takes an array, this is '{}'", n.name, t->name));
  return nullptr;
}

Value element_type(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = array_type_of(e, n);
  return t ? type_value(e.types(), t->element) : Value();
}

Value element_count(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = array_type_of(e, n);
  return t ? Value::integer(e.types().integer(32, false), __int128(t->elements())) : Value();
}

Value rank(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = array_type_of(e, n);
  return t ? Value::integer(e.types().integer(16, false), __int128(t->dims.size())) : Value();
}

Value dimensions(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = array_type_of(e, n);
  if (!t) return {};
  const Type* u32 = e.types().integer(32, false);
  Aggregate a;
  for (uint32_t d : t->dims) a.items.push_back(Value::integer(u32, d));
  return Value::with(e.types().array(u32, {uint32_t(t->dims.size())}), ValueKind::aggregate, std::move(a));
}

bool field_name(Evaluator& e, const ast::Expr* x, std::string& out) {
  const Value v = e.eval_comptime(x, nullptr, "the name of a field");
  if (!v.ok()) return false;
  if (v.is(ValueKind::text))
    out = v.text();
  else
    e.fail(x->loc, "the name of a field must be a string");
  return v.is(ValueKind::text);
}

Value field(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value v = e.eval(n.args[0]);
  std::string name;
  return v.ok() && field_name(e, n.args[1], name) ? e.member(v, name, n.loc) : Value();
}

Value has_field(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value v = e.eval(n.args[0]);
  std::string name;
  if (!v.ok() || !field_name(e, n.args[1], name)) return {};
  if (v.is(ValueKind::type)) return bool_value(e.types(), v.type_value()->field(name) != nullptr);
  return bool_value(e.types(), e.member(v, name, n.loc, true).ok());
}

Value concat_structs(Evaluator& e, const ast::Builtin& n, const Type*) {
  Aggregate out;
  Names names;
  for (const ast::Expr* x : n.args) {
    const Value v = e.rvalue(x);
    if (!v.ok()) return {};
    if (!v.is(ValueKind::aggregate) || v.type->kind == TypeKind::array)
      return e.fail(x->loc, fmt::format("@concat_structs takes structures, this is '{}'", v.type->name));
    const Aggregate& a = v.aggregate();
    for (size_t i = 0; i < item_count(v); ++i) {
      if (a.names || v.type->kind == TypeKind::structure) {
        const std::string_view name = a.names ? (*a.names)[i] : std::string_view(v.type->fields[i].name);
        if (std::find(names.begin(), names.end(), name) != names.end())
          return e.fail(x->loc, fmt::format("field '{}' is in both structures", name));
        names.push_back(name);
      }
      out.items.push_back(item(v, i));
    }
  }
  if (!names.empty() && names.size() != out.items.size())
    return e.fail(n.loc, "one structure has names, the other has none");
  if (!names.empty()) out.names = std::make_shared<Names>(std::move(names));
  return Value::with(e.types().get(TypeKind::comptime_struct), ValueKind::aggregate, std::move(out));
}

Value strcat_(Evaluator& e, const ast::Builtin& n, const Type*) {
  std::string out;
  for (const ast::Expr* x : n.args) {
    const Value v = e.eval_comptime(x, nullptr, "a string");
    if (!v.ok()) return {};
    if (!v.is(ValueKind::text))
      return e.fail(x->loc, fmt::format("a string is needed here, this is '{}'", v.type->name));
    out += v.text();
  }
  return text_value(e.types(), out);
}

Value strlen_(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value v = e.eval_comptime(n.args[0], nullptr, "a string");
  if (!v.ok()) return {};
  if (!v.is(ValueKind::text))
    return e.fail(n.args[0]->loc, fmt::format("a string is needed here, this is '{}'", v.type->name));
  return Value::integer(e.types().get(TypeKind::comptime_int), __int128(v.text().size()));
}

Value get_array(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value v = e.eval_comptime(n.args[0], nullptr, "a string");
  if (!v.ok()) return {};
  if (!v.is(ValueKind::text))
    return e.fail(n.args[0]->loc, fmt::format("a string is needed here, this is '{}'", v.type->name));
  const Type* u8 = e.types().integer(8, false);
  Aggregate a;
  for (char c : v.text()) a.items.push_back(Value::integer(u8, uint8_t(c)));
  return Value::with(e.types().array(u8, {uint32_t(v.text().size())}), ValueKind::aggregate, std::move(a));
}

Value get_string_from_byte(Evaluator& e, const ast::Builtin& n, const Type*) {
  int64_t byte = 0;
  return e.eval_int(n.args[0], 0, 255, "a byte", byte) ? text_value(e.types(), std::string(1, char(byte)))
                                                       : Value();
}

// A named structure as .{ .name = value }.
Value as_anonymous(Evaluator& e, const Value& v) {
  if (!v.is(ValueKind::aggregate) || v.aggregate().names || !v.type->has_fields()) return v;
  Aggregate a;
  Names names;
  for (size_t i = 0; i < v.type->fields.size(); ++i) {
    names.push_back(v.type->fields[i].name);
    a.items.push_back(item(v, i));
  }
  if (names.empty()) return v;
  a.names = std::make_shared<Names>(std::move(names));
  return Value::with(e.types().get(TypeKind::comptime_struct), ValueKind::aggregate, std::move(a));
}

Value import_module(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value name = e.eval_comptime(n.args[0], nullptr, "the module");
  Value params;
  if (n.args.size() > 1) {
    params = e.eval_comptime(n.args[1], nullptr, "the parameters");
    if (!params.ok()) return {};
    params = as_anonymous(e, params);
    const bool empty = params.is(ValueKind::aggregate) && params.aggregate().items.empty();
    if (!params.is(ValueKind::aggregate) || (!empty && !params.aggregate().names))
      return e.fail(n.args[1]->loc, "the parameters must be a structure .{ .name = value }");
    if (empty) params = {};
  }
  if (!name.ok()) return {};
  if (!name.is(ValueKind::text)) return e.fail(n.args[0]->loc, "the module must be a string");
  if (e.emitting()) return e.fail(n.loc, "modules are imported at file level");
  const LoadedModule* source =
      e.session().loader.load(name.text(), e.frame().module->source, n.args[0]->loc, e.diag());
  if (!source) return {};
  if (name.text().starts_with("<memcpy/")) e.unit().tile.memcpy = e.layout()->memcpy = true;
  if (name.text().starts_with("<tile_config")) e.unit().tile.reroutes = true;
  ModuleInstance* m = e.instantiate(source, params, n.loc);
  if (!m) return {};
  Value v(e.types().get(TypeKind::module), ValueKind::module);
  v.object = std::shared_ptr<void>(std::shared_ptr<void>(), m);  // the unit owns it
  return v;
}

Value comptime_assert(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value v = e.eval_comptime(n.args[0], e.types().get(TypeKind::boolean), "the assertion");
  if (!v.ok() || v.truth()) return v.ok() ? e.void_value() : v;
  std::string why;
  if (n.args.size() > 1) {
    const Value text = e.eval_comptime(n.args[1], nullptr, "the message");
    if (text.is(ValueKind::text)) why = ": " + text.text();
  }
  return e.fail(n.loc, "assertion does not hold" + why);
}

Value comptime_print(Evaluator& e, const ast::Builtin& n, const Type*) {
  std::string line;
  for (const ast::Expr* x : n.args) {
    const Value v = e.eval_comptime(x, nullptr, "what is printed");
    if (!v.ok()) return {};
    line += (line.empty() ? "" : " ") + print(v);
  }
  std::cerr << line << '\n';
  return e.void_value();
}

Value runtime_assert(Evaluator& e, const ast::Builtin& n, const Type*) {
  if (!e.emitting()) return comptime_assert(e, n, nullptr);
  FunctionBuilder& b = e.builder();
  const int good = b.new_label();
  ++e.frame().depth;
  const Truth t = e.branch(n.args[0], true, good);
  if (t != Truth::yes) b.emit(isa::Op::trap, {FunctionBuilder::imm(0)});
  b.place(good);
  --e.frame().depth;
  return e.void_value();
}

Value fp16_type(Evaluator& e, const ast::Builtin&, const Type*) {
  return type_value(e.types(), e.types().f16());
}

constexpr BuiltinRow kRows[] = {
    {"as", 2, 2, Allowed::anywhere, as_type},
    {"type_of", 1, 1, Allowed::anywhere, type_of},
    {"is_same_type", 2, 2, Allowed::anywhere, is_same_type},
    {"is_comptime", 0, 1, Allowed::anywhere, is_comptime_value},
    {"is_arch", 1, 1, Allowed::anywhere, is_arch},
    {"element_type", 1, 1, Allowed::anywhere, element_type},
    {"element_count", 1, 1, Allowed::anywhere, element_count},
    {"rank", 1, 1, Allowed::anywhere, rank},
    {"dimensions", 1, 1, Allowed::anywhere, dimensions},
    {"field", 2, 2, Allowed::anywhere, field},
    {"has_field", 2, 2, Allowed::anywhere, has_field},
    {"concat_structs", 2, 16, Allowed::anywhere, concat_structs},
    {"strcat", 0, 64, Allowed::anywhere, strcat_},
    {"strlen", 1, 1, Allowed::anywhere, strlen_},
    {"get_array", 1, 1, Allowed::anywhere, get_array},
    {"import_module", 1, 2, Allowed::anywhere, import_module},
    {"comptime_assert", 1, 2, Allowed::anywhere, comptime_assert},
    {"comptime_print", 1, 64, Allowed::anywhere, comptime_print},
    {"assert", 1, 1, Allowed::anywhere, runtime_assert},
    {"get_string_from_byte", 1, 1, Allowed::anywhere, get_string_from_byte},
    {"fp16", 0, 0, Allowed::anywhere, fp16_type},
};

}  // namespace

std::span<const BuiltinRow> type_builtins() { return kRows; }

}  // namespace cs::csl
