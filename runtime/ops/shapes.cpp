// Shape rules: types of the results from types of the operands and attributes. Messages carry the numbers.
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

std::string dims(const Shape& s) { return dims_text(s); }

bool broadcast_all(const ShapeContext& c, Shape& out, std::string& error) {
  out.clear();
  for (const TensorType* t : c.inputs) {
    if (t == nullptr) continue;
    std::optional<Shape> s = broadcast(out, t->shape);
    if (!s) return fail(error, fmt::format("shapes {} and {} do not broadcast", dims(out), dims(t->shape)));
    out = *s;
  }
  return true;
}

}  // namespace

std::string dims_text(const Shape& s) { return fmt::format("[{}]", fmt::join(s, ", ")); }

bool fail(std::string& error, std::string what) {
  error = std::move(what);
  return false;
}

bool same_dtype(const ShapeContext& c, size_t first, std::string& error) {
  for (size_t i = first + 1; i < c.inputs.size(); ++i) {
    if (c.inputs[i] == nullptr || c.inputs[first] == nullptr) continue;
    if (c.inputs[i]->dtype != c.inputs[first]->dtype) {
      return fail(error, fmt::format("operands have types {} and {}; they must be equal",
                                     type_text(*c.inputs[first]), type_text(*c.inputs[i])));
    }
  }
  return true;
}

std::optional<int> normal_axis(int64_t axis, int rank) {
  if (axis < -rank || axis >= rank) return std::nullopt;
  return int(axis < 0 ? axis + rank : axis);
}

std::optional<int> axis_of(const ShapeContext& c, std::string_view attr, std::string& error) {
  int64_t axis = attr_int(c.op, c.attrs, attr);
  std::optional<int> a = normal_axis(axis, c.inputs[0]->rank());
  if (!a) error = fmt::format("axis {} does not exist in {}", axis, type_text(*c.inputs[0]));
  return a;
}

std::vector<int64_t> all_axes(int rank) {
  std::vector<int64_t> axes;
  for (int d = 0; d < rank; ++d) axes.push_back(d);
  return axes;
}

double lowest_of(DataType t) {
  if (data_type_is_float(t)) return -std::numeric_limits<double>::infinity();
  if (t == DataType::boolean || t == DataType::u8 || t == DataType::u16 || t == DataType::u32 ||
      t == DataType::u64)
    return 0;
  return -std::ldexp(1.0, 8 * data_type_bytes(t) - 1);
}

double highest_of(DataType t) {
  if (data_type_is_float(t)) return std::numeric_limits<double>::infinity();
  if (t == DataType::boolean) return 1;
  if (lowest_of(t) == 0) return std::ldexp(1.0, 8 * data_type_bytes(t)) - 1;
  // The largest double that a 64-bit integer holds.
  return data_type_bytes(t) == 8 ? std::ldexp(1.0, 63) - 1024 : -lowest_of(t) - 1;
}

std::optional<std::vector<bool>> reduced_axes(const ShapeContext& c, std::string& error) {
  int rank = c.inputs[0]->rank();
  std::vector<int64_t> axes = attr_ints(c.op, c.attrs, "axes");
  bool none = axes.empty() && attr_int(c.op, c.attrs, "noop_with_empty_axes") != 0;
  std::vector<bool> reduced(size_t(rank), axes.empty() && !none);
  for (int64_t axis : axes) {
    std::optional<int> a = normal_axis(axis, rank);
    if (!a) {
      error = fmt::format("axis {} does not exist in {}", axis, type_text(*c.inputs[0]));
      return std::nullopt;
    }
    reduced[size_t(*a)] = true;
  }
  return reduced;
}

bool shape_elementwise(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  Shape s;
  if (!same_dtype(c, 0, error) || !broadcast_all(c, s, error)) return false;
  outputs = {{c.op.boolean_result ? DataType::boolean : c.inputs[0]->dtype, std::move(s)}};
  return true;
}

bool shape_where(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  Shape s;
  if (!same_dtype(c, 1, error) || !broadcast_all(c, s, error)) return false;
  outputs = {{c.inputs[1]->dtype, std::move(s)}};
  return true;
}

bool shape_pow(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  Shape s;
  if (!broadcast_all(c, s, error)) return false;
  outputs = {{c.inputs[0]->dtype, std::move(s)}};
  return true;
}

bool shape_cast(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::string to = attr_text(c.op, c.attrs, "to");
  std::optional<DataType> t = data_type_from_name(to);
  if (!t) return fail(error, fmt::format("'{}' is not an element type", to));
  outputs = {{*t, c.inputs[0]->shape}};
  return true;
}

bool shape_same(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  Attrs all = with_defaults(c.op, c.attrs);
  const AttrValue* axis = find_attr(all, "axis");
  if (axis != nullptr && !normal_axis(std::get<int64_t>(*axis), c.inputs[0]->rank())) {
    return fail(error, fmt::format("axis {} does not exist in {}", std::get<int64_t>(*axis),
                                   type_text(*c.inputs[0])));
  }
  outputs = {*c.inputs[0]};
  return true;
}

bool shape_gemm(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const TensorType &a = *c.inputs[0], &b = *c.inputs[1];
  if (!same_dtype(c, 0, error)) return false;
  if (a.rank() != 2 || b.rank() != 2) {
    return fail(error,
                fmt::format("operands must have 2 dimensions, got {} and {}", type_text(a), type_text(b)));
  }
  bool ta = attr_int(c.op, c.attrs, "trans_a") != 0, tb = attr_int(c.op, c.attrs, "trans_b") != 0;
  int64_t m = a.shape[ta], k = a.shape[!ta], kb = b.shape[tb], n = b.shape[!tb];
  if (k != kb) {
    return fail(error, fmt::format("inner dimensions differ: {} of {} and {} of {}", k, type_text(a), kb,
                                   type_text(b)));
  }
  Shape out{m, n};
  if (c.inputs.size() > 2 && c.inputs[2] != nullptr) {
    std::optional<Shape> s = broadcast(c.inputs[2]->shape, out);
    if (!s || *s != out) {
      return fail(error, fmt::format("the bias {} does not broadcast to the result {}",
                                     dims(c.inputs[2]->shape), dims(out)));
    }
  }
  outputs = {{a.dtype, std::move(out)}};
  return true;
}

bool shape_matmul(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const TensorType &a = *c.inputs[0], &b = *c.inputs[1];
  if (!same_dtype(c, 0, error)) return false;
  if (a.rank() < 1 || b.rank() < 1) return fail(error, "a scalar is not a matrix");
  Shape sa = a.shape, sb = b.shape;
  if (a.rank() == 1) sa.insert(sa.begin(), 1);
  if (b.rank() == 1) sb.push_back(1);
  int64_t ka = sa.back(), kb = sb[sb.size() - 2];
  if (ka != kb) {
    return fail(error, fmt::format("inner dimensions differ: {} of {} and {} of {}", ka, type_text(a), kb,
                                   type_text(b)));
  }
  std::optional<Shape> batch = broadcast(Shape(sa.begin(), sa.end() - 2), Shape(sb.begin(), sb.end() - 2));
  if (!batch)
    return fail(error,
                fmt::format("batch dimensions of {} and {} do not broadcast", type_text(a), type_text(b)));
  Shape out = *batch;
  if (a.rank() > 1) out.push_back(sa[sa.size() - 2]);
  if (b.rank() > 1) out.push_back(sb.back());
  outputs = {{a.dtype, std::move(out)}};
  return true;
}

bool shape_reduce(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  std::optional<std::vector<bool>> reduced = reduced_axes(c, error);
  if (!reduced) return false;
  bool keep = attr_int(c.op, c.attrs, "keepdims") != 0;
  Shape out;
  for (size_t i = 0; i < reduced->size(); ++i) {
    if (!(*reduced)[i]) {
      out.push_back(c.inputs[0]->shape[i]);
    } else if (keep) {
      out.push_back(1);
    }
  }
  outputs = {{c.inputs[0]->dtype, std::move(out)}};
  return true;
}

bool shape_reshape(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  Shape want = attr_ints(c.op, c.attrs, "shape");
  bool allow_zero = attr_int(c.op, c.attrs, "allowzero") != 0;
  const Shape& in = c.inputs[0]->shape;
  int free_dim = -1;
  for (size_t i = 0; i < want.size(); ++i) {
    if (want[i] == 0 && !allow_zero) {
      if (i >= in.size())
        return fail(
            error, fmt::format("dimension {} is copied from {}, which has none", i, type_text(*c.inputs[0])));
      want[i] = in[i];
    } else if (want[i] == -1 && free_dim < 0) {
      free_dim = int(i);
      want[i] = 1;
    } else if (want[i] < 0) {
      return fail(error, fmt::format("shape {} is not valid", dims(want)));
    }
  }
  std::optional<int64_t> n = checked_elements(want);
  int64_t have = c.inputs[0]->elements();
  if (n && free_dim >= 0 && *n > 0 && have % *n == 0) {
    want[size_t(free_dim)] = have / *n;
    n = have;
  }
  if (!n || *n != have) {
    return fail(error, fmt::format("{} has {} elements, shape {} needs {}", type_text(*c.inputs[0]), have,
                                   dims(attr_ints(c.op, c.attrs, "shape")), n ? *n : -1));
  }
  outputs = {{c.inputs[0]->dtype, std::move(want)}};
  return true;
}

bool shape_flatten(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const Shape& in = c.inputs[0]->shape;
  int64_t axis = attr_int(c.op, c.attrs, "axis");
  int rank = c.inputs[0]->rank();
  if (axis < -rank || axis > rank)
    return fail(error, fmt::format("axis {} does not exist in {}", axis, type_text(*c.inputs[0])));
  if (axis < 0) axis += rank;
  int64_t outer = 1, inner = 1;
  for (int i = 0; i < rank; ++i) (i < axis ? outer : inner) *= in[size_t(i)];
  outputs = {{c.inputs[0]->dtype, {outer, inner}}};
  return true;
}

bool shape_squeeze(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const TensorType& in = *c.inputs[0];
  std::vector<int64_t> axes = attr_ints(c.op, c.attrs, "axes");
  std::vector<bool> drop(in.shape.size(), false);
  for (size_t i = 0; i < drop.size() && axes.empty(); ++i) drop[i] = in.shape[i] == 1;
  for (int64_t axis : axes) {
    std::optional<int> a = normal_axis(axis, in.rank());
    if (!a || in.shape[size_t(*a)] != 1)
      return fail(error, fmt::format("axis {} of {} cannot be removed", axis, type_text(in)));
    drop[size_t(*a)] = true;
  }
  Shape out;
  for (size_t i = 0; i < drop.size(); ++i) {
    if (!drop[i]) out.push_back(in.shape[i]);
  }
  outputs = {{in.dtype, std::move(out)}};
  return true;
}

bool shape_unsqueeze(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const TensorType& in = *c.inputs[0];
  std::vector<int64_t> axes = attr_ints(c.op, c.attrs, "axes");
  int rank = in.rank() + int(axes.size());
  std::vector<bool> added(size_t(rank), false);
  for (int64_t axis : axes) {
    std::optional<int> a = normal_axis(axis, rank);
    if (!a || added[size_t(*a)])
      return fail(error, fmt::format("axis {} is not valid for a result of {} dimensions", axis, rank));
    added[size_t(*a)] = true;
  }
  Shape out;
  size_t next = 0;
  for (bool add : added) out.push_back(add ? 1 : in.shape[next++]);
  outputs = {{in.dtype, std::move(out)}};
  return true;
}

bool shape_transpose(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const TensorType& in = *c.inputs[0];
  std::vector<int64_t> perm = attr_ints(c.op, c.attrs, "perm");
  if (perm.empty()) {
    for (int i = in.rank(); i-- > 0;) perm.push_back(i);
  }
  std::vector<bool> seen(in.shape.size(), false);
  Shape out;
  for (int64_t p : perm) {
    if (p < 0 || p >= in.rank() || seen[size_t(p)]) break;
    seen[size_t(p)] = true;
    out.push_back(in.shape[size_t(p)]);
  }
  if (out.size() != perm.size() || perm.size() != in.shape.size()) {
    return fail(error, fmt::format("[{}] is not a permutation of the dimensions of {}", fmt::join(perm, ", "),
                                   type_text(in)));
  }
  outputs = {{in.dtype, std::move(out)}};
  return true;
}

bool shape_concat(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  if (!same_dtype(c, 0, error)) return false;
  const TensorType& first = *c.inputs[0];
  std::optional<int> axis = normal_axis(attr_int(c.op, c.attrs, "axis"), first.rank());
  if (!axis)
    return fail(error, fmt::format("axis {} does not exist in {}", attr_int(c.op, c.attrs, "axis"),
                                   type_text(first)));
  Shape out = first.shape;
  out[size_t(*axis)] = 0;
  for (const TensorType* t : c.inputs) {
    Shape rest = t->shape;
    if (t->rank() == first.rank()) {
      out[size_t(*axis)] += rest[size_t(*axis)];
      rest[size_t(*axis)] = first.shape[size_t(*axis)];
    }
    if (rest != first.shape)
      return fail(error, fmt::format("{} and {} differ in more than axis {}", type_text(first), type_text(*t),
                                     *axis));
  }
  outputs = {{first.dtype, std::move(out)}};
  return true;
}

bool shape_constant(const ShapeContext& c, std::vector<TensorType>& outputs, std::string& error) {
  const AttrValue* v = find_attr(c.attrs, "value");
  const auto* values = v != nullptr ? std::get_if<std::vector<double>>(v) : nullptr;
  Shape shape = attr_ints(c.op, c.attrs, "shape");
  std::optional<int64_t> n = checked_elements(shape);
  if (values == nullptr || !n || *n != int64_t(values->size())) {
    return fail(error,
                fmt::format("shape {} does not hold {} values", dims(shape), values ? values->size() : 0));
  }
  std::optional<DataType> dtype = data_type_from_name(attr_text(c.op, c.attrs, "dtype"));
  if (!dtype)
    return fail(error, fmt::format("'{}' is not an element type", attr_text(c.op, c.attrs, "dtype")));
  outputs = {{*dtype, std::move(shape)}};
  return true;
}

}  // namespace cs::ops
