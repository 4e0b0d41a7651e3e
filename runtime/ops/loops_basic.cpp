// Loop rules of products, reductions and movements.
#include <algorithm>

#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

// y[..., i, j] = Σ k a[..., i, k] b[..., k, j] over views of equal rank ≥ 2; batch dimensions broadcast.
void product(LoopBuilder& b, const LoopView& y, LoopView x, LoopView w, std::string_view value) {
  size_t rank = y.shape.size();
  int64_t k = x.shape[rank - 1];
  Shape extents = y.shape;
  extents.push_back(k);
  auto batch = [&](LoopView v) {
    Shape to(y.shape.begin(), y.shape.end() - 2);
    to.insert(to.end(), v.shape.end() - 2, v.shape.end());
    return v.broadcast_to(to);
  };
  x = batch(x);
  w = batch(w);
  std::vector<int> dims_y, dims_x, dims_w;
  for (size_t d = 0; d + 2 < rank; ++d) {
    for (std::vector<int>* dims : {&dims_y, &dims_x, &dims_w}) dims->push_back(int(d));
  }
  int i = int(rank) - 2, j = int(rank) - 1;
  dims_y.insert(dims_y.end(), {i, j, -1});
  dims_x.insert(dims_x.end(), {i, -1, j});
  dims_w.insert(dims_w.end(), {-1, j, i});
  b.fill(y, 0);
  b.statement(extents, y.access(dims_y), {x.access(dims_x), w.access(dims_w)}, value, Combine::add);
}

LoopView with_leading(LoopView v, size_t rank) {
  while (v.shape.size() < rank) {
    v.shape.insert(v.shape.begin(), 1);
    v.strides.insert(v.strides.begin(), 0);
  }
  return v;
}

}  // namespace

bool loops_gemm(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0), w = b.operand(1), y = b.result();
  const int swap[] = {1, 0};
  if (attr_int(c.op, c.attrs, "trans_a") != 0) x = x.permuted(swap);
  if (attr_int(c.op, c.attrs, "trans_b") != 0) w = w.permuted(swap);
  double alpha = attr_real(c.op, c.attrs, "alpha"), beta = attr_real(c.op, c.attrs, "beta");
  product(b, y, x, w, "x0 * x1");
  if (!b.has_operand(2) && alpha == 1) return true;
  Expr value;
  int scaled = value.make(ExprKind::mul, value.constant(alpha), value.input(0));
  value.root = scaled;
  std::vector<LoopAccess> loads = {y.access()};
  if (b.has_operand(2)) {
    loads.push_back(b.operand(2).broadcast_to(y.shape).access());
    value.root =
        value.make(ExprKind::add, scaled, value.make(ExprKind::mul, value.constant(beta), value.input(1)));
  }
  b.statement(y.shape, y.access(), loads, value);
  return true;
}

bool loops_matmul(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0), w = b.operand(1), y = b.result();
  Shape shape = y.shape;
  if (x.shape.size() == 1) {
    x = x.with_shape({1, x.shape[0]});
    shape.insert(shape.end() - (w.shape.size() > 1 ? 1 : 0), 1);
  }
  if (w.shape.size() == 1) {
    w = w.with_shape({w.shape[0], 1});
    shape.push_back(1);
  }
  y = y.with_shape(shape);
  product(b, y, with_leading(x, shape.size()), with_leading(w, shape.size()), "x0 * x1");
  return true;
}

bool loops_reduce(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                  std::string& error) {
  std::optional<std::vector<bool>> reduced = reduced_axes(c, error);
  if (!reduced) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0);
  Shape kept = x.shape;
  int64_t count = 1;
  for (size_t d = 0; d < kept.size(); ++d) {
    if (!(*reduced)[d]) continue;
    count *= kept[d];
    kept[d] = 1;
  }
  LoopView y = b.result().with_shape(kept);
  bool max = c.op.name == "reduce_max", min = c.op.name == "reduce_min", product = c.op.name == "reduce_prod";
  bool is_float = data_type_is_float(outputs[0].dtype);
  b.fill(y, max ? lowest_of(outputs[0].dtype) : min ? highest_of(outputs[0].dtype) : product ? 1 : 0);
  b.statement(x.shape, y.broadcast_to(x.shape).access(), {x.access()}, "x0",
              max       ? Combine::max
              : min     ? Combine::min
              : product ? Combine::multiply
                        : Combine::add);
  if (c.op.name != "reduce_mean") return true;
  Expr mean;
  mean.root = is_float ? mean.make(ExprKind::mul, mean.input(0), mean.constant(1.0 / double(count)))
                       : mean.make(ExprKind::div, mean.input(0), mean.constant(double(count)));
  b.statement(y.shape, y.access(), {y.access()}, mean);
  return true;
}

bool loops_transpose(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                     std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  std::vector<int> dims;
  for (int64_t d : attr_ints(c.op, c.attrs, "perm")) dims.push_back(int(d));
  for (int d = c.inputs[0]->rank(); int(dims.size()) < c.inputs[0]->rank();) dims.push_back(--d);
  b.copy(b.result(), b.operand(0).permuted(dims));
  return true;
}

bool loops_concat(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  int axis = *normal_axis(attr_int(c.op, c.attrs, "axis"), outputs[0].rank());
  int64_t at = 0;
  for (size_t k = 0; k < c.inputs.size(); ++k) {
    int64_t extent = c.inputs[k]->shape[size_t(axis)];
    if (c.inputs[k]->elements() > 0) b.copy(b.result().sliced(axis, at, extent), b.operand(int(k)));
    at += extent;
  }
  return true;
}

bool loops_constant(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                    std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  const auto& values = std::get<std::vector<double>>(*find_attr(c.attrs, "value"));
  LoopView y = b.result().with_shape({int64_t(values.size())});
  // Runs of equal values are filled together.
  for (size_t first = 0; first < values.size();) {
    size_t end = first + 1;
    while (end < values.size() && values[end] == values[first]) ++end;
    b.fill(y.sliced(0, int64_t(first), int64_t(end - first)), values[first]);
    first = end;
  }
  return true;
}

bool loops_copy(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0);
  b.copy(b.result().with_shape(x.shape), x);
  return true;
}

}  // namespace cs::ops
