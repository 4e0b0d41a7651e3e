// Gathers: elements at places that another operand names while the program runs.
#include <fmt/format.h>

#include "runtime/ops/indices.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

bool integer_indices(const ShapeContext& c, size_t k, std::string& error) {
  const TensorType& t = *c.inputs[k];
  if (t.dtype == DataType::i64 || t.dtype == DataType::i32) return true;
  return fail(error,
              fmt::format("operand '{}' is {}; indices are i32 or i64", c.op.operands[k], type_text(t)));
}

bool indices_in_range(const ShapeContext& c, size_t k, int axis, int64_t extent, std::string& error,
                      int64_t column) {
  const Tensor* index = c.value(k);
  if (index == nullptr) return true;
  const int64_t step = column < 0 ? 1 : index->type.shape.back();
  for (int64_t i = std::max<int64_t>(0, column); i < index->elements(); i += step) {
    const int64_t v = index->get_int(i);
    if (v >= -extent && v < extent) continue;
    return fail(
        error, fmt::format("index {} (element {} of '{}') is out of range: axis {} of {} has extent {}", v, i,
                           c.op.operands[k], axis, type_text(*c.inputs[0]), extent));
  }
  return true;
}

LoopAccess at_index(LoopAccess a, int load, int64_t stride, int64_t extent) {
  a.index = load;
  a.index_stride = stride;
  a.index_extent = std::max<int64_t>(1, extent);
  return a;
}

LoopView flat_addresses(LoopBuilder& b, const LoopView& tuples, const Shape& shape) {
  LoopView last = tuples;
  int dim = int(tuples.shape.size()) - 1;
  int64_t count = tuples.shape.back(), stride = 1;
  for (int64_t extent : shape) stride *= extent;
  Shape outer(tuples.shape.begin(), tuples.shape.end() - 1);
  LoopView at = b.temporary("at", DataType::i32, outer);
  b.fill(at, 0);
  for (int64_t k = 0; k < count; ++k) {
    stride /= shape[size_t(k)];
    LoopView column = last.sliced(dim, k, 1);
    column.shape.pop_back();
    column.strides.pop_back();
    b.elementwise(at, {at, column},
                  fmt::format("x0 + {} * select(x1 < 0, x1 + {}, x1)", stride, shape[size_t(k)]));
  }
  return at;
}

namespace {

// ---- gather: whole slices along one axis

bool shape_gather(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis || !integer_indices(c, 1, error)) return false;
  const TensorType &x = *c.inputs[0], &index = *c.inputs[1];
  if (x.shape[size_t(*axis)] == 0 && index.elements() > 0)
    return fail(error, fmt::format("{} has nothing along axis {}", type_text(x), *axis));
  if (!indices_in_range(c, 1, *axis, x.shape[size_t(*axis)], error)) return false;
  Shape out(x.shape.begin(), x.shape.begin() + *axis);
  out.insert(out.end(), index.shape.begin(), index.shape.end());
  out.insert(out.end(), x.shape.begin() + *axis + 1, x.shape.end());
  outputs = {{x.dtype, std::move(out)}};
  return true;
}

bool loops_gather(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                  std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0), index = b.operand(1), y = b.result();
  std::vector<int> dims_x, dims_index;
  for (int d = 0; d < *axis; ++d) dims_x.push_back(d), dims_index.push_back(-1);
  for (int d = 0; d < int(index.shape.size()); ++d) dims_x.push_back(-1), dims_index.push_back(d);
  for (int d = *axis + 1; d < int(x.shape.size()); ++d) dims_x.push_back(d), dims_index.push_back(-1);
  LoopAccess from = at_index(x.access(dims_x), 0, x.strides[size_t(*axis)], x.shape[size_t(*axis)]);
  b.statement(y.shape, y.access(), {index.access(dims_index), from}, "x1");
  return true;
}

// ---- gather_elements: one index per element of the result

bool shape_gather_elements(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis || !integer_indices(c, 1, error)) return false;
  if (!indices_fit(c, *axis, error) ||
      !indices_in_range(c, 1, *axis, c.inputs[0]->shape[size_t(*axis)], error))
    return false;
  outputs = {{c.inputs[0]->dtype, c.inputs[1]->shape}};
  return true;
}

bool loops_gather_elements(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                           std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0), y = b.result();
  LoopAccess from = at_index(x.access(), 0, x.strides[size_t(*axis)], x.shape[size_t(*axis)]);
  from.strides[size_t(*axis)] = 0;
  b.statement(y.shape, y.access(), {b.operand(1).access(), from}, "x1");
  return true;
}

// ---- gather_nd: tuples of indices

bool shape_gather_nd(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const TensorType &x = *c.inputs[0], &index = *c.inputs[1];
  int64_t batch = attr_int(c.op, c.attrs, "batch_dims");
  if (!integer_indices(c, 1, error)) return false;
  int64_t width = index.shape.empty() ? 0 : index.shape.back();
  bool fits = batch >= 0 && batch < index.rank() && batch + width <= x.rank() && width >= 1;
  for (int64_t d = 0; fits && d < batch; ++d) fits = x.shape[size_t(d)] == index.shape[size_t(d)];
  if (!fits)
    return fail(error, fmt::format("indices {} with {} batch dimensions do not fit {}", type_text(index),
                                   batch, type_text(x)));
  for (int64_t k = 0; k < width; ++k) {
    const int64_t axis = batch + k;
    if (!indices_in_range(c, 1, int(axis), x.shape[size_t(axis)], error, k)) return false;
  }
  Shape out(index.shape.begin(), index.shape.end() - 1);
  out.insert(out.end(), x.shape.begin() + batch + width, x.shape.end());
  outputs = {{x.dtype, std::move(out)}};
  return true;
}

bool loops_gather_nd(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                     std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0), index = b.operand(1), y = b.result();
  int batch = int(attr_int(c.op, c.attrs, "batch_dims")), width = int(index.shape.back());
  Shape named(x.shape.begin() + batch, x.shape.begin() + batch + width);
  LoopView at = flat_addresses(b, index, named);
  int outer = int(at.shape.size());
  LoopAccess from = x.access(std::vector<int>{}), which = at.access();
  int64_t inner = 1, count = 1;
  for (int64_t extent : named) count *= extent;
  for (int d = batch + width; d < int(x.shape.size()); ++d) inner *= x.shape[size_t(d)];
  for (int d = 0; d < outer; ++d) from.strides.push_back(d < batch ? x.strides[size_t(d)] : 0);
  for (int d = batch + width; d < int(x.shape.size()); ++d) {
    from.strides.push_back(x.strides[size_t(d)]);
    which.strides.push_back(0);
  }
  b.statement(y.shape, y.access(), {which, at_index(from, 0, inner, count)}, "x1");
  return true;
}

}  // namespace

bool indices_fit(const ShapeContext& c, int axis, std::string& error) {
  const TensorType &x = *c.inputs[0], &index = *c.inputs[1];
  bool fits = x.rank() == index.rank();
  for (int d = 0; fits && d < x.rank(); ++d) fits = d == axis || index.shape[size_t(d)] <= x.shape[size_t(d)];
  return fits || fail(error, fmt::format("indices {} do not fit {} along axis {}", type_text(index),
                                         type_text(x), axis));
}

void add_indexed(Rows& t) {
  AttrDef axis = integer("axis", 0);
  t.push_back(by_loops(OpKind::movement, "gather", {"Gather"}, {"x", "indices"}, 0, {axis}, shape_gather,
                       loops_gather));
  t.push_back(by_loops(OpKind::movement, "gather_elements", {"GatherElements"}, {"x", "indices"}, 0, {axis},
                       shape_gather_elements, loops_gather_elements));
  t.push_back(by_loops(OpKind::movement, "gather_nd", {"GatherND"}, {"x", "indices"}, 0,
                       {integer("batch_dims", 0)}, shape_gather_nd, loops_gather_nd));
}

}  // namespace cs::ops
