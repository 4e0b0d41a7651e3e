// Operators whose result's shape depends on values: they are for constants, which import folds.
#include <algorithm>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "runtime/ops/rows.h"
#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

// ---- non_zero

int64_t count_non_zero(const Tensor& t) {
  int64_t n = 0;
  for (int64_t i = 0; i < t.elements(); ++i) n += t.get(i) != 0;
  return n;
}

bool shape_non_zero(const ShapeContext& c, std::vector<TensorType>& outputs, std::string&) {
  outputs = {{DataType::i64, {c.inputs[0]->rank(), count_non_zero(*c.value(0))}}};
  return true;
}

bool reference_non_zero(const ShapeContext&, std::span<const Tensor* const> inputs, std::span<Tensor> outputs,
                        std::string&) {
  const Tensor& x = *inputs[0];
  int64_t count = outputs[0].type.shape[1], found = 0;
  for (int64_t i = 0; i < x.elements(); ++i) {
    if (x.get(i) == 0) continue;
    int64_t rest = i;
    for (size_t d = x.type.shape.size(); d-- > 0; rest /= x.type.shape[d])
      outputs[0].set_int(int64_t(d) * count + found, rest % x.type.shape[d]);
    ++found;
  }
  return true;
}

// ---- compress: slices along an axis (or elements) where a constant condition holds

std::optional<int> compress_axis(const ShapeContext& c, std::string& error) {
  if (find_attr(c.attrs, "axis") == nullptr) return -1;
  return axis_of(c, "axis", error);
}

bool shape_compress(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<int> axis = compress_axis(c, error);
  if (!axis) return false;
  const TensorType &x = *c.inputs[0], &condition = *c.inputs[1];
  int64_t extent = *axis < 0 ? x.elements() : x.shape[size_t(*axis)];
  if (condition.rank() != 1 || condition.shape[0] > extent)
    return fail(error, fmt::format("the condition {} does not fit {}", type_text(condition), type_text(x)));
  Shape out = x.shape;
  if (*axis < 0) out = {0};
  out[size_t(std::max(0, *axis))] = count_non_zero(*c.value(1));
  outputs = {{x.dtype, std::move(out)}};
  return true;
}

bool loops_compress(const ShapeContext& c, std::span<const TensorType> outputs, LoopProgram& p,
                    std::string& error) {
  std::optional<int> axis = compress_axis(c, error);
  if (!axis) return false;
  LoopBuilder b(p, c.inputs, outputs);
  LoopView x = b.operand(0), y = b.result();
  if (*axis < 0) x = x.with_shape({c.inputs[0]->elements()});
  int d = std::max(0, *axis);
  const Tensor& condition = *c.value(1);
  // Runs of neighbours are copied together.
  int64_t at = 0;
  for (int64_t first = 0; first < condition.elements(); ++first) {
    if (condition.get(first) == 0) continue;
    int64_t end = first;
    while (end < condition.elements() && condition.get(end) != 0) ++end;
    b.copy(y.sliced(d, at, end - first), x.sliced(d, first, end - first));
    at += end - first;
    first = end;
  }
  return true;
}

// ---- unique: different slices along an axis, or different elements

struct Unique {
  int axis = -1;
  int64_t slices = 0, outer = 1, inner = 1;  // x as [outer, slices, inner]
  std::vector<int64_t> first, inverse, count;
};

std::optional<Unique> find_unique(const ShapeContext& c, std::string& error) {
  const Tensor& x = *c.value(0);
  Unique u;
  u.slices = x.elements();
  if (find_attr(c.attrs, "axis") != nullptr) {
    std::optional<int> axis = axis_of(c, "axis", error);
    if (!axis) return std::nullopt;
    u.axis = *axis;
    u.slices = x.type.shape[size_t(*axis)];
    for (int d = 0; d < x.type.rank(); ++d)
      (d < *axis ? u.outer : u.inner) *= d == *axis ? 1 : x.type.shape[size_t(d)];
  }
  std::map<std::vector<double>, int64_t> seen;  // slice -> its number in order of appearance
  for (int64_t s = 0; s < u.slices; ++s) {
    std::vector<double> slice;
    for (int64_t o = 0; o < u.outer; ++o) {
      for (int64_t i = 0; i < u.inner; ++i) slice.push_back(x.get((o * u.slices + s) * u.inner + i));
    }
    auto [it, is_new] = seen.emplace(std::move(slice), int64_t(u.first.size()));
    if (is_new) {
      u.first.push_back(s);
      u.count.push_back(0);
    }
    u.inverse.push_back(it->second);
    ++u.count[size_t(it->second)];
  }
  if (attr_int(c.op, c.attrs, "sorted") == 0) return u;
  std::vector<int64_t> rank(u.first.size()), first, count;
  for (const auto& [slice, number] : seen) {
    rank[size_t(number)] = int64_t(first.size());
    first.push_back(u.first[size_t(number)]);
    count.push_back(u.count[size_t(number)]);
  }
  for (int64_t& i : u.inverse) i = rank[size_t(i)];
  u.first = first;
  u.count = count;
  return u;
}

bool shape_unique(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<Unique> u = find_unique(c, error);
  if (!u) return false;
  int64_t n = int64_t(u->first.size());
  Shape out = u->axis < 0 ? Shape{n} : c.inputs[0]->shape;
  if (u->axis >= 0) out[size_t(u->axis)] = n;
  outputs = {{c.inputs[0]->dtype, std::move(out)},
             {DataType::i64, {n}},
             {DataType::i64, {u->slices}},
             {DataType::i64, {n}}};
  return true;
}

bool reference_unique(const ShapeContext& c, std::span<const Tensor* const> inputs, std::span<Tensor> outputs,
                      std::string& error) {
  std::optional<Unique> u = find_unique(c, error);
  if (!u) return false;
  int64_t n = int64_t(u->first.size());
  for (int64_t s = 0; s < n; ++s) {
    for (int64_t o = 0; o < u->outer; ++o) {
      for (int64_t i = 0; i < u->inner; ++i)
        outputs[0].set((o * n + s) * u->inner + i,
                       inputs[0]->get((o * u->slices + u->first[size_t(s)]) * u->inner + i));
    }
    outputs[1].set_int(s, u->first[size_t(s)]);
    outputs[3].set_int(s, u->count[size_t(s)]);
  }
  for (int64_t s = 0; s < u->slices; ++s) outputs[2].set_int(s, u->inverse[size_t(s)]);
  return true;
}

}  // namespace

void add_data_dependent(Rows& t) {
  OpDef non_zero = by_loops(OpKind::source, "non_zero", {"NonZero"}, {"x"}, 0, {}, shape_non_zero, nullptr);
  non_zero.reference = reference_non_zero;
  non_zero.constant_operands = {0};
  t.push_back(noted(non_zero, "of constants only"));
  OpDef compress = by_loops(OpKind::movement, "compress", {"Compress"}, {"x", "condition"}, 0,
                            {integer("axis", 0)}, shape_compress, loops_compress);
  compress.constant_operands = {1};
  t.push_back(noted(compress, "without axis: elements; the condition must be constant"));
  OpDef unique = by_loops(OpKind::source, "unique", {"Unique"}, {"x"}, 0,
                          {integer("axis", 0), integer("sorted", 1)}, shape_unique, nullptr);
  unique.reference = reference_unique;
  unique.constant_operands = {0};
  unique.results = {"y", "indices", "inverse_indices", "counts"};
  unique.optional_results = 3;
  t.push_back(noted(unique, "of constants only; without axis: elements"));
}

}  // namespace cs::ops
