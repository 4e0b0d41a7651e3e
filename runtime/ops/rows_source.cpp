// Values that come from no operand's elements: constants, identity matrices, shapes, ranges.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

std::optional<DataType> dtype_of(const ShapeContext& c, std::string& error) {
  std::string name = attr_text(c.op, c.attrs, "dtype");
  if (name.empty()) return c.inputs[0]->dtype;
  std::optional<DataType> t = data_type_from_name(name);
  if (!t) error = fmt::format("'{}' is not an element type", name);
  return t;
}

bool shape_constant_of_shape(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<DataType> dtype = dtype_of(c, error);
  if (!dtype) return false;
  Shape shape = attr_ints(c.op, c.attrs, "shape");
  if (!checked_elements(shape)) return fail(error, fmt::format("shape {} is not valid", dims_text(shape)));
  outputs = {{*dtype, std::move(shape)}};
  return true;
}

bool loops_constant_of_shape(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                             std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  b.fill(b.result(), attr_real(c.op, c.attrs, "value"));
  return true;
}

bool shape_eye_like(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<DataType> dtype = dtype_of(c, error);
  if (!dtype) return false;
  if (c.inputs[0]->rank() != 2)
    return fail(error, fmt::format("{} is not a matrix", type_text(*c.inputs[0])));
  outputs = {{*dtype, c.inputs[0]->shape}};
  return true;
}

bool loops_eye_like(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                    std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  LoopView y = b.result();
  b.fill(y, 0);
  int64_t k = attr_int(c.op, c.attrs, "k"), rows = y.shape[0], columns = y.shape[1];
  int64_t row = std::max<int64_t>(0, -k), column = std::max<int64_t>(0, k);
  int64_t count = std::min(rows - row, columns - column);
  if (count <= 0) return true;
  LoopView diagonal{y.buffer, row * columns + column, {count}, {columns + 1}};
  b.fill(diagonal, 1);
  return true;
}

// shape: the extents from `start` to `end`; size: their product.
Shape asked_extents(const ShapeContext& c) {
  const Shape& s = c.inputs[0]->shape;
  if (c.op.name == "size") return {c.inputs[0]->elements()};
  int64_t rank = int64_t(s.size());
  auto place = [&](std::string_view attr) {
    int64_t v = attr_int(c.op, c.attrs, attr);
    return std::clamp<int64_t>(v < 0 ? v + rank : v, 0, rank);
  };
  int64_t start = place("start"), end = std::max(start, place("end"));
  return {s.begin() + start, s.begin() + end};
}

bool shape_shape(const ShapeContext& c, std::vector<TensorType>& outputs, std::string&) {
  Shape out;
  if (c.op.name == "shape") out = {int64_t(asked_extents(c).size())};
  outputs = {{DataType::i64, out}};
  return true;
}

bool loops_shape(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  Shape extents = asked_extents(c);
  LoopView y = b.result().with_shape({int64_t(extents.size())});
  for (size_t k = 0; k < extents.size(); ++k) b.fill(y.sliced(0, int64_t(k), 1), double(extents[k]));
  return true;
}

bool shape_range(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  for (size_t k = 0; k < 3; ++k) {
    if (c.inputs[k]->elements() != 1)
      return fail(error, fmt::format("operand '{}' must have one element", c.op.operands[k]));
  }
  if (!same_dtype(c, 0, error)) return false;
  double start = c.value(0)->get(0), limit = c.value(1)->get(0), delta = c.value(2)->get(0);
  double count = std::ceil((limit - start) / delta);
  if (delta == 0 || !std::isfinite(count) || count > 1e12)
    return fail(error, fmt::format("a range from {} to {} in steps of {}", start, limit, delta));
  outputs = {{c.inputs[0]->dtype, {std::max<int64_t>(0, int64_t(count))}}};
  return true;
}

bool loops_range(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p, std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  LoopView y = b.result();
  auto scalar = [&](int k) { return b.operand(k).with_shape({1}).broadcast_to(y.shape).access(); };
  b.statement(y.shape, y.access(), {scalar(0), scalar(2), counter(0, {1})}, "x0 + x1 * x2");
  return true;
}

// ---- which elements dropout keeps
//
// Whole numbers below kPrime are exact in f32 with all that is made of them here, so every backend keeps the
// same elements. Column and row of an element are the halves u and v of a Feistel network, whose rounds add
// the square of the other half, a constant of the seed and a digit of the step's number, modulo kPrime:
// elements of one step get different pairs (as long as there are at most kPrime rows and columns), steps and
// seeds other permutations of them. An element is kept if u * kPrime + v is at least ratio * kPrime^2.

constexpr int64_t kPrime = 1021;
constexpr int kRounds = 6;
constexpr const char* kModulo = "x0 - 1021 * floor((x0 + 0.5) * 0.0009794319294809011)";
constexpr const char* kDigit = "floor((x0 + 0.5) * 0.0009794319294809011)";

bool shape_dropout_mask(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const Shape shape = attr_ints(c.op, c.attrs, "shape");
  const double ratio = attr_real(c.op, c.attrs, "ratio");
  if (!(ratio >= 0 && ratio < 1))
    return fail(error, fmt::format("a ratio is at least 0 and below 1, got {}", ratio));
  const auto n = checked_elements(shape);
  const int64_t columns = shape.empty() ? 1 : std::max<int64_t>(1, shape.back());
  if (!n || columns > kPrime * kPrime || *n / columns > kPrime * kPrime)
    return fail(error, fmt::format("shape {}: at most {} rows of as many elements", dims_text(shape),
                                   kPrime * kPrime));
  for (size_t k = 0; k < c.inputs.size(); ++k)
    if (c.inputs[k] != nullptr && c.inputs[k]->elements() != 1)
      return fail(error, fmt::format("'{}' is one number", c.op.operands[k]));
  outputs = {{DataType::f32, shape}};
  return true;
}

int64_t constant_of_round(int64_t seed, int round) {  // splitmix64
  uint64_t z = uint64_t(seed) * 0x9E3779B97F4A7C15ull + uint64_t(round + 1) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return int64_t((z ^ (z >> 31)) % uint64_t(kPrime));
}

bool loops_dropout_mask(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                        std::string&) {
  LoopBuilder b(p, c.inputs, outputs);
  const LoopView y = b.result();
  const Shape& s = y.shape;
  if (y.shape.empty() || outputs[0].elements() == 0) return true;
  const auto number = [&](const char* name) { return b.temporary(name, DataType::f32, {1}); };
  const LoopView low = number("low"), rest = number("rest"), high = number("high");
  const LoopView step = b.operand(0).with_shape({1});
  b.elementwise(low, {step}, kModulo);
  b.elementwise(rest, {step}, kDigit);
  b.elementwise(high, {rest}, kModulo);
  std::vector<int64_t> column(s.size(), 0), row(s.size(), 0);
  column.back() = 1;
  int64_t rows = 1;
  for (size_t d = s.size() - 1; d-- > 0; rows *= s[d]) row[d] = rows;
  const LoopView u = b.temporary("left", DataType::f32, s), v = b.temporary("right", DataType::f32, s),
                 far = b.temporary("far", DataType::f32, s);
  b.statement(s, u.access(), {counter(0, column)}, kModulo);
  b.statement(s, v.access(), {counter(0, row)}, kModulo);
  b.statement(s, far.access(), {counter(0, column), counter(0, row)},
              "floor((x0 + 0.5) * 0.0009794319294809011) + 31 * floor((x1 + 0.5) * 0.0009794319294809011)");
  const int64_t seed = attr_int(c.op, c.attrs, "seed");
  const LoopView sum = b.temporary("sum", DataType::f32, s);
  for (int r = 0; r < kRounds; ++r) {
    const LoopView &to = r % 2 == 0 ? u : v, &from = r % 2 == 0 ? v : u;
    const LoopView& key = r % 3 == 0 ? low : r % 3 == 1 ? high : far;
    b.elementwise(sum, {to, from, key}, fmt::format("x0 + x1 * x1 + x2 + {}", constant_of_round(seed, r)));
    b.elementwise(to, {sum}, kModulo);
  }
  const double ratio = attr_real(c.op, c.attrs, "ratio");
  const auto least = int64_t(std::llround(ratio * double(kPrime * kPrime)));
  const std::string kept =
      fmt::format("select(x0 * {} + x1 >= {}, {:.17g}, 0)", kPrime, least, 1 / (1 - ratio));
  if (b.has_operand(1)) {
    b.elementwise(y, {u, v, b.operand(1).with_shape({1})}, "select(x2 != 0, " + kept + ", 1)");
  } else {
    b.elementwise(y, {u, v}, kept);
  }
  return true;
}

}  // namespace

void add_sources(Rows& t) {
  constexpr OpKind kSource = OpKind::source;
  OpDef filled = by_loops(kSource, "constant_of_shape", {"ConstantOfShape"}, {}, 0,
                          {integers("shape", true), real("value", 0), text("dtype", "f32")},
                          shape_constant_of_shape, loops_constant_of_shape);
  filled.onnx_inputs = {{0, "shape"}};
  t.push_back(filled);
  OpDef eye = by_loops(kSource, "eye_like", {"EyeLike"}, {"x"}, 0, {integer("k", 0), text("dtype", "")},
                       shape_eye_like, loops_eye_like);
  eye.types_only = true;
  t.push_back(eye);
  OpDef shape = by_loops(kSource, "shape", {"Shape"}, {"x"}, 0,
                         {integer("start", 0), integer("end", std::numeric_limits<int64_t>::max())},
                         shape_shape, loops_shape);
  shape.types_only = true;
  t.push_back(shape);
  OpDef size = by_loops(kSource, "size", {"Size"}, {"x"}, 0, {}, shape_shape, loops_shape);
  size.types_only = true;
  t.push_back(size);
  OpDef range =
      by_loops(kSource, "range", {"Range"}, {"start", "limit", "delta"}, 0, {}, shape_range, loops_range);
  range.constant_operands = {0, 1, 2};
  t.push_back(range);
  OpDef mask = by_loops(OpKind::loops, "dropout_mask", {}, {"step", "trains"}, 1,
                        {integers("shape", true), real("ratio", 0.5), integer("seed", 0)}, shape_dropout_mask,
                        loops_dropout_mask);
  mask.no_gradient = "a mask jumps with the number of the step";
  t.push_back(noted(mask, "0 where an element is dropped, else 1 / (1 - ratio); 1 where nothing is trained"));
}

}  // namespace cs::ops
