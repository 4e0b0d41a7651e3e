// Pools: the largest, mean or norm of every window, of whole images, and the way back.
#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"
#include "runtime/ops/steps.h"
#include "runtime/ops/windows.h"

namespace cs::ops {

namespace {

std::optional<Window> pool_window(const ShapeContext& c, std::string& error) {
  return window_of(c, attr_ints(c.op, c.attrs, "kernel_shape"), error);
}

bool shape_pool(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<Window> window = pool_window(c, error);
  if (!window) return false;
  Shape out(c.inputs[0]->shape.begin(), c.inputs[0]->shape.begin() + 2);
  for (const WindowAxis& a : *window) out.push_back(a.out);
  outputs = {{c.inputs[0]->dtype, out}};
  if (c.op.results.size() > 1) outputs.push_back({DataType::i64, out});
  return true;
}

// y as if every element of the windows were one of its axes: the axes of windows repeat it.
LoopView repeated(LoopView y, const Window& window) {
  for (const WindowAxis& a : window) {
    y.shape.push_back(a.kernel);
    y.strides.push_back(0);
  }
  return y;
}

// Where the elements of x lie in memory, as the loop counters of its windows give it.
LoopAccess position(const LoopView& x, const Window& window, bool column_major) {
  LoopView index = x;
  if (column_major) {
    int64_t step = 1;
    for (size_t d = 2; d < index.shape.size(); ++d) {
      index.strides[d] = step;
      step *= index.shape[d];
    }
  }
  int64_t offset = 0;
  for (size_t d = 0; d < window.size(); ++d) offset -= window[d].begin * index.strides[d + 2];
  return counter(offset, with_windows(index, window).strides);
}

bool loops_max_pool(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                    std::string& error) {
  std::optional<Window> window = pool_window(c, error);
  if (!window) return false;
  LoopBuilder b(p, c.inputs, outputs);
  double lowest = lowest_of(outputs[0].dtype);
  LoopView y = b.result(), x = with_windows(padded(b, b.operand(0), *window, lowest), *window);
  b.fill(y, lowest);
  b.statement(x.shape, repeated(y, *window).access(), {x.access()}, "x0", Combine::max);
  if (!b.has_result(1)) return true;
  // The first element that has the largest value.
  b.fill(b.result(1), highest_of(DataType::i32));
  LoopAccess at = position(b.operand(0), *window, attr_int(c.op, c.attrs, "storage_order") != 0);
  b.statement(x.shape, repeated(b.result(1), *window).access(),
              {x.access(), repeated(y, *window).access(), at}, "select(x0 == x1, x2, 2147483647)",
              Combine::min);
  return true;
}

// ---- where the gradients of windows go

bool shape_max_pool_gradient(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::vector<TensorType> pooled;
  if (!shape_pool(c, pooled, error)) return false;
  outputs = {*c.inputs[0]};
  return *c.inputs[1] == pooled[0] || fail(error, fmt::format("'dy' is {}, the pool gives {}",
                                                              type_text(*c.inputs[1]), type_text(pooled[0])));
}

// One element of every window.
LoopView element_of(LoopView windows, const Window& window, int64_t number) {
  for (size_t d = window.size(); d-- > 0; number /= window[d].kernel) {
    windows.offset += number % window[d].kernel * windows.strides.back();
    windows.shape.pop_back();
    windows.strides.pop_back();
  }
  return windows;
}

// The first of the largest elements takes dy: one element of all windows after the other, those that have
// given theirs away being 0 in `left`.
void give_in_turn(LoopBuilder& b, const Window& window, const LoopView& x, const LoopView& y,
                  const LoopView& dx, int64_t elements) {
  const LoopView left = b.temporary("left", DataType::f32, y.shape),
                 taken = b.temporary("taken", DataType::f32, y.shape);
  b.copy(left, b.operand(1));
  for (int64_t k = 0; k < elements; ++k) {
    const LoopView here = element_of(dx, window, k);
    b.elementwise(taken, {element_of(x, window, k), y, left}, "select(x0 == x1, x2, 0)");
    b.statement(here.shape, here.access(), {taken.access()}, "x0", Combine::add);
    if (k + 1 < elements) b.elementwise(left, {left, taken}, "x0 - x1");
  }
}

// The same where windows have many elements: the place of the first one is found, then compared with all.
void give_by_place(LoopBuilder& b, const Window& window, const LoopView& x, const LoopView& y,
                   const LoopView& dx) {
  LoopView within = x;
  int64_t step = 1;
  for (size_t d = x.shape.size(); d-- > 0;) {
    within.strides[d] = d + window.size() < x.shape.size() ? 0 : step;
    step *= within.strides[d] == 0 ? 1 : x.shape[d];
  }
  const LoopAccess at = counter(0, within.strides);
  const LoopView place = b.temporary("place", DataType::i32, y.shape);
  b.fill(place, highest_of(DataType::i32));
  b.statement(x.shape, repeated(place, window).access(), {x.access(), repeated(y, window).access(), at},
              "select(x0 == x1, x2, 2147483647)", Combine::min);
  b.statement(x.shape, dx.access(),
              {repeated(b.operand(1), window).access(), repeated(place, window).access(), at},
              "select(x1 == x2, x0, 0)", Combine::add);
}

bool loops_max_pool_gradient(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                             std::string& error) {
  constexpr int64_t kMostInTurn = 16;  // elements of a window, each of which is some code
  std::optional<Window> window = pool_window(c, error);
  if (!window) return false;
  LoopBuilder b(p, c.inputs, outputs);
  const double lowest = lowest_of(outputs[0].dtype);
  const LoopView x = with_windows(padded(b, b.operand(0), *window, lowest), *window);
  const LoopView y = b.temporary("largest", outputs[0].dtype, c.inputs[1]->shape);
  b.fill(y, lowest);
  b.statement(x.shape, repeated(y, *window).access(), {x.access()}, "x0", Combine::max);
  Shape wide(outputs[0].shape.begin(), outputs[0].shape.begin() + 2);
  int64_t elements = 1;
  for (const WindowAxis& a : *window) {
    wide.push_back(std::max(a.need(), a.begin + a.in));
    elements *= a.kernel;
  }
  const LoopView all = b.temporary("all", DataType::f32, wide), dx = with_windows(all, *window);
  b.fill(all, 0);
  if (elements <= kMostInTurn)
    give_in_turn(b, *window, x, y, dx, elements);
  else
    give_by_place(b, *window, x, y, dx);
  LoopView inside = all;
  for (size_t d = 0; d < window->size(); ++d)
    inside = inside.sliced(int(d) + 2, (*window)[d].begin, (*window)[d].in);
  b.copy(b.result(), inside);
  return true;
}

bool loops_average_pool(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                        std::string& error) {
  std::optional<Window> window = pool_window(c, error);
  if (!window) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView y = b.result(), from = padded(b, b.operand(0), *window, 0), x = with_windows(from, *window);
  b.fill(y, 0);
  b.statement(x.shape, repeated(y, *window).access(), {x.access()}, "x0", Combine::add);
  bool pads_count = attr_int(c.op, c.attrs, "count_include_pad") != 0;
  int64_t elements = 1;
  bool partial = false;
  Shape wide{1, 1}, counts{1, 1};
  for (const WindowAxis& a : *window) {
    elements *= a.kernel;
    // Does every window lie inside of what counts?
    int64_t behind = a.need() - a.begin - a.in;
    partial = partial || behind > (pads_count ? a.end : 0) || (!pads_count && a.begin > 0);
    wide.push_back(a.need());
    counts.push_back(a.out);
  }
  if (!partial) {
    b.elementwise(y, {y}, fmt::format("x0 * {}", 1.0 / double(elements)));
    return true;
  }
  // How many elements of every window count: the same windows over ones.
  LoopView ones = b.temporary("ones", DataType::f32, wide), inside = ones;
  LoopView count = b.temporary("count", DataType::f32, counts);
  for (size_t d = 0; d < window->size(); ++d) {
    const WindowAxis& a = (*window)[d];
    int64_t first = pads_count ? 0 : a.begin, end = a.begin + a.in + (pads_count ? a.end : 0);
    inside = inside.sliced(int(d) + 2, first, std::min(end, a.need()) - first);
  }
  b.fill(ones, 0);
  b.fill(inside, 1);
  b.fill(count, 0);
  LoopView each = with_windows(ones, *window);
  b.statement(each.shape, repeated(count, *window).access(), {each.access()}, "x0", Combine::add);
  b.elementwise(y, {y, count}, "x0 / x1");
  return true;
}

bool loops_lp_pool(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                   std::string& error) {
  std::optional<Window> window = pool_window(c, error);
  if (!window) return false;
  LoopBuilder b(p, c.inputs, outputs);
  int64_t power = attr_int(c.op, c.attrs, "p");
  LoopView y = b.result(), x = with_windows(padded(b, b.operand(0), *window, 0), *window);
  b.fill(y, 0);
  std::string value = power == 1   ? "abs(x0)"
                      : power == 2 ? "x0 * x0"
                                   : fmt::format("pow(abs(x0), {})", power);
  b.statement(x.shape, repeated(y, *window).access(), {x.access()}, value, Combine::add);
  if (power != 1)
    b.elementwise(y, {y}, power == 2 ? "sqrt(x0)" : fmt::format("pow(x0, {})", 1.0 / double(power)));
  return true;
}

// ---- whole images

bool shape_global(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (c.inputs[0]->rank() < 3)
    return fail(error,
                fmt::format("{} has no dimensions behind samples and channels", type_text(*c.inputs[0])));
  TensorType y = *c.inputs[0];
  for (size_t d = 2; d < y.shape.size(); ++d) y.shape[d] = 1;
  outputs = {std::move(y)};
  return true;
}

bool steps_global(const ShapeContext& c, std::vector<DecompositionStep>& steps, std::string&) {
  Steps s(steps);
  std::vector<int64_t> axes;
  for (int d = 2; d < c.inputs[0]->rank(); ++d) axes.push_back(d);
  if (c.op.name != "global_lp_pool") {
    s.result("y", c.op.name == "global_max_pool" ? "reduce_max" : "reduce_mean", {"x"}, {{"axes", axes}});
    return true;
  }
  std::string power = s.constant(double(attr_int(c.op, c.attrs, "p")), c.inputs[0]->dtype);
  std::string each = s.add("pow", {s.add("abs", {"x"}), power});
  s.result("y", "pow", {s.add("reduce_sum", {each}, {{"axes", axes}}), s.add("reciprocal", {power})});
  return true;
}

// ---- the way back

// The result as far as the attributes say; `output_shape` may be larger.
std::optional<Shape> unpooled_shape(const ShapeContext& c, std::string& error) {
  const Shape& x = c.inputs[0]->shape;
  size_t n = x.size() < 3 ? 0 : x.size() - 2;
  std::vector<int64_t> kernel = attr_ints(c.op, c.attrs, "kernel_shape");
  auto strides = per_axis(c, "strides", n, 1, error), pads = per_axis(c, "pads", 2 * n, 0, error);
  if (!strides || !pads) return std::nullopt;
  if (kernel.size() != n || c.inputs[1]->shape != x) {
    error = fmt::format("kernel {} and indices {} do not fit {}", dims_text(kernel), type_text(*c.inputs[1]),
                        type_text(*c.inputs[0]));
    return std::nullopt;
  }
  Shape y = x;
  for (size_t d = 0; d < n; ++d)
    y[d + 2] = (x[d + 2] - 1) * (*strides)[d] + kernel[d] - (*pads)[d] - (*pads)[d + n];
  return y;
}

bool shape_max_unpool(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<Shape> least = unpooled_shape(c, error);
  if (!least) return false;
  Shape shape = attr_ints(c.op, c.attrs, "output_shape");
  bool fits = shape.empty() || shape.size() == least->size();
  for (size_t d = 0; fits && d < shape.size(); ++d) fits = shape[d] >= (*least)[d];
  if (!fits)
    return fail(error,
                fmt::format("output_shape {} is smaller than {}", dims_text(shape), dims_text(*least)));
  outputs = {{c.inputs[0]->dtype, shape.empty() ? *least : shape}};
  return true;
}

// An index counts the elements of the shape without output_shape.
bool loops_max_unpool(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                      std::string& error) {
  std::optional<Shape> least = unpooled_shape(c, error);
  if (!least) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView at = b.temporary("at", DataType::i32, c.inputs[0]->shape), index = b.operand(1);
  // Digits of the index in one shape, put together in the other; the last ones first.
  b.fill(at, 0);
  int64_t from = 1, to = 1;
  for (size_t d = least->size(); d-- > 0;) {
    b.elementwise(at, {at, index},
                  fmt::format("x0 + (floor(x1 / {}) - floor(x1 / {}) * {}) * {}", from, from * (*least)[d],
                              (*least)[d], to));
    from *= (*least)[d];
    to *= outputs[0].shape[d];
  }
  b.fill(b.result(), 0);
  LoopAccess out = b.result().access();
  out.strides.assign(at.shape.size(), 0);
  out.index = 0;
  out.index_stride = 1;
  out.index_extent = outputs[0].elements();
  b.statement(at.shape, out, {at.access(), b.operand(0).access()}, "x1");
  return true;
}

}  // namespace

void add_pools(Rows& t) {
  AttrDefs attrs = window_attrs();
  attrs.push_back(integers("kernel_shape", true));
  attrs.push_back(integer("ceil_mode", 0));
  AttrDefs of_max = attrs, of_mean = attrs, of_norm = attrs;
  of_max.push_back(integer("storage_order", 0));
  of_mean.push_back(integer("count_include_pad", 0));
  of_norm.push_back(integer("p", 2));
  OpDef max = by_loops(OpKind::loops, "max_pool", {"MaxPool"}, {"x"}, 0, of_max, shape_pool, loops_max_pool);
  OpDef back = by_loops(OpKind::loops, "max_pool_gradient", {}, {"x", "dy"}, 0, of_max,
                        shape_max_pool_gradient, loops_max_pool_gradient);
  t.push_back(noted(back, "dy of each window for the first of its largest elements"));
  max.results = {"y", "indices"};
  max.optional_results = 1;
  t.push_back(max);
  t.push_back(by_loops(OpKind::loops, "average_pool", {"AveragePool"}, {"x"}, 0, of_mean, shape_pool,
                       loops_average_pool));
  t.push_back(by_loops(OpKind::loops, "lp_pool", {"LpPool"}, {"x"}, 0, of_norm, shape_pool, loops_lp_pool));
  t.push_back(
      by_steps("global_average_pool", {"GlobalAveragePool"}, {"x"}, 0, {}, shape_global, steps_global));
  t.push_back(by_steps("global_max_pool", {"GlobalMaxPool"}, {"x"}, 0, {}, shape_global, steps_global));
  t.push_back(
      by_steps("global_lp_pool", {"GlobalLpPool"}, {"x"}, 0, {integer("p", 2)}, shape_global, steps_global));
  OpDef unpool = by_loops(
      OpKind::loops, "max_unpool", {"MaxUnpool"}, {"x", "indices"}, 0,
      {integers("kernel_shape", true), integers("strides"), integers("pads"), integers("output_shape")},
      shape_max_unpool, loops_max_unpool);
  unpool.onnx_inputs = {{2, "output_shape"}};
  t.push_back(unpool);
}

}  // namespace cs::ops
