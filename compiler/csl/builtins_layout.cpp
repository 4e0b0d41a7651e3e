// Builtins of the layout: the rectangle, tile programs, routes, names for the host.
#include <cstring>

#include <fmt/format.h>

#include "compiler/csl/builtins.h"
#include "compiler/csl/color_configs.h"
#include "compiler/csl/warnings.h"

namespace cs::csl {
namespace {

constexpr int64_t kLargestSide = 1 << 14;

Value set_rectangle(Evaluator& e, const ast::Builtin& n, const Type*) {
  LayoutState& s = *e.layout();
  int64_t w = 0, h = 0;
  const bool good = e.eval_int(n.args[0], 1, kLargestSide, "the width", w);
  if (!e.eval_int(n.args[1], 1, kLargestSide, "the height", h) || !good) return {};
  if (s.has_rectangle) return e.fail(n.loc, "@set_rectangle is called twice");
  s.has_rectangle = true;
  s.width = int(w);
  s.height = int(h);
  s.tile_of_pe.assign(size_t(w * h), ~0u);
  return e.void_value();
}

uint32_t tile_index(Evaluator& e, const LoadedModule* source, const std::string& name, const Value& params,
                    SourceLoc where) {
  LayoutState& s = *e.layout();
  const size_t key = hash(params) ^ std::hash<const void*>{}(source);
  std::vector<uint32_t>& same = s.tile_index[key];
  for (uint32_t t : same)
    if (s.tiles[t].source == source && equal(s.tiles[t].params, params)) return t;
  same.push_back(uint32_t(s.tiles.size()));
  s.tiles.push_back({source, name, params, where});
  return same.back();
}

const LoadedModule* tile_file(Evaluator& e, const std::string& name, SourceLoc where) {
  const LoadedModule* from = e.frame().module->source;
  const auto [it, inserted] = e.layout()->known_files.try_emplace(from->path + "\n" + name, nullptr);
  if (inserted) it->second = e.session().loader.load(name, from, where, e.diag());
  return it->second;
}

Value set_tile_code(Evaluator& e, const ast::Builtin& n, const Type*) {
  LayoutState& s = *e.layout();
  int64_t x = 0, y = 0;
  if (!coordinates(e, n, x, y)) return {};
  const LoadedModule* source = e.frame().module->source;  // without a file name: this file
  std::string name = source->path;
  if (n.args.size() > 2) {
    const Value given = e.eval_comptime(n.args[2], nullptr, "the file name");
    if (!given.ok()) return {};
    if (!given.is(ValueKind::text)) return e.fail(n.args[2]->loc, "the file name must be a string");
    name = given.text();
  }
  Value params;
  if (n.args.size() > 3) {
    params = e.eval_comptime(n.args[3], nullptr, "the parameters");
    if (!params.ok()) return {};
    const bool empty = params.is(ValueKind::aggregate) && params.aggregate().items.empty();
    if (!params.is(ValueKind::aggregate) || (!params.aggregate().names && !empty))
      return e.fail(n.args[3]->loc, "the parameters must be a structure .{ .name = value }");
    if (empty) params = {};
  }
  if (n.args.size() > 2) source = tile_file(e, name, n.args[2]->loc);
  if (!source) return {};
  uint32_t& tile = s.tile_of_pe[size_t(y) * size_t(s.width) + size_t(x)];
  if (tile != ~0u)
    return e.fail(n.loc, fmt::format("PE ({}, {}) already runs '{}'", x, y, s.tiles[tile].name),
                  "each PE gets one @set_tile_code");
  tile = tile_index(e, source, name, params, n.loc);
  return e.void_value();
}

Value export_name(Evaluator& e, const ast::Builtin& n, const Type*) {
  const Value name = e.eval_comptime(n.args[0], nullptr, "the name");
  const Type* t = e.eval_type(n.args[1]);
  if (!name.ok() || !t) return {};
  if (!name.is(ValueKind::text)) return e.fail(n.args[0]->loc, "the name must be a string");
  ExportedName x{.name = name.text(), .is_function = t->kind == TypeKind::function};
  if (n.args.size() > 2) {
    const Value v =
        e.eval_comptime(n.args[2], e.types().get(TypeKind::boolean), "whether the host may write");
    if (!v.ok()) return {};
    x.is_mutable = v.truth();
  }
  if (!x.is_function) {
    const Type* element = t->kind == TypeKind::pointer ? t->element : t;
    while (element->kind == TypeKind::array) element = element->element;
    if (t->kind == TypeKind::pointer && element->is_aggregate() && element->bytes % 2 == 0 &&
        element->bytes > 0)
      element = e.types().integer(16, false);
    if (!to_data_type(*element, x.type))
      return e.fail(n.args[1]->loc, fmt::format("the host cannot access a '{}'", t->name),
                    "use a pointer to numbers, such as [*]f32, or fn () void");
  }
  for (size_t i = 0; i < e.layout()->exports.size(); ++i) {
    if (e.layout()->exports[i].name != x.name) continue;
    const std::string what = fmt::format("'{}' is exported twice", x.name);
    if (e.layout()->export_types[i] != t->name)
      return e.fail(n.loc, what, "the types differ: a name has one");
    e.layout()->exports[i].is_mutable |= x.is_mutable;
    e.diag().warning(n.loc, named("export-twice", what));
    return e.void_value();
  }
  e.layout()->exports.push_back(std::move(x));
  e.layout()->export_types.push_back(t->name);
  return e.void_value();
}

constexpr BuiltinRow kRows[] = {
    {"set_rectangle", 2, 2, Allowed::layout, set_rectangle},
    {"set_tile_code", 2, 4, Allowed::layout, set_tile_code},
    {"set_color_config", 4, 4, Allowed::layout, set_color_config},
    {"export_name", 2, 3, Allowed::layout, export_name},
};

}  // namespace

std::span<const BuiltinRow> layout_builtins() { return kRows; }

}  // namespace cs::csl
