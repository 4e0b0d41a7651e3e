// Type expressions and aggregate literals.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/eval.h"
#include "compiler/csl/suggest.h"

namespace cs::csl {

using ast::ExprKind;

namespace {

constexpr int64_t kLargestDimension = 1 << 21;

}  // namespace

bool Evaluator::eval_with(const std::vector<std::string>& names, const std::vector<Value>& values,
                          const std::vector<const ast::Expr*>& exprs, std::vector<Value>& out) {
  const size_t locals = locals_.size();
  for (size_t i = 0; i < names.size(); ++i) declare(names[i], values[i], true);
  bool good = true;
  for (const ast::Expr* x : exprs) {
    out.push_back(rvalue(x));
    good &= out.back().ok();
  }
  locals_.resize(locals);
  return good;
}

const Type* Evaluator::eval_type(const ast::Expr* e) {
  ComptimeScope scope(*this);
  switch (e->kind) {
    case ExprKind::array_type: {
      const auto& n = static_cast<const ast::ArrayType&>(*e);
      std::vector<uint32_t> dims;
      uint64_t total = 1;
      for (const ast::Expr* d : n.dimensions) {
        int64_t size = 0;
        if (!eval_int(d, 0, kLargestDimension, "a dimension", size)) return nullptr;
        dims.push_back(uint32_t(size));
        total *= std::max<uint64_t>(1, uint64_t(size));
        if (total > uint64_t(kLargestDimension)) {
          fail(d->loc,
               fmt::format("an array of {} elements or more; the limit is {}", total, kLargestDimension));
          return nullptr;
        }
      }
      const Type* element = eval_type(n.element);
      return element ? types_.array(element, std::move(dims)) : nullptr;
    }
    case ExprKind::pointer_type: {
      const auto& n = static_cast<const ast::PointerType&>(*e);
      const Type* target = eval_type(n.element);
      if (target && target->kind == TypeKind::function) {  // a function value is its address already
        if (n.is_const && !n.many) return target;
        fail(e->loc, "a pointer to a function must be a pointer to const", "*const fn (…) …");
        return nullptr;
      }
      return target ? types_.pointer(target, n.is_const, n.many) : nullptr;
    }
    case ExprKind::function_type: {
      const auto& n = static_cast<const ast::FunctionType&>(*e);
      std::vector<const Type*> params;
      for (const ast::Param& p : n.params) {
        params.push_back(p.type ? eval_type(p.type) : types_.get(TypeKind::any));
        if (!params.back()) return nullptr;
      }
      const Type* result = n.result ? eval_type(n.result) : types_.get(TypeKind::void_);
      return result ? types_.function(std::move(params), result, false) : nullptr;
    }
    case ExprKind::struct_type: {
      const Value v = eval_struct_type(static_cast<const ast::StructType&>(*e));
      return v.ok() ? v.type_value() : nullptr;
    }
    case ExprKind::enum_type: {
      const Value v = eval_enum_type(static_cast<const ast::EnumType&>(*e));
      return v.ok() ? v.type_value() : nullptr;
    }
    default:
      break;
  }
  const Value v = eval(e);
  if (!v.ok()) return nullptr;
  if (v.is(ValueKind::type)) return v.type_value();
  fail(e->loc, fmt::format("a type is needed here, this is a value of type '{}'", v.type->name));
  return nullptr;
}

Value Evaluator::eval_struct_type(const ast::StructType& n) {
  const bool packed = n.layout == ast::StructLayout::packed;
  std::vector<Field> fields;
  std::string name = fmt::format("{}{} {{",
                                 packed                                    ? "packed "
                                 : n.layout == ast::StructLayout::external ? "extern "
                                                                           : "",
                                 n.is_union ? "union" : "struct");
  int bits = 0;
  for (const ast::Member& m : n.members) {
    const Type* t = m.type ? eval_type(m.type) : nullptr;
    if (!t) return {};
    for (const Field& f : fields)
      if (f.name == m.name) return fail(m.loc, fmt::format("field '{}' is declared twice", m.name));
    if (t->name == "anyopaque")
      return fail(m.loc, "a field cannot be 'anyopaque'", "use a pointer: *anyopaque");
    if (packed) {
      constexpr int kMostBits = 127;
      const int width = t->packed_bits();
      if (width < 0)
        return fail(m.loc, fmt::format("a field of a packed structure cannot be '{}'", t->name),
                    "integers, floats, bool, enums, pointers and packed structures have a number of bits");
      if (n.is_union && !fields.empty() && width != bits)
        return fail(m.loc, fmt::format("variant '{}' has {} bits, the others have {}", m.name, width, bits),
                    "all variants of a packed union need the same number of bits");
      bits = n.is_union ? width : bits + width;
      if (bits > kMostBits)
        return fail(m.loc,
                    fmt::format("this packed structure needs {} bits, the limit is {}", bits, kMostBits));
    }
    name += fmt::format("{} {}: {}", fields.empty() ? "" : ",", m.name, t->name);
    fields.push_back({.name = m.name, .type = t, .initial = m.value});
  }
  if (n.tag) {
    const Type* tag = eval_type(n.tag);
    if (!tag) return {};
    if (!packed || tag->kind != TypeKind::integer || tag->bits != bits)
      return fail(n.tag->loc, fmt::format("the backing integer of {} bits cannot be '{}'", bits, tag->name));
  }
  const std::string identity = fmt::format("{}:{}:{} {}", n.loc.file, n.loc.line, n.loc.column, name);
  name += " }";
  if (packed) return type_value(types_, types_.packed(identity, name, std::move(fields), n.is_union));
  return type_value(types_, types_.structure(identity, name, std::move(fields), n.is_union,
                                             n.layout == ast::StructLayout::external));
}

Value Evaluator::eval_enum_type(const ast::EnumType& n) {
  const Type* tag = n.tag ? eval_type(n.tag) : types_.integer(16, false);
  if (!tag) return {};
  if (tag->kind != TypeKind::integer || tag->bytes == 0 || tag->is_int64())
    return fail(n.loc, fmt::format("'{}' cannot number an enum", tag->name));
  std::vector<Field> fields;
  std::string name = "enum {";
  for (const ast::Member& m : n.members) {
    int64_t given = 0;
    if (m.value && !eval_int(m.value, INT32_MIN, UINT32_MAX, "the number of an enumerator", given)) return {};
    for (size_t i = 0; i < fields.size(); ++i)
      if (fields[i].name == m.name || (m.value && n.members[i].value && fields[i].value == given))
        return fail(m.loc, fmt::format("enumerator '{}' repeats '{}' = {}", m.name, fields[i].name,
                                       print_int(fields[i].value)));
    name += fmt::format("{} {}", fields.empty() ? "" : ",", m.name);
    fields.push_back({.name = m.name, .type = tag, .value = given});
  }
  // Those without a number get the lowest ones that are free, in order.
  __int128 next = 0;
  for (size_t i = 0; i < fields.size(); ++i) {
    const auto taken = [&] {
      for (size_t k = 0; k < fields.size(); ++k)
        if (n.members[k].value && fields[k].value == next) return true;
      return false;
    };
    if (!n.members[i].value) {
      while (taken()) ++next;
      fields[i].value = next++;
    }
    const Value number = Value::integer(types_.get(TypeKind::comptime_int), fields[i].value);
    if (!coerce(number, tag, n.members[i].loc, "enumerator").ok()) return {};
  }
  const std::string identity =
      fmt::format("{}:{}:{} {}", n.loc.file, n.loc.line, n.loc.column, fmt::ptr(tag));
  return type_value(types_, types_.enumeration(identity, name + " }", tag, std::move(fields)));
}

Value Evaluator::eval_init(const ast::Init& n, const Type* want) {
  if (n.type) {
    const Type* t = nullptr;
    const auto* array = ast::try_as<ast::ArrayType>(n.type);
    const auto* infer =
        array && array->dimensions.size() == 1 ? ast::try_as<ast::Identifier>(array->dimensions[0]) : nullptr;
    if (infer && infer->name == "_") {
      const Type* element = eval_type(array->element);
      t = element ? types_.array(element, {uint32_t(n.elements.size())}) : nullptr;
    } else {
      t = eval_type(n.type);
    }
    if (!t) return {};
    if (t->kind == TypeKind::array) return eval_array_init(n, t);
    if (t->has_fields()) return eval_struct_init(n, t);
    return fail(n.loc, fmt::format("a value of type '{}' is not written with braces", t->name));
  }
  if (want && want->kind == TypeKind::array && (n.elements.empty() || n.elements[0].name.empty()))
    return eval_array_init(n, want);
  if (want && want->has_fields() && (n.elements.empty() || !n.elements[0].name.empty()))
    return eval_struct_init(n, want);
  Aggregate a;
  Names names;
  bool good = true;
  for (const ast::InitElement& e : n.elements) {
    if (std::find(names.begin(), names.end(), e.name) != names.end() && !e.name.empty())
      return fail(e.loc, fmt::format("field '{}' is given twice", e.name));
    if (!e.name.empty()) names.push_back(e.name);
    a.items.push_back(keep(rvalue(e.value)));
    good &= a.items.back().ok();
  }
  if (!good) return {};
  if (!names.empty() || n.elements.empty()) a.names = std::make_shared<Names>(std::move(names));
  return Value::with(types_.get(TypeKind::comptime_struct), ValueKind::aggregate, std::move(a));
}

Value Evaluator::eval_array_init(const ast::Init& n, const Type* t) {
  if (n.elements.size() != t->elements())
    return fail(
        n.loc, fmt::format("'{}' needs {} elements, here are {}", t->name, t->elements(), n.elements.size()));
  Aggregate a;
  bool good = true;
  for (const ast::InitElement& e : n.elements) {
    a.items.push_back(keep(eval_as(e.value, t->element, "element")));
    good &= a.items.back().ok();
  }
  return good ? Value::with(t, ValueKind::aggregate, std::move(a)) : Value();
}

Value Evaluator::eval_struct_init(const ast::Init& n, const Type* t) {
  std::vector<Value> items(t->fields.size());
  std::vector<bool> given(t->fields.size());
  bool good = true;
  for (const ast::InitElement& e : n.elements) {
    const int index = t->field_index(e.name);
    if (index < 0) {
      std::vector<std::string> known;
      for (const Field& f : t->fields) known.push_back(f.name);
      fail(e.loc, fmt::format("'{}' has no field '{}'", t->name, e.name), did_you_mean(e.name, known));
      good = false;
      continue;
    }
    if (given[size_t(index)]) return fail(e.loc, fmt::format("field '{}' is given twice", e.name));
    given[size_t(index)] = true;
    items[size_t(index)] = keep(eval_as(e.value, t->fields[size_t(index)].type, "field"));
    good &= items[size_t(index)].ok();
  }
  for (size_t i = 0; i < given.size() && good; ++i) {
    if (given[i] || t->is_union) continue;
    const Field& f = t->fields[i];
    if (!f.initial) return fail(n.loc, fmt::format("field '{}' of '{}' is missing", f.name, t->name));
    items[i] = eval_comptime(static_cast<const ast::Expr*>(f.initial), f.type, "a default value");
    good &= items[i].ok();
  }
  return good ? finish_struct(t, std::move(items), n.loc) : Value();
}

}  // namespace cs::csl
