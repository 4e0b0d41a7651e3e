// Reference implementations: contractions by Eigen, reductions and movements by loops.
// Sums and products of float32 data are formed in double and rounded once, in index order, so that the values
// do not depend on the host's vector width or cache sizes.
#include <cstring>
#include <limits>

#include <Eigen/Core>
#include <fmt/format.h>

#include "runtime/ops/rules.h"

namespace cs::ops {

namespace {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

Matrix load_matrix(const Tensor& t, int64_t offset, int64_t rows, int64_t columns) {
  Matrix m(rows, columns);
  for (int64_t i = 0; i < rows * columns; ++i) m.data()[i] = t.get(offset + i);
  return m;
}

// Coefficient by coefficient: Eigen's blocked product would choose the order of the sum by the cache size.
Matrix product(const Matrix& a, const Matrix& b) { return a.lazyProduct(b); }

double start_value(std::string_view op) {
  if (op == "reduce_max") return -std::numeric_limits<double>::infinity();
  if (op == "reduce_min") return std::numeric_limits<double>::infinity();
  return op == "reduce_prod" ? 1 : 0;
}

double combine(std::string_view op, double a, double v) {
  if (op == "reduce_max") return a != a || a > v ? a : v;
  if (op == "reduce_min") return a != a || a < v ? a : v;
  return op == "reduce_prod" ? a * v : a + v;
}

}  // namespace

bool reference_gemm(const ShapeContext& c, std::span<const Tensor* const> inputs, std::span<Tensor> outputs,
                    std::string&) {
  const Shape &sa = inputs[0]->type.shape, &sb = inputs[1]->type.shape;
  Matrix a = load_matrix(*inputs[0], 0, sa[0], sa[1]), b = load_matrix(*inputs[1], 0, sb[0], sb[1]);
  if (attr_int(c.op, c.attrs, "trans_a") != 0) a = Matrix(a.transpose());
  if (attr_int(c.op, c.attrs, "trans_b") != 0) b = Matrix(b.transpose());
  double alpha = attr_real(c.op, c.attrs, "alpha"), beta = attr_real(c.op, c.attrs, "beta");
  Matrix y = product(a, b) * alpha;
  const Tensor* bias = inputs.size() > 2 ? inputs[2] : nullptr;
  Shape out{y.rows(), y.cols()};
  std::vector<int64_t> s =
      bias != nullptr ? broadcast_strides(bias->type.shape, out) : std::vector<int64_t>{0, 0};
  for (int64_t i = 0; i < y.rows(); ++i) {
    for (int64_t j = 0; j < y.cols(); ++j) {
      double add = bias != nullptr ? beta * bias->get(i * s[0] + j * s[1]) : 0.0;
      outputs[0].set(i * y.cols() + j, y(i, j) + add);
    }
  }
  return true;
}

bool reference_matmul(const ShapeContext&, std::span<const Tensor* const> inputs, std::span<Tensor> outputs,
                      std::string&) {
  Shape sa = inputs[0]->type.shape, sb = inputs[1]->type.shape;
  if (sa.size() == 1) sa.insert(sa.begin(), 1);
  if (sb.size() == 1) sb.push_back(1);
  int64_t m = sa[sa.size() - 2], k = sa.back(), n = sb.back();
  Shape batch_a(sa.begin(), sa.end() - 2), batch_b(sb.begin(), sb.end() - 2);
  Shape batch = *broadcast(batch_a, batch_b);
  std::vector<int64_t> stride_a = broadcast_strides(batch_a, batch),
                       stride_b = broadcast_strides(batch_b, batch);
  int64_t batches = TensorType{DataType::f32, batch}.elements();
  for (int64_t i = 0; i < batches; ++i) {
    int64_t ia = 0, ib = 0, rest = i;
    for (size_t d = batch.size(); d-- > 0; rest /= batch[d]) {
      ia += rest % batch[d] * stride_a[d];
      ib += rest % batch[d] * stride_b[d];
    }
    Matrix y = product(load_matrix(*inputs[0], ia * m * k, m, k), load_matrix(*inputs[1], ib * k * n, k, n));
    for (int64_t j = 0; j < m * n; ++j) outputs[0].set(i * m * n + j, y.data()[j]);
  }
  return true;
}

bool reference_reduce(const ShapeContext& c, std::span<const Tensor* const> inputs, std::span<Tensor> outputs,
                      std::string& error) {
  std::optional<std::vector<bool>> reduced = reduced_axes(c, error);
  if (!reduced) return false;
  const Shape& shape = inputs[0]->type.shape;
  Shape kept = shape;
  int64_t count = 1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if ((*reduced)[d]) {
      count *= shape[d];
      kept[d] = 1;
    }
  }
  std::vector<int64_t> stride = broadcast_strides(kept, shape);
  std::vector<double> sums(size_t(outputs[0].elements()), start_value(c.op.name));
  for (int64_t i = 0; i < inputs[0]->elements(); ++i) {
    int64_t at = 0, rest = i;
    for (size_t d = shape.size(); d-- > 0; rest /= shape[d]) at += rest % shape[d] * stride[d];
    sums[size_t(at)] = combine(c.op.name, sums[size_t(at)], inputs[0]->get(i));
  }
  for (size_t i = 0; i < sums.size(); ++i) {
    outputs[0].set(int64_t(i), c.op.name == "reduce_mean" ? sums[i] / double(count) : sums[i]);
  }
  return true;
}

bool reference_view(const ShapeContext&, std::span<const Tensor* const> inputs, std::span<Tensor> outputs,
                    std::string&) {
  outputs[0].bytes = inputs[0]->bytes;
  return true;
}

// Copies `from` so that dimension d of the result walks it by stride[d]. Tiles of the result's last dimension
// and the one along which `from` lies without gaps: tables of words have hundreds of megabytes, of which an
// element at a time would miss every cache.
template <typename T>
void copy_transposed(const T* from, T* to, const Shape& out, const std::vector<int64_t>& stride) {
  constexpr int64_t kTile = 64;
  const size_t last = out.size() - 1;
  size_t near = last;
  std::vector<int64_t> step(out.size(), 1);  // of the result
  for (size_t d = last; d-- > 0;) step[d] = step[d + 1] * out[d + 1];
  for (size_t d = 0; d < last; ++d)
    if (stride[d] == 1 && out[d] > 1) near = d;
  const int64_t rows = near == last ? 1 : out[near], columns = out[last];
  int64_t others = rows * columns == 0 ? 0 : 1;
  for (size_t d = 0; d < last; ++d) others *= d == near ? 1 : out[d];
  for (int64_t other = 0; other < others; ++other) {
    int64_t source = 0, target = 0, rest = other;
    for (size_t d = last; d-- > 0;) {
      if (d == near) continue;
      source += rest % out[d] * stride[d];
      target += rest % out[d] * step[d];
      rest /= out[d];
    }
    for (int64_t r0 = 0; r0 < rows; r0 += kTile)
      for (int64_t c0 = 0; c0 < columns; c0 += kTile)
        for (int64_t r = r0; r < std::min(rows, r0 + kTile); ++r)
          for (int64_t c = c0; c < std::min(columns, c0 + kTile); ++c)
            to[target + (near == last ? 0 : r * step[near]) + c] = from[source + r + c * stride[last]];
  }
}

bool reference_transpose(const ShapeContext& c, std::span<const Tensor* const> inputs,
                         std::span<Tensor> outputs, std::string& error) {
  const Shape& in = inputs[0]->type.shape;
  const Shape& out = outputs[0].type.shape;
  if (in.empty()) return reference_view(c, inputs, outputs, error);
  std::vector<int64_t> perm = attr_ints(c.op, c.attrs, "perm");
  for (size_t i = in.size(); perm.size() < in.size();) perm.push_back(int64_t(--i));
  std::vector<int64_t> strides(in.size(), 1), walk;
  for (size_t d = in.size(); d-- > 1;) strides[d - 1] = strides[d] * in[d];
  for (int64_t d : perm) walk.push_back(strides[size_t(d)]);
  const auto copy = [&](auto element) {
    using T = decltype(element);
    copy_transposed(reinterpret_cast<const T*>(inputs[0]->bytes.data()),
                    reinterpret_cast<T*>(outputs[0].bytes.data()), out, walk);
  };
  switch (data_type_bytes(inputs[0]->type.dtype)) {
    case 1:
      copy(uint8_t{});
      return true;
    case 2:
      copy(uint16_t{});
      return true;
    case 4:
      copy(uint32_t{});
      return true;
    default:
      copy(uint64_t{});
      return true;
  }
}

bool reference_concat(const ShapeContext& c, std::span<const Tensor* const> inputs, std::span<Tensor> outputs,
                      std::string&) {
  const Shape& out = outputs[0].type.shape;
  size_t axis = size_t(*normal_axis(attr_int(c.op, c.attrs, "axis"), int(out.size())));
  int64_t outer = 1;
  size_t inner = size_t(data_type_bytes(outputs[0].type.dtype));
  for (size_t d = 0; d < axis; ++d) outer *= out[d];
  for (size_t d = axis + 1; d < out.size(); ++d) inner *= size_t(out[d]);
  uint8_t* to = outputs[0].bytes.data();
  for (int64_t o = 0; o < outer; ++o) {
    for (const Tensor* t : inputs) {
      size_t n = size_t(t->type.shape[axis]) * inner;
      if (n > 0) std::memcpy(to, t->bytes.data() + size_t(o) * n, n);
      to += n;
    }
  }
  return true;
}

bool reference_constant(const ShapeContext& c, std::span<const Tensor* const>, std::span<Tensor> outputs,
                        std::string&) {
  const auto& values = std::get<std::vector<double>>(*find_attr(c.attrs, "value"));
  for (size_t i = 0; i < values.size(); ++i) outputs[0].set(int64_t(i), values[i]);
  return true;
}

}  // namespace cs::ops
