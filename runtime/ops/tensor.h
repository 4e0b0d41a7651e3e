// Tensors of the host side: a type, a shape and bytes in C order, little-endian.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/numerics/data_type.h"

namespace cs::ops {

// f16 and bf16 are stored as their 16 bits, boolean as one byte 0 or 1.
using Shape = std::vector<int64_t>;

struct TensorType {
  DataType dtype = DataType::f32;
  Shape shape;
  int64_t elements() const;  // 1 for a scalar
  int64_t bytes() const { return elements() * data_type_bytes(dtype); }
  int rank() const { return int(shape.size()); }
  bool operator==(const TensorType&) const = default;
};
// "f32[1, 784]"; parse_type reads it back.
std::string type_text(const TensorType&);
std::optional<TensorType> parse_type(std::string_view text);
// Number of elements, or nothing if it does not fit 2^40 (a shape no tool of ours can hold).
std::optional<int64_t> checked_elements(const Shape&);

struct Tensor {
  TensorType type;
  std::vector<uint8_t> bytes;  // type.bytes() of them

  Tensor() = default;
  explicit Tensor(TensorType t) : type(std::move(t)), bytes(size_t(type.bytes())) {}
  static Tensor from_floats(Shape shape, const std::vector<float>& values);
  int64_t elements() const { return type.elements(); }
  // Element i, converted. Integers beyond 2^53 lose bits in get(); get_int() is exact.
  double get(int64_t i) const;
  int64_t get_int(int64_t i) const;
  void set(int64_t i, double value);  // nearest-even to the type; integers truncate and wrap
  void set_int(int64_t i, int64_t value);
  const float* f32() const;  // data of an f32 tensor
  float* f32();
  std::vector<float> to_floats() const;
  // Elements from, from + step, ..., count of them, each what get() gives, as a float.
  void copy_floats(int64_t from, int64_t count, int64_t step, float* out) const;
  bool operator==(const Tensor&) const = default;
};

// The shape both operands broadcast to (numpy rules), nothing if they do not fit together.
std::optional<Shape> broadcast(const Shape& a, const Shape& b);
// Strides (in elements) with which a tensor of shape `from` is walked as if it had shape `to`; 0 where
// repeated.
std::vector<int64_t> broadcast_strides(const Shape& from, const Shape& to);

}  // namespace cs::ops
