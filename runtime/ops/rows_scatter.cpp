// Scatters: a copy of the operand, in which places that another operand names take new values.
#include <map>

#include <fmt/format.h>

#include "runtime/ops/indices.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

std::optional<Combine> reduction_of(const ShapeContext& c, std::string& error) {
  static const std::map<std::string, Combine> kNames = {{"none", Combine::assign},
                                                        {"add", Combine::add},
                                                        {"mul", Combine::multiply},
                                                        {"max", Combine::max},
                                                        {"min", Combine::min}};
  std::string name = attr_text(c.op, c.attrs, "reduction");
  auto it = kNames.find(name);
  if (it != kNames.end()) return it->second;
  error = fmt::format("reduction '{}' is none of none, add, mul, max, min", name);
  return std::nullopt;
}

bool shape_scatter_elements(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis || !reduction_of(c, error) || !integer_indices(c, 1, error) || !indices_fit(c, *axis, error) ||
      !indices_in_range(c, 1, *axis, c.inputs[0]->shape[size_t(*axis)], error))
    return false;
  const TensorType &x = *c.inputs[0], &updates = *c.inputs[2];
  if (updates.shape != c.inputs[1]->shape || updates.dtype != x.dtype)
    return fail(error, fmt::format("updates {} do not fit indices {} and {}", type_text(updates),
                                   type_text(*c.inputs[1]), type_text(x)));
  outputs = {x};
  return true;
}

bool loops_scatter_elements(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                            std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  std::optional<Combine> combine = reduction_of(c, error);
  if (!axis || !combine) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView y = b.result(), index = b.operand(1);
  b.copy(y, b.operand(0));
  LoopAccess to = at_index(y.access(), 0, y.strides[size_t(*axis)], y.shape[size_t(*axis)]);
  to.strides[size_t(*axis)] = 0;
  b.statement(index.shape, to, {index.access(), b.operand(2).access()}, "x1", *combine);
  return true;
}

bool shape_scatter_nd(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const TensorType &x = *c.inputs[0], &index = *c.inputs[1], &updates = *c.inputs[2];
  if (!reduction_of(c, error) || !integer_indices(c, 1, error)) return false;
  int64_t width = index.shape.empty() ? 0 : index.shape.back();
  Shape want;
  if (width >= 1 && width <= x.rank()) {
    want.assign(index.shape.begin(), index.shape.end() - 1);
    want.insert(want.end(), x.shape.begin() + width, x.shape.end());
  }
  if (width < 1 || width > x.rank() || updates.shape != want || updates.dtype != x.dtype)
    return fail(error, fmt::format("indices {} and updates {} do not fit {}", type_text(index),
                                   type_text(updates), type_text(x)));
  for (int64_t k = 0; k < width; ++k) {
    if (!indices_in_range(c, 1, int(k), x.shape[size_t(k)], error, k)) return false;
  }
  outputs = {x};
  return true;
}

bool loops_scatter_nd(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                      std::string& error) {
  std::optional<Combine> combine = reduction_of(c, error);
  if (!combine) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView y = b.result(), index = b.operand(1), updates = b.operand(2);
  b.copy(y, b.operand(0));
  size_t width = size_t(index.shape.back());
  Shape named(y.shape.begin(), y.shape.begin() + int64_t(width));
  LoopView at = flat_addresses(b, index, named);
  LoopAccess which = at.access(), to = y.access(std::vector<int>{});
  to.strides.assign(at.shape.size(), 0);
  int64_t inner = 1, count = 1;
  for (int64_t extent : named) count *= extent;
  for (size_t d = width; d < y.shape.size(); ++d) {
    inner *= y.shape[d];
    to.strides.push_back(y.strides[d]);
    which.strides.push_back(0);
  }
  b.statement(updates.shape, at_index(to, 0, inner, count), {which, updates.access()}, "x1", *combine);
  return true;
}

}  // namespace

void add_scatters(Rows& t) {
  AttrDef reduction = text("reduction", "none");
  t.push_back(by_loops(OpKind::movement, "scatter_elements", {"ScatterElements", "Scatter"},
                       {"x", "indices", "updates"}, 0, {integer("axis", 0), reduction},
                       shape_scatter_elements, loops_scatter_elements));
  t.push_back(by_loops(OpKind::movement, "scatter_nd", {"ScatterND"}, {"x", "indices", "updates"}, 0,
                       {reduction}, shape_scatter_nd, loops_scatter_nd));
}

}  // namespace cs::ops
