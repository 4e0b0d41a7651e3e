// Helpers on values: aggregates with equal items, equality and hashing for instance keys, printing.
#include "compiler/csl/value.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/support/geometry.h"

namespace cs::csl {
namespace {

constexpr uint64_t kPrintedItems = 16;

size_t mix(size_t seed, size_t v) { return seed ^ (v + 0x9e3779b97f4a7c15ull + (seed << 6) + (seed >> 2)); }

bool equal_dsd(const DsdValue& a, const DsdValue& b) {
  return a.dsd == b.dsd && a.base == b.base && a.in_memory == b.in_memory && a.place == b.place &&
         a.words == b.words;
}

bool equal_items(const Value& a, const Value& b) {
  if (a.object == b.object) return true;
  const Aggregate &x = a.aggregate(), &y = b.aggregate();
  if (bool(x.names) != bool(y.names) || (x.names && x.names != y.names && *x.names != *y.names)) return false;
  const uint64_t n = item_count(a);
  if (n != item_count(b)) return false;
  if (x.count && y.count) return equal(x.items[0], y.items[0]);
  for (uint64_t i = 0; i < n; ++i)
    if (!equal(item(a, i), item(b, i))) return false;
  return true;
}

std::string print_id(const Value& v) {
  constexpr std::string_view kDirections[] = {"EAST", "WEST", "SOUTH", "NORTH", "RAMP"};
  if (v.type->kind == TypeKind::boolean) return v.truth() ? "true" : "false";
  if (v.type->kind == TypeKind::direction && v.i >= 0 && v.i < kPorts)
    return std::string(kDirections[int(v.i)]);
  if (v.type->kind == TypeKind::enumeration)
    for (const Field& f : v.type->fields)
      if (f.value == v.i) return "." + f.name;
  return print_int(v.i);
}

std::string print_aggregate(const Value& v) {
  const Names* names = v.aggregate().names.get();
  std::string out = ".{";
  const uint64_t n = item_count(v);
  for (uint64_t k = 0; k < std::min(n, kPrintedItems); ++k) {
    out += k ? ", " : " ";
    if (names)
      out += fmt::format(".{} = ", (*names)[k]);
    else if (v.type->kind == TypeKind::structure)
      out += fmt::format(".{} = ", v.type->fields[k].name);
    out += print(item(v, k));
  }
  return out + (n > kPrintedItems ? ", …" : "") + " }";
}

}  // namespace

Value text_value(const TypeTable& types, std::string text) {
  return Value::with(types.get(TypeKind::comptime_string), ValueKind::text, std::move(text));
}

Value type_value(const TypeTable& types, const Type* t) {
  Value v(types.get(TypeKind::type), ValueKind::type);
  v.object = std::shared_ptr<void>(std::shared_ptr<void>(), const_cast<Type*>(t));  // types outlive values
  return v;
}

Value bool_value(const TypeTable& types, bool b) { return Value::integer(types.get(TypeKind::boolean), b); }

uint64_t item_count(const Value& v) {
  const Aggregate& a = v.aggregate();
  return a.count ? a.count : a.items.size();
}

Value item(const Value& v, uint64_t index) {
  const Aggregate& a = v.aggregate();
  return a.count ? a.items[0] : a.items[index];
}

std::vector<Value>& items(Value& v) {
  Aggregate& a = v.unshare<Aggregate>();
  if (a.count) {
    a.items.resize(a.count, Value(a.items[0]));
    a.count = 0;
  }
  return a.items;
}

const Value* named_item(const Value& v, std::string_view name) {
  if (!v.is(ValueKind::aggregate)) return nullptr;
  const Aggregate& a = v.aggregate();
  if (a.names) {
    for (size_t i = 0; i < a.names->size(); ++i)
      if ((*a.names)[i] == name) return &a.items[i];
    return nullptr;
  }
  const int index = v.type->field_index(name);
  return index < 0 || a.count ? nullptr : &a.items[size_t(index)];
}

bool is_comptime(const Value& v) {
  switch (v.kind) {
    case ValueKind::scalar:
    case ValueKind::place:
      return false;
    case ValueKind::aggregate:
      return std::all_of(v.aggregate().items.begin(), v.aggregate().items.end(), is_comptime);
    case ValueKind::dsd: {
      const DsdValue& d = v.dsd();
      if (d.in_memory) return false;
      return std::all_of(d.words.begin(), d.words.end(), [](const auto& w) {
        return !w || (w->kind != isa::OperandKind::reg && w->kind != isa::OperandKind::pair);
      });
    }
    case ValueKind::range: {
      const auto& r = v.as<RangeValue>();
      return is_comptime(r.start) && is_comptime(r.stop) && is_comptime(r.step);
    }
    case ValueKind::pointer:
      return v.location.index < 0;
    default:
      return true;
  }
}

bool equal(const Value& a, const Value& b) {
  if (a.kind != b.kind || a.type != b.type) return false;
  switch (a.kind) {
    case ValueKind::integer:
      return a.i == b.i;
    case ValueKind::floating:
      return a.f == b.f || (a.f != a.f && b.f != b.f);
    case ValueKind::text:
      return a.text() == b.text();
    case ValueKind::aggregate:
      return equal_items(a, b);
    case ValueKind::dsd:
      return equal_dsd(a.dsd(), b.dsd());
    case ValueKind::dsr:
      return a.as<DsrValue>().file == b.as<DsrValue>().file &&
             a.as<DsrValue>().index == b.as<DsrValue>().index;
    case ValueKind::range: {
      const auto &x = a.as<RangeValue>(), &y = b.as<RangeValue>();
      return x.element == y.element && equal(x.start, y.start) && equal(x.stop, y.stop) &&
             equal(x.step, y.step);
    }
    case ValueKind::pointer:
      return a.object == b.object && (a.object || a.location == b.location);
    case ValueKind::scalar:
    case ValueKind::place:
      return a.location == b.location;
    default:
      return a.object == b.object;
  }
}

size_t hash(const Value& v) {
  size_t h = mix(size_t(v.kind), std::hash<const void*>{}(v.type));
  switch (v.kind) {
    case ValueKind::integer:
      return mix(h, std::hash<int64_t>{}(int64_t(v.i)));
    case ValueKind::floating:
      return mix(h, std::hash<double>{}(v.f));
    case ValueKind::text:
      return mix(h, std::hash<std::string>{}(v.text()));
    case ValueKind::aggregate: {
      const uint64_t n = item_count(v);
      h = mix(h, n);
      const size_t shown = v.aggregate().count ? 1 : v.aggregate().items.size();
      for (size_t i = 0; i < std::min<size_t>(shown, 64); ++i) h = mix(h, hash(v.aggregate().items[i]));
      return h;
    }
    default:
      return h;
  }
}

std::string print_int(__int128 v) {
  if (v == 0) return "0";
  const bool negative = v < 0;
  unsigned __int128 u = negative ? -(unsigned __int128)v : (unsigned __int128)v;
  std::string out;
  for (; u; u /= 10) out += char('0' + int(u % 10));
  if (negative) out += '-';
  return {out.rbegin(), out.rend()};
}

std::string print(const Value& v) {
  switch (v.kind) {
    case ValueKind::void_:
      return "{}";
    case ValueKind::undefined:
      return "undefined";
    case ValueKind::integer:
      return print_id(v);
    case ValueKind::floating:
      return fmt::format("{}", v.f);
    case ValueKind::text:
      return v.text();
    case ValueKind::type:
      return v.type_value()->name;
    case ValueKind::aggregate:
      return print_aggregate(v);
    case ValueKind::poison:
      return "?";
    default:
      return v.type->name;
  }
}

// Fields that were left out of a library's parameters hold `{}` and say nothing.
static Value without_voids(const Value& v) {
  if (!v.is(ValueKind::aggregate) || !v.aggregate().names || v.aggregate().count) return v;
  Aggregate kept;
  Names names;
  for (size_t i = 0; i < v.aggregate().names->size(); ++i) {
    if (item(v, i).type->kind == TypeKind::void_) continue;
    names.push_back((*v.aggregate().names)[i]);
    kept.items.push_back(item(v, i));
  }
  kept.names = std::make_shared<Names>(std::move(names));
  return Value::with(v.type, ValueKind::aggregate, std::move(kept));
}

std::string print_params(const Value& v) {
  std::string out;
  if (!v.is(ValueKind::aggregate) || !v.aggregate().names) return out;
  for (size_t i = 0; i < v.aggregate().names->size(); ++i)
    out += fmt::format("{}{}={}", i ? ", " : "", (*v.aggregate().names)[i],
                       print(without_voids(v.aggregate().items[i])));
  return out;
}

}  // namespace cs::csl
