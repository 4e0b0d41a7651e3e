// Searches along an axis: places of extremes, the k largest, one-hot codes; and running sums.
#include <fmt/format.h>

#include "runtime/ops/indices.h"
#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/steps.h"

namespace cs::ops {

namespace {

// The value of a loop counter along dimension d of a shape.
LoopAccess along(const Shape& shape, int d) {
  std::vector<int64_t> strides(shape.size(), 0);
  strides[size_t(d)] = 1;
  return counter(0, strides);
}

Shape with_extent(Shape shape, int axis, int64_t extent) {
  shape[size_t(axis)] = extent;
  return shape;
}

// ---- arg max, arg min

bool shape_arg(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis) return false;
  Shape out = with_extent(c.inputs[0]->shape, *axis, 1);
  if (c.inputs[0]->shape[size_t(*axis)] < 1)
    return fail(error, fmt::format("{} has nothing along axis {}", type_text(*c.inputs[0]), *axis));
  if (attr_int(c.op, c.attrs, "keepdims") == 0) out.erase(out.begin() + *axis);
  outputs = {{DataType::i64, std::move(out)}};
  return true;
}

// The extreme first, then the first (or last) place that holds it.
bool loops_arg(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
               std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0);
  Shape kept = with_extent(x.shape, *axis, 1);
  DataType dtype = c.inputs[0]->dtype;
  bool max = c.op.name == "arg_max", last = attr_int(c.op, c.attrs, "select_last_index") != 0;
  LoopView extreme = b.temporary("extreme", dtype, kept), y = b.result().with_shape(kept);
  LoopAccess wide = extreme.broadcast_to(x.shape).access(), out = y.broadcast_to(x.shape).access();
  b.fill(extreme, max ? lowest_of(dtype) : highest_of(dtype));
  b.statement(x.shape, wide, {x.access()}, "x0", max ? Combine::max : Combine::min);
  int64_t none = last ? -1 : x.shape[size_t(*axis)];
  b.fill(y, double(none));
  b.statement(x.shape, out, {x.access(), wide, along(x.shape, *axis)},
              fmt::format("select(x0 == x1, x2, {})", none), last ? Combine::max : Combine::min);
  return true;
}

bool steps_hardmax(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis) return false;
  Steps s(steps);
  const TensorType& x = *c.inputs[0];
  std::vector<double> places;
  for (int64_t k = 0; k < x.shape[size_t(*axis)]; ++k) places.push_back(double(k));
  Shape shape(size_t(x.rank() - *axis), 1);
  shape[0] = x.shape[size_t(*axis)];
  std::string place = s.constant(places, shape, DataType::i64);
  std::string largest = s.add("arg_max", {"x"}, {{"axis", int64_t(*axis)}});
  s.result("y", "cast", {s.add("equal", {place, largest})}, {{"to", std::string(data_type_name(x.dtype))}});
  return true;
}

// ---- top-k

bool shape_top_k(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis) return false;
  int64_t k = attr_int(c.op, c.attrs, "k"), extent = c.inputs[0]->shape[size_t(*axis)];
  if (k < 0 || k > extent)
    return fail(error, fmt::format("k is {}, axis {} of {} has {} elements", k, *axis,
                                   type_text(*c.inputs[0]), extent));
  Shape out = with_extent(c.inputs[0]->shape, *axis, k);
  outputs = {{c.inputs[0]->dtype, out}, {DataType::i64, out}};
  return true;
}

// k steps, each finds the extreme of what no earlier step took.
bool loops_top_k(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                 std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  int64_t k = attr_int(c.op, c.attrs, "k");
  if (!axis) return false;
  LoopBuilder b(p, c.inputs, outputs);
  if (k == 0) return true;
  LoopView x = b.operand(0);
  DataType dtype = c.inputs[0]->dtype;
  Shape kept = with_extent(x.shape, *axis, 1);
  LoopView taken = b.temporary("taken", DataType::boolean, x.shape), best = b.temporary("best", dtype, kept),
           place = b.temporary("place", DataType::i32, kept);
  bool max = attr_int(c.op, c.attrs, "largest") != 0;
  double worst = max ? lowest_of(dtype) : highest_of(dtype);
  int64_t none = x.shape[size_t(*axis)] - 1;
  LoopAccess wide = best.broadcast_to(x.shape).access(), at = place.broadcast_to(x.shape).access();
  b.fill(taken, 0);
  b.begin_block(k);
  b.fill(best, worst);
  b.statement(x.shape, wide, {x.access(), taken.access()}, fmt::format("select(x1, {}, x0)", worst),
              max ? Combine::max : Combine::min);
  b.fill(place, double(none));
  b.statement(x.shape, at, {x.access(), taken.access(), wide, along(x.shape, *axis)},
              fmt::format("select(x1, {0}, select(x0 == x2, x3, {0}))", none), Combine::min);
  LoopAccess mark = taken.access();
  mark.strides[size_t(*axis)] = 0;
  b.statement(kept, at_index(mark, 0, taken.strides[size_t(*axis)], none + 1), {place.access()}, "1");
  for (int r = 0; r < 2; ++r) {
    if (!b.has_result(r)) continue;
    LoopView y = b.result(r).sliced(*axis, 0, 1);
    LoopAccess out = y.access();
    out.step = b.result(r).strides[size_t(*axis)];
    b.statement(kept, out, {(r == 0 ? best : place).access()}, "x0");
  }
  return true;
}

// ---- one-hot codes

bool shape_one_hot(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  int64_t axis = attr_int(c.op, c.attrs, "axis"), depth = attr_int(c.op, c.attrs, "depth");
  std::optional<int> a = normal_axis(axis, c.inputs[0]->rank() + 1);
  if (!a || depth < 0 || c.inputs[1]->shape != Shape{2})
    return fail(error, fmt::format("depth {} along axis {} with values {} does not fit indices {}", depth,
                                   axis, type_text(*c.inputs[1]), type_text(*c.inputs[0])));
  Shape out = c.inputs[0]->shape;
  out.insert(out.begin() + *a, depth);
  outputs = {{c.inputs[1]->dtype, std::move(out)}};
  return true;
}

bool loops_one_hot(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  LoopView index = b.operand(0), y = b.result();
  int axis = *normal_axis(attr_int(c.op, c.attrs, "axis"), int(y.shape.size()));
  index.shape.insert(index.shape.begin() + axis, 1);
  index.strides.insert(index.strides.begin() + axis, 0);
  auto value = [&](int64_t k) {
    LoopView v = b.operand(1).sliced(0, k, 1);
    return v.broadcast_to(y.shape).access();
  };
  b.statement(y.shape, y.access(),
              {index.broadcast_to(y.shape).access(), along(y.shape, axis), value(0), value(1)},
              fmt::format("select(select(x0 < 0, x0 + {}, x0) == x1, x3, x2)", y.shape[size_t(axis)]));
  return true;
}

// ---- running sums

bool loops_cum_sum(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                   std::string& error) {
  std::optional<int> axis = axis_of(c, "axis", error);
  if (!axis) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0), y = b.result();
  int64_t n = x.shape[size_t(*axis)];
  if (n == 0) return true;
  if (attr_int(c.op, c.attrs, "reverse") != 0) {
    x = x.reversed(*axis);
    y = y.reversed(*axis);
  }
  bool exclusive = attr_int(c.op, c.attrs, "exclusive") != 0;
  if (exclusive) {
    b.fill(y.sliced(*axis, 0, 1), 0);
  } else {
    b.copy(y.sliced(*axis, 0, 1), x.sliced(*axis, 0, 1));
  }
  if (n < 2) return true;
  b.begin_block(n - 1);
  LoopAccess to = y.sliced(*axis, 1, 1).access(), before = y.sliced(*axis, 0, 1).access(),
             add = x.sliced(*axis, exclusive ? 0 : 1, 1).access();
  to.step = before.step = y.strides[size_t(*axis)];
  add.step = x.strides[size_t(*axis)];
  b.statement(with_extent(y.shape, *axis, 1), to, {before, add}, "x0 + x1");
  return true;
}

}  // namespace

void add_searches(Rows& t) {
  AttrDefs arg = {integer("axis", 0), integer("keepdims", 1), integer("select_last_index", 0)};
  t.push_back(by_loops(OpKind::loops, "arg_max", {"ArgMax"}, {"x"}, 0, arg, shape_arg, loops_arg));
  t.push_back(by_loops(OpKind::loops, "arg_min", {"ArgMin"}, {"x"}, 0, arg, shape_arg, loops_arg));
  t.push_back(
      noted(by_steps("hardmax", {"Hardmax"}, {"x"}, 0, {integer("axis", -1)}, shape_same, steps_hardmax),
            "before opset 13 the input counts as two-dimensional, split at axis"));
  OpDef top = by_loops(
      OpKind::loops, "top_k", {"TopK"}, {"x"}, 0,
      {{"k", kInt, int64_t(0), true}, integer("axis", -1), integer("largest", 1), integer("sorted", 1)},
      shape_top_k, loops_top_k);
  top.onnx_inputs = {{1, "k"}};
  top.results = {"y", "indices"};
  top.optional_results = 1;
  t.push_back(top);
  OpDef one_hot =
      by_loops(OpKind::loops, "one_hot", {"OneHot"}, {"indices", "values"}, 0,
               {{"depth", kInt, int64_t(0), true}, integer("axis", -1)}, shape_one_hot, loops_one_hot);
  one_hot.onnx_inputs = {{1, "depth"}};
  t.push_back(one_hot);
  OpDef sum = by_loops(OpKind::loops, "cum_sum", {"CumSum"}, {"x"}, 0,
                       {{"axis", kInt, int64_t(0), true}, integer("exclusive", 0), integer("reverse", 0)},
                       shape_same, loops_cum_sum);
  sum.onnx_inputs = {{1, "axis"}};
  t.push_back(sum);
}

}  // namespace cs::ops
