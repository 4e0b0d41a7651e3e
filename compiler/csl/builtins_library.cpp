// Builtins that only library modules may call: what <types> and <string> are made of.
#include <fmt/format.h>

#include "compiler/csl/builtins.h"

namespace cs::csl {
namespace {

bool in_library(Evaluator& e, const ast::Builtin& n) {
  if (e.frame().module->source->library) return true;
  e.fail(n.loc, fmt::format("@{} is for library modules", n.name));
  return false;
}

const Type* type_argument(Evaluator& e, const ast::Builtin& n) {
  return in_library(e, n) ? e.eval_type(n.args[0]) : nullptr;
}

// "signed", "unsigned", "float", "float16", "dsd", "dsr" or "other".
Value type_class(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Type* t = type_argument(e, n);
  if (!t) return {};
  const char* name = "other";
  if (t->kind == TypeKind::integer) name = t->is_signed ? "signed" : "unsigned";
  if (t->kind == TypeKind::comptime_int) name = "signed";
  if (t->kind == TypeKind::comptime_float) name = "float";
  if (t->kind == TypeKind::floating) name = t->bytes == 2 ? "float16" : "float";
  if (t->is_dsd()) name = "dsd";
  if (t->is_dsr()) name = "dsr";
  return text_value(e.types(), name);
}

// Bits of a type in PE memory (integers: their own width), or its alignment in bytes.
Value type_number(Evaluator& e, const ast::Builtin& n, bool align) {
  const Type* t = type_argument(e, n);
  if (!t) return {};
  if (t->bytes == 0)
    return e.fail(n.args[0]->loc, fmt::format("'{}' exists at comptime only: it has no size", t->name));
  const bool own_width = t->bits != 0 && (t->kind == TypeKind::integer || t->kind == TypeKind::packed);
  const __int128 bits = own_width ? t->bits : __int128(t->bytes) * 8;
  return Value::integer(e.types().get(TypeKind::comptime_int), align ? __int128(t->align) : bits);
}
Value type_bits(Evaluator& e, const ast::Builtin& n, const Type*) { return type_number(e, n, false); }
Value type_align(Evaluator& e, const ast::Builtin& n, const Type*) { return type_number(e, n, true); }

// One argument as {d}, {X}, {b} or {s}; false: it cannot be written so.
bool format_value(const Value& v, char form, std::string& out) {
  if (form == 's') {
    if (v.is(ValueKind::text)) out += v.text();
    return v.is(ValueKind::text);
  }
  if (!v.is(ValueKind::integer)) return false;
  const long long i = static_cast<long long>(v.i);
  switch (form) {
    case 'd':
      out += fmt::format("{}", i);
      return true;
    case 'X':
      out += fmt::format("{:X}", i);
      return true;
    case 'b':
      out += fmt::format("{:b}", i);
      return true;
    default:
      return false;
  }
}

Value comptime_format(Evaluator& e, const ast::Builtin& n, const Type*) {
  if (!in_library(e, n)) return {};
  const Value text = e.eval_comptime(n.args[0], nullptr, "the format");
  const Value args = e.eval_comptime(n.args[1], nullptr, "the arguments");
  if (!text.ok() || !args.ok()) return {};
  if (!text.is(ValueKind::text)) return e.fail(n.loc, "the format must be a string");
  if (!args.is(ValueKind::aggregate)) return e.fail(n.loc, "the arguments must be a structure .{ … }");
  const std::string f(text.text());
  std::string out;
  size_t used = 0;
  for (size_t i = 0; i < f.size(); ++i) {
    if (f[i] != '{') {
      out += f[i];
      continue;
    }
    if (i + 1 < f.size() && f[i + 1] == '{') {
      out += f[++i];
      continue;
    }
    if (i + 2 >= f.size() || f[i + 2] != '}')
      return e.fail(n.loc, fmt::format("the format '{}' has a '{{' without a specifier", f),
                    "{d}, {X}, {b}, {s}; {{ is a brace");
    if (used == item_count(args))
      return e.fail(n.loc, fmt::format("the format '{}' needs more than {} arguments", f, used));
    const Value v = item(args, used++);
    if (!format_value(v, f[i + 1], out))
      return e.fail(
          n.loc,
          fmt::format("argument {} is '{}', which {{{}}} does not print", used, v.type->name, f[i + 1]),
          "{d}, {X} and {b} print integers, {s} strings");
    i += 2;
  }
  if (used != item_count(args))
    return e.fail(n.loc, fmt::format("the format '{}' uses {} of {} arguments", f, used, item_count(args)));
  return text_value(e.types(), out);
}

constexpr BuiltinRow kRows[] = {
    {"type_class", 1, 1, Allowed::anywhere, type_class},
    {"type_bits", 1, 1, Allowed::anywhere, type_bits},
    {"type_align", 1, 1, Allowed::anywhere, type_align},
    {"comptime_format", 2, 2, Allowed::anywhere, comptime_format},
};

}  // namespace

std::span<const BuiltinRow> library_builtins() { return kRows; }

}  // namespace cs::csl
