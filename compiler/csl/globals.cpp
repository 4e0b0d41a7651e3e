// Globals of a tile program: images of values with relocations, read-only constants, exported symbols.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/eval.h"
#include "compiler/csl/lower_dsd.h"

namespace cs::csl {

using isa::OperandKind;

namespace {

void put(MirGlobal& g, uint32_t offset, uint64_t v, uint32_t bytes) {
  if (v == 0 && g.init.empty()) return;  // zero at cycle 0 anyway
  if (g.init.empty()) g.init.resize(g.bytes);
  for (uint32_t i = 0; i < bytes; ++i) g.init[offset + i] = uint8_t(v >> (8 * i));
}

void relocate(MirGlobal& g, uint32_t offset, const isa::Operand& o) {
  if (o.kind == OperandKind::imm) return put(g, offset, uint16_t(o.value + o.extra), 2);
  if (g.init.empty()) g.init.resize(g.bytes);
  g.relocations.push_back({.offset = offset,
                           .function = o.kind == OperandKind::function,
                           .target = uint32_t(o.value),
                           .addend = o.extra});
}

}  // namespace

bool Evaluator::write_image(const Value& v, const Type* t, MirGlobal& g, uint32_t offset, SourceLoc where) {
  switch (v.kind) {
    case ValueKind::undefined:
      return true;
    case ValueKind::integer:
      if (t->kind == TypeKind::packed && t->bytes > 8)
        for (uint32_t at = 0; at < t->bytes; at += 2) put(g, offset + at, uint16_t(v.i >> (8 * at)), 2);
      else
        put(g, offset, uint64_t(v.i), t->bytes);
      return true;
    case ValueKind::floating:
      put(g, offset, float_bits(t, v.f), t->bytes);
      return true;
    case ValueKind::function:
      relocate(g, offset, operand(v, where));
      return true;
    case ValueKind::pointer: {
      const bool address = !v.object && v.location.index < 0 && v.location.kind != OperandKind::slot;
      if (!address)
        fail(where, "this pointer has no address at comptime");
      else
        relocate(g, offset, v.location.operand());
      return address;
    }
    case ValueKind::dsd: {
      const DsdValue& d = v.dsd();
      const auto words = dsd_words(d);
      for (uint32_t w = 0; w < t->bytes / 2; ++w) {
        if (d.words[w])
          relocate(g, offset + 2 * w, *d.words[w]);
        else
          put(g, offset + 2 * w, words[w], 2);
      }
      if (!d.dsd.is_fabric() && !d.words[1]) relocate(g, offset + 2, d.base);
      return true;
    }
    case ValueKind::aggregate: {
      const uint64_t n = item_count(v);
      const bool zero = v.aggregate().count && v.aggregate().items[0].is(ValueKind::integer) &&
                        v.aggregate().items[0].i == 0;
      if (zero) return true;
      for (uint64_t i = 0; i < n; ++i) {
        const bool array = t->kind == TypeKind::array;
        const Type* et = array ? t->element : t->fields[i].type;
        const uint32_t at = offset + (array ? uint32_t(i) * et->bytes : t->fields[i].offset);
        if (!write_image(item(v, i), et, g, at, where)) return false;
      }
      return true;
    }
    default:
      fail(where, fmt::format("a value of type '{}' does not exist in memory", t->name));
      return false;
  }
}

uint32_t Evaluator::add_global(std::string name, const Type* t, const Value& initial, bool constant,
                               SourceLoc where) {
  constexpr uint32_t kTooLarge = 1 << 20;  // far beyond any memory, small enough to build
  MirGlobal g{.name = std::move(name),
              .bytes = t->bytes,
              .align = std::max(t->align, 2u),
              .constant = constant,
              .is_dsd = t->is_dsd(),
              .loc = where};
  if (g.bytes > kTooLarge) {
    fail(where,
         fmt::format("'{}' needs {} bytes, a PE has {}", g.name, g.bytes, machine().core.memory_bytes));
    g.bytes = 2;
  } else {
    write_image(initial, t, g, 0, where);
  }
  unit_.tile.globals.push_back(std::move(g));
  unit_.global_info.emplace_back(t, initial);
  return uint32_t(unit_.tile.globals.size()) - 1;
}

// Read-only memory for a known value; equal images are one global.
Location Evaluator::constant_place(const Value& v, SourceLoc where) {
  MirGlobal g{.name = v.type->is_dsd() ? "dsd" : "constant",
              .bytes = v.type->bytes,
              .align = std::max(v.type->align, 2u),
              .constant = true,
              .is_dsd = v.type->is_dsd(),
              .loc = where};
  if (!write_image(v, v.type, g, 0, where)) return {OperandKind::imm, 0, 0, -1};
  std::string key = fmt::format("{}:{}:", g.bytes, g.align) + std::string(g.init.begin(), g.init.end());
  for (const MirRelocation& r : g.relocations)
    key += fmt::format("|{} {} {} {}", r.offset, r.function, r.target, r.addend);
  const auto [it, inserted] =
      unit_.constants.try_emplace(std::move(key), uint32_t(unit_.tile.globals.size()));
  if (inserted) {
    unit_.tile.globals.push_back(std::move(g));
    unit_.global_info.emplace_back(v.type, v);
  }
  return {OperandKind::global, int32_t(it->second), 0, -1};
}

void Evaluator::export_function(const FunctionRef& ref, const Type* type, const std::string& name,
                                SourceLoc where) {
  MirExportedFunction f{.name = name, .function = function_index(ref, {}, where)};
  for (const Type* p : type->params) {
    DataType dt{};
    if (!to_data_type(*p, dt)) {
      fail(where, fmt::format("the host cannot pass a '{}' to '{}'", p->name, name));
      return;
    }
    f.params.push_back(dt);
  }
  constexpr size_t kMostParams = 15;
  if (f.params.size() > kMostParams)
    fail(where, fmt::format("an exported function has at most {} parameters, '{}' has {}", kMostParams, name,
                            f.params.size()));
  unit_.tile.exported_functions.push_back(std::move(f));
}

// The layout's word for what the host will find under this name; what it does not name is not the host's.
bool Evaluator::check_export(const std::string& name, const Type* type, bool is_function, SourceLoc where) {
  const LayoutState& layout = *layout_;
  for (size_t i = 0; i < layout.exports.size(); ++i) {
    const ExportedName& x = layout.exports[i];
    if (x.name != name) continue;
    DataType element{};
    const bool same = is_function == x.is_function &&
                      (is_function ? type->name == layout.export_types[i]
                                   : to_data_type(*type, element) && element == x.type);
    if (same) return true;
    fail(where,
         fmt::format("'{}' is '{}' here, the layout exports it as '{}'", name, type->name, layout.export_types[i]),
         "give @export_name in the layout the type that the symbol has");
    return false;
  }
  return true;
}

// A function, a variable, or a pointer: then what it points to at cycle 0, or, where the program changes it, whenever
// the host copies.
void Evaluator::export_symbol(const Value& v, const std::string& name, SourceLoc where) {
  MirTile& tile = unit_.tile;
  const auto is_function = [&](const MirExportedFunction& f) { return f.name == name; };
  const auto is_symbol = [&](const MirSymbol& s) { return s.name == name; };
  if (std::any_of(tile.exported_functions.begin(), tile.exported_functions.end(), is_function) ||
      (v.is(ValueKind::function) && std::any_of(tile.symbols.begin(), tile.symbols.end(), is_symbol))) {
    fail(where, fmt::format("symbol '{}' is exported twice", name));
    return;
  }
  unit_.host_symbols.push_back({name, v});
  if (v.is(ValueKind::function)) {
    if (check_export(name, v.type, true, where)) export_function(v.as<FunctionRef>(), v.type, name, where);
    return;
  }
  const Value* pointer = v.is(ValueKind::pointer) ? &v : nullptr;
  Location at = v.location;
  const Type* t = v.type;
  if (v.is(ValueKind::place) && t->kind == TypeKind::pointer) {
    pointer = &unit_.global_info[size_t(at.value)].second;
    if (!pointer->is(ValueKind::pointer)) {
      fail(where, fmt::format("pointer '{}' points to nothing at cycle 0", name),
           "give it an initial value: var p: [*]f32 = &a");
      return;
    }
  }
  if (pointer) {
    at = pointer->location;
    t = pointer->type->element;
  } else if (!v.is(ValueKind::place)) {
    if (v.type->bytes == 0 || !is_comptime(v)) {
      fail(where, fmt::format("a value of type '{}' cannot be exported", v.type->name),
           "export a variable, a pointer or a function");
      return;
    }
    at = constant_place(v, where);
  }
  if (at.kind != OperandKind::global) {
    fail(where, fmt::format("'{}' has no place in memory", name));
    return;
  }
  const MirGlobal& g = tile.globals[size_t(at.value)];
  const Type* element = t;
  while (element->kind == TypeKind::array) element = element->element;
  MirSymbol s{
      .name = name, .global = uint32_t(at.value), .offset = uint32_t(at.extra), .is_mutable = !g.constant};
  // The host reads a structure as its 16-bit words.
  if (element->is_aggregate() && element->bytes % 2 == 0 && element->bytes > 0)
    element = types_.integer(16, false);
  // … and an integer of 64 bits as two of 32, the low one first.
  const Type* seen = element->is_int64() ? types_.integer(32, false) : element;
  if (!to_data_type(*seen, s.type)) {
    fail(where, fmt::format("the host cannot access elements of type '{}'", element->name));
    return;
  }
  if (!check_export(name, element, false, where)) return;
  s.elements = (g.bytes - s.offset) / seen->bytes;
  if (v.is(ValueKind::place) && pointer && !tile.globals[size_t(v.location.value)].constant)
    s.pointer = v.location.value;
  // `export var a` and a pointer to it that the host knows by the same name are one symbol.
  for (const MirSymbol& other : tile.symbols)
    if (other.name == name) {
      if (other.global != s.global || other.offset != s.offset || other.type != s.type)
        fail(where, fmt::format("symbol '{}' is exported twice", name));
      return;
    }
  tile.symbols.push_back(std::move(s));
}

}  // namespace cs::csl
