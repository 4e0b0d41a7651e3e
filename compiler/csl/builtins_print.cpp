// Builtins of <simprint>: comptime text as writes to the log's registers, and format strings.
#include <fmt/format.h>

#include "compiler/csl/builtins.h"

namespace cs::csl {
namespace {

bool comptime_text(Evaluator& e, const ast::Expr* arg, std::string& out) {
  const Value v = e.eval_comptime(arg, nullptr, "the text");
  if (!v.ok()) return false;
  if (!v.is(ValueKind::text)) {
    e.fail(arg->loc, fmt::format("a string known at comptime is needed here, this is '{}'", v.type->name));
    return false;
  }
  out = v.text().substr(0, v.text().find('\0'));
  return true;
}

void emit_text(Evaluator& e, std::string_view text) {
  for (size_t i = 0; i < text.size(); i += 2) {
    const int low = uint8_t(text[i]), high = i + 1 < text.size() ? uint8_t(text[i + 1]) : 0;
    e.builder().emit(isa::Op::stcfg16, {FunctionBuilder::imm(int32_t(isa::ConfigReg::print_text)),
                                        FunctionBuilder::imm(low | high << 8)});
  }
}

// @print_text(text)
Value print_text(Evaluator& e, const ast::Builtin& n, const Type*) {
  std::string text;
  if (comptime_text(e, n.args[0], text)) emit_text(e, text);
  return e.void_value();
}

// @print_format(text, values, .{ functions for d, X, b and f })
Value print_format(Evaluator& e, const ast::Builtin& n, const Type*) {
  constexpr std::string_view kSpecifiers = "dXbf";
  std::string text, plain;
  if (!comptime_text(e, n.args[0], text)) return {};
  const Value values = e.eval(n.args[1]), printers = e.eval(n.args[2]);
  if (!values.ok() || !printers.ok()) return {};
  if (!values.is(ValueKind::aggregate))
    return e.fail(n.args[1]->loc, "the values to print are a list: .{ a, b }");
  size_t used = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '{' && text[i] != '}') {
      plain += text[i];
      continue;
    }
    if (text[i] == '}' || (i + 1 < text.size() && text[i + 1] == '{')) {
      plain += text[i];
      if (i + 1 < text.size() && text[i + 1] == text[i]) ++i;
      continue;
    }
    const size_t kind = i + 2 < text.size() && text[i + 2] == '}' ? kSpecifiers.find(text[i + 1]) : std::string::npos;
    if (kind == std::string::npos)
      return e.fail(n.args[0]->loc, fmt::format("the format has an unknown specifier at '{}'", text.substr(i)),
                    "{d}, {X}, {b} and {f} print a value, {{ prints a brace");
    if (used == item_count(values))
      return e.fail(n.args[1]->loc, fmt::format("the format asks for more than the {} value{} given", used,
                                                used == 1 ? "" : "s"));
    emit_text(e, plain);
    plain.clear();
    if (!e.call(item(printers, kind), {item(values, used++)}, {n.args[1]->loc}, n.loc).ok()) return {};
    i += 2;
  }
  emit_text(e, plain);
  if (used != item_count(values))
    return e.fail(n.args[1]->loc, fmt::format("{} values given, the format prints {}", item_count(values), used));
  return e.void_value();
}

constexpr BuiltinRow kRows[] = {
    {"print_text", 1, 1, Allowed::code, print_text},
    {"print_format", 3, 3, Allowed::code, print_format},
};

}  // namespace

std::span<const BuiltinRow> print_builtins() { return kRows; }

}  // namespace cs::csl
