// Variables that live at comptime: which one an assignment writes, and the variants of unions among them.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/eval.h"

namespace cs::csl {

// Variant `v` of a union known at comptime. Extern ones show the bits of the active variant.
Value Evaluator::variant(const Value& base, const Value& v, SourceLoc where) {
  const std::vector<Value>& all = base.aggregate().items;
  const auto active =
      std::find_if(all.begin(), all.end(), [](const Value& x) { return !x.is(ValueKind::undefined); });
  if (active == all.end() || &*active == &v) return v;
  unsigned __int128 bits = 0;
  if (base.type->is_extern && v.type->is_scalar() && to_bits(*active, bits)) return from_bits(v.type, bits);
  if (base.type->is_extern)
    return fail(where, fmt::format("the bits of '{}' are not known as '{}' at comptime", active->type->name,
                                   v.type->name));
  return fail(where,
              fmt::format("variant '{}' of this union is not the active one, which is '{}'",
                          base.type->fields[size_t(&v - all.data())].name,
                          base.type->fields[size_t(active - all.begin())].name),
              "only extern and packed unions can be read as another variant");
}

// The comptime variable behind an assignment's target, or null when the target is in PE memory or a register.
// Indices are evaluated before the base is looked up: they may move the stack of locals.
Value* Evaluator::cell(const ast::Expr* e) {
  if (emitting()) return nullptr;
  if (const auto* id = ast::try_as<ast::Identifier>(e)) {
    if (Local* local = find_local(id->name)) {
      Value& v = local->cell();
      return v.runtime() ? nullptr : &v;
    }
    auto it = frame_->module->entries.find(id->name);
    if (it == frame_->module->entries.end() || !unit_.is_layout) return nullptr;
    return it->second.value.runtime() ? nullptr : &it->second.value;
  }
  if (const auto* n = ast::try_as<ast::Deref>(e)) {
    const Value p = eval(n->base);
    return p.is(ValueKind::pointer) && p.object ? static_cast<Value*>(p.object.get()) : nullptr;
  }
  const auto* n = ast::try_as<ast::Index>(e);
  const auto* f = ast::try_as<ast::Field>(e);
  if (!n && !f) return nullptr;
  std::vector<Value> indices;
  if (n && (!cell(n->base) || !eval_indices(*n, indices))) return nullptr;
  Value* base = cell(n ? n->base : f->base);
  if (base && base->is(ValueKind::pointer) && base->object) base = static_cast<Value*>(base->object.get());
  if (!base || (!base->is(ValueKind::aggregate) && !base->is(ValueKind::undefined))) return nullptr;
  if (base->is(ValueKind::undefined) && base->type->is_aggregate()) {  // every part is undefined
    Aggregate a;
    if (base->type->kind == TypeKind::array) {
      a.items.emplace_back(base->type->element, ValueKind::undefined);
      a.count = base->type->elements();
    } else {
      for (const Field& field : base->type->fields) a.items.emplace_back(field.type, ValueKind::undefined);
    }
    *base = Value::with(base->type, ValueKind::aggregate, std::move(a));
  }
  if (!base->is(ValueKind::aggregate)) return nullptr;
  if (f) {
    const Value* found = named_item(*base, f->name);
    if (!found) return nullptr;
    if (base->type->is_union && !base->type->is_extern &&
        !check_variant(*base, int(found - base->aggregate().items.data()), e->loc))
      return nullptr;
    const size_t index = size_t(found - base->aggregate().items.data());
    return &items(*base)[index];
  }
  if (base->type->kind != TypeKind::array || indices.size() != base->type->dims.size()) return nullptr;
  uint64_t linear = 0;
  for (size_t k = 0; k < indices.size(); ++k) {
    if (!indices[k].is(ValueKind::integer) || indices[k].i < 0 || indices[k].i >= base->type->dims[k])
      return nullptr;
    linear = linear * base->type->dims[k] + uint64_t(indices[k].i);
  }
  return &items(*base)[linear];
}

}  // namespace cs::csl
