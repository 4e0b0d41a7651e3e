// Finding and calling builtins: known names, number of arguments, where they are allowed, suggestions.
#include "compiler/csl/builtins.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "compiler/csl/suggest.h"

namespace cs::csl {
namespace {

using Table = std::map<std::string_view, const BuiltinRow*>;

const Table& table() {
  static const Table kTable = [] {
    Table t;
    for (auto rows : {layout_builtins(), config_builtins(), type_builtins(), numeric_builtins(),
                      id_builtins(), dsd_builtins(), dsr_builtins(), fifo_builtins(), handler_builtins(),
                      print_builtins(), library_builtins(), symbol_builtins()})
      for (const BuiltinRow& row : rows) t.emplace(row.name, &row);
    return t;
  }();
  return kTable;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const auto& [name, row] : table()) names.push_back("@" + std::string(name));
  for (const isa::Row& row : isa::table())
    if (is_vector_builtin(row.mnemonic)) names.push_back("@" + std::string(row.mnemonic));
  return names;
}

const char* place_text(Allowed a) {
  switch (a) {
    case Allowed::layout:
      return "the layout";
    case Allowed::config:
      return "a comptime block of a tile program";
    case Allowed::code:
      return "a function or task of a tile program";
    default:
      return "a tile program";
  }
}

bool allowed_here(Evaluator& e, Allowed a) {
  switch (a) {
    case Allowed::anywhere:
      return true;
    case Allowed::layout:
      return e.unit().is_layout;
    case Allowed::config:
      return !e.unit().is_layout && !e.emitting();
    case Allowed::code:
      return e.emitting();
    case Allowed::either:
      return !e.unit().is_layout;
  }
  return false;
}

}  // namespace

Value Evaluator::eval_builtin(const ast::Builtin& n, const Type* want) {
  if (auto it = table().find(n.name); it != table().end()) {
    const BuiltinRow& row = *it->second;
    const int given = int(n.args.size());
    if (given < row.min_args || given > row.max_args) {
      const std::string need = row.min_args == row.max_args
                                   ? fmt::format("{}", row.min_args)
                                   : fmt::format("{} to {}", row.min_args, row.max_args);
      return fail(n.loc, fmt::format("@{} takes {} argument{}, here are {}", n.name, need,
                                     row.max_args == 1 ? "" : "s", given));
    }
    if (!allowed_here(*this, row.allowed))
      return fail(n.loc, fmt::format("@{} is not allowed here, only in {}", n.name, place_text(row.allowed)));
    return row.handler(*this, n, want);
  }
  if (is_vector_builtin(n.name)) {
    if (!emitting())
      return fail(n.loc,
                  fmt::format("@{} is not allowed here, only in {}", n.name, place_text(Allowed::code)));
    return vector_builtin(*this, n);
  }
  return fail(n.loc, fmt::format("there is no builtin @{}", n.name), did_you_mean("@" + n.name, all_names()));
}

// ---- configuration structures

ConfigFields::ConfigFields(Evaluator& e, const ast::Expr* literal) : e_(e), where_(literal->loc) {
  const auto* init = ast::try_as<ast::Init>(literal);
  if (!init || init->type) {
    config_ = e.rvalue(literal);
    good_ = config_.ok();
    return;
  }
  Aggregate a;
  Names names;
  for (const ast::InitElement& element : init->elements) {
    if (const auto* access = ast::try_as<ast::TensorAccess>(element.value)) {
      access_ = access;
      continue;
    }
    if (std::find(names.begin(), names.end(), element.name) != names.end()) {
      e.fail(element.loc, fmt::format("field '{}' is given twice", element.name));
      good_ = false;
    }
    names.push_back(element.name);
    a.items.push_back(e.rvalue(element.value));
    good_ &= a.items.back().ok();
  }
  a.names = std::make_shared<Names>(std::move(names));
  config_ = Value::with(e.types().get(TypeKind::comptime_struct), ValueKind::aggregate, std::move(a));
}

const Value* ConfigFields::find(std::string_view name) {
  asked_.emplace_back(name);
  return named_item(config_, name);
}

const Value* ConfigFields::required(std::string_view name) {
  const Value* v = find(name);
  if (!v && good_) {
    e_.fail(where_, fmt::format("field '{}' is missing", name));
    good_ = false;
  }
  return v;
}

bool ConfigFields::flag(std::string_view name) {
  const Value* v = find(name);
  if (!v || !v->ok()) return false;
  if (v->is(ValueKind::integer) && v->type->kind == TypeKind::boolean) return v->truth();
  e_.fail(where_, fmt::format("field '{}' must be true or false, known at comptime", name));
  good_ = false;
  return false;
}

bool ConfigFields::number(std::string_view name, int64_t low, int64_t high, int64_t& out) {
  const Value* v = find(name);
  if (!v || !v->ok()) return false;
  if (!v->is(ValueKind::integer)) {
    e_.fail(where_, fmt::format("field '{}' must be a number known at comptime", name));
    return good_ = false;
  }
  if (v->i < low || v->i > high) {
    e_.fail(where_, fmt::format("field '{}' must be between {} and {}, this is {}", name, low, high,
                                print_int(v->i)));
    return good_ = false;
  }
  out = int64_t(v->i);
  return true;
}

int ConfigFields::choice(std::string_view name, std::initializer_list<std::string_view> names) {
  const Value* v = find(name);
  if (!v || !v->ok()) return 0;
  ConfigFields fields(e_, *v, where_);
  int chosen = 0, number = 0;
  for (std::string_view n : names) {
    ++number;
    if (fields.flag(n)) chosen = number;
  }
  good_ &= fields.finish();
  return chosen;
}

bool ConfigFields::finish() {
  if (!config_.is(ValueKind::aggregate)) {
    if (config_.ok() && good_)
      e_.fail(where_, fmt::format("a structure .{{ … }} is needed here, this is '{}'", config_.type->name));
    return false;
  }
  if (config_.type->kind == TypeKind::structure) {  // a named structure has all its fields
    for (const Field& f : config_.type->fields)
      if (std::find(asked_.begin(), asked_.end(), f.name) == asked_.end()) {
        e_.fail(where_, fmt::format("there is no field '{}' here", f.name), did_you_mean(f.name, asked_));
        good_ = false;
      }
    return good_;
  }
  if (!config_.aggregate().names) {
    if (config_.aggregate().items.empty()) return good_;
    e_.fail(where_, "the fields of this structure need names: .{ .name = value }");
    return false;
  }
  for (std::string_view given : *config_.aggregate().names)
    if (std::find(asked_.begin(), asked_.end(), given) == asked_.end()) {
      e_.fail(where_, fmt::format("there is no field '{}' here", given), did_you_mean(given, asked_));
      good_ = false;
    }
  return good_;
}

}  // namespace cs::csl
