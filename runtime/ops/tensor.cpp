// Tensor types and element access. 16-bit floats are converted by Eigen's scalar types (nearest-even).
#include "runtime/ops/tensor.h"

#include <array>
#include <bit>
#include <charconv>
#include <cstring>

#include <Eigen/Core>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "runtime/support/diag.h"

namespace cs::ops {

namespace {

template <typename T>
T load(const std::vector<uint8_t>& bytes, int64_t i) {
  T v;
  std::memcpy(&v, bytes.data() + size_t(i) * sizeof(T), sizeof(T));
  return v;
}
template <typename T>
void store(std::vector<uint8_t>& bytes, int64_t i, T v) {
  std::memcpy(bytes.data() + size_t(i) * sizeof(T), &v, sizeof(T));
}

// Exponent and fraction at their places in f32, the exponent too small by 112; subnormal ones become normal by
// the product, which is exact.
float half_of(uint16_t v) {
  const uint32_t sign = uint32_t(v & 0x8000) << 16, rest = uint32_t(v & 0x7fff) << 13;
  const uint32_t finite = std::bit_cast<uint32_t>(std::bit_cast<float>(rest) * 0x1p112F);
  return std::bit_cast<float>(sign | ((v & 0x7c00) == 0x7c00 ? rest | 0x7f800000 : finite));
}
float bfloat_of(uint16_t v) { return float(Eigen::bfloat16(Eigen::bfloat16_impl::raw_uint16_to_bfloat16(v))); }

// Truncation toward zero, NaN to 0, out of range to the nearest end: no undefined conversion.
int64_t to_integer(double v) {
  if (v != v) return 0;
  if (v >= 9223372036854775807.0) return INT64_MAX;
  if (v <= -9223372036854775808.0) return INT64_MIN;
  return int64_t(v);
}

}  // namespace

std::optional<int64_t> checked_elements(const Shape& shape) {
  constexpr int64_t kLimit = int64_t(1) << 40;
  int64_t n = 1;
  for (int64_t d : shape) {
    if (d < 0) return std::nullopt;
    if (d == 0) n = 0;
    if (n > 0 && d > kLimit / n) return std::nullopt;
    n *= d;
  }
  return n;
}

int64_t TensorType::elements() const {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

std::string type_text(const TensorType& t) {
  return fmt::format("{}[{}]", data_type_name(t.dtype), fmt::join(t.shape, ", "));
}

std::optional<TensorType> parse_type(std::string_view text) {
  size_t open = text.find('[');
  if (open == std::string_view::npos || text.empty() || text.back() != ']') return std::nullopt;
  std::optional<DataType> dtype = data_type_from_name(text.substr(0, open));
  if (!dtype) return std::nullopt;
  TensorType t{*dtype, {}};
  std::string_view rest = text.substr(open + 1, text.size() - open - 2);
  bool need_number = false;
  while (true) {
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    if (rest.empty()) break;
    int64_t d = 0;
    auto [end, ec] = std::from_chars(rest.data(), rest.data() + rest.size(), d);
    if (ec != std::errc() || d < 0) return std::nullopt;
    t.shape.push_back(d);
    rest.remove_prefix(size_t(end - rest.data()));
    while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
    need_number = false;
    if (rest.empty()) break;
    if (rest.front() != ',') return std::nullopt;
    rest.remove_prefix(1);
    need_number = true;
  }
  if (need_number || t.shape.size() > 16 || !checked_elements(t.shape)) return std::nullopt;
  return t;
}

Tensor Tensor::from_floats(Shape shape, const std::vector<float>& values) {
  Tensor t(TensorType{DataType::f32, std::move(shape)});
  CS_CHECK(size_t(t.elements()) == values.size(), "values do not fill the shape");
  if (!values.empty()) std::memcpy(t.bytes.data(), values.data(), t.bytes.size());
  return t;
}

double Tensor::get(int64_t i) const {
  switch (type.dtype) {
    case DataType::f32:
      return load<float>(bytes, i);
    case DataType::f64:
      return load<double>(bytes, i);
    case DataType::f16:
      return half_of(load<uint16_t>(bytes, i));
    case DataType::bf16:
      return bfloat_of(load<uint16_t>(bytes, i));
    case DataType::u64:
      return double(load<uint64_t>(bytes, i));
    default:
      return double(get_int(i));
  }
}

int64_t Tensor::get_int(int64_t i) const {
  switch (type.dtype) {
    case DataType::i8:
      return load<int8_t>(bytes, i);
    case DataType::u8:
    case DataType::boolean:
      return load<uint8_t>(bytes, i);
    case DataType::i16:
      return load<int16_t>(bytes, i);
    case DataType::u16:
      return load<uint16_t>(bytes, i);
    case DataType::i32:
      return load<int32_t>(bytes, i);
    case DataType::u32:
      return load<uint32_t>(bytes, i);
    case DataType::i64:
    case DataType::u64:
      return load<int64_t>(bytes, i);
    default:
      return to_integer(get(i));
  }
}

void Tensor::set(int64_t i, double v) {
  switch (type.dtype) {
    case DataType::f32:
      return store(bytes, i, float(v));
    case DataType::f64:
      return store(bytes, i, v);
    case DataType::f16:
      return store(bytes, i, Eigen::half(float(v)).x);
    case DataType::bf16:
      return store(bytes, i, Eigen::bfloat16(float(v)).value);
    case DataType::boolean:
      return store(bytes, i, uint8_t(v != 0));
    default:
      return set_int(i, to_integer(v));
  }
}

void Tensor::set_int(int64_t i, int64_t v) {
  switch (type.dtype) {
    case DataType::i8:
    case DataType::u8:
      return store(bytes, i, uint8_t(v));
    case DataType::boolean:
      return store(bytes, i, uint8_t(v != 0));
    case DataType::i16:
    case DataType::u16:
      return store(bytes, i, uint16_t(v));
    case DataType::i32:
    case DataType::u32:
      return store(bytes, i, uint32_t(v));
    case DataType::i64:
    case DataType::u64:
      return store(bytes, i, v);
    default:
      return set(i, double(v));
  }
}

const float* Tensor::f32() const {
  CS_CHECK(type.dtype == DataType::f32, "not an f32 tensor");
  return reinterpret_cast<const float*>(bytes.data());
}
float* Tensor::f32() {
  CS_CHECK(type.dtype == DataType::f32, "not an f32 tensor");
  return reinterpret_cast<float*>(bytes.data());
}

std::vector<float> Tensor::to_floats() const {
  std::vector<float> out(static_cast<size_t>(elements()));
  copy_floats(0, elements(), 1, out.data());
  return out;
}

void Tensor::copy_floats(int64_t from, int64_t count, int64_t step, float* out) const {
  // The type is asked once: weights have hundreds of millions of elements.
  const auto each = [&](const auto& element) {
    for (int64_t k = 0; k < count; ++k) out[k] = element(from + k * step);
  };
  switch (type.dtype) {
    case DataType::f32:
      return each([&](int64_t i) { return load<float>(bytes, i); });
    case DataType::f16:
      return each([&](int64_t i) { return half_of(load<uint16_t>(bytes, i)); });
    case DataType::bf16:
      return each([&](int64_t i) { return bfloat_of(load<uint16_t>(bytes, i)); });
    default:
      return each([&](int64_t i) { return float(get(i)); });
  }
}

std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  size_t rank = std::max(a.size(), b.size());
  Shape out(rank);
  for (size_t i = 0; i < rank; ++i) {
    int64_t da = i + a.size() < rank ? 1 : a[i + a.size() - rank];
    int64_t db = i + b.size() < rank ? 1 : b[i + b.size() - rank];
    if (da != db && da != 1 && db != 1) return std::nullopt;
    out[i] = da == 1 ? db : da;
  }
  return out;
}

std::vector<int64_t> broadcast_strides(const Shape& from, const Shape& to) {
  std::vector<int64_t> strides(to.size(), 0);
  int64_t step = 1;
  for (size_t k = 0; k < from.size(); ++k) {
    size_t i = from.size() - 1 - k, j = to.size() - 1 - k;
    strides[j] = from[i] == 1 ? 0 : step;
    step *= from[i];
  }
  return strides;
}

}  // namespace cs::ops
