// Arrays of the host: what goes into a program and what comes out of it. C order, little-endian, as numpy's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "wafersmith/bytes.h"

namespace wafersmith {

// f16 and bf16 are stored as their 16 bits, boolean as one byte 0 or 1.
enum class DType : uint8_t { i16, u16, i32, u32, f16, f32, f64, bf16, i8, u8, i64, u64, boolean };
size_t bytes_of(DType);      // of an element
const char* name_of(DType);  // "f32"

// Of a C++ type.
template <typename T>
constexpr DType dtype_of() {
  if constexpr (std::is_same_v<T, float>)
    return DType::f32;
  else if constexpr (std::is_same_v<T, double>)
    return DType::f64;
  else if constexpr (std::is_same_v<T, int8_t>)
    return DType::i8;
  else if constexpr (std::is_same_v<T, uint8_t>)
    return DType::u8;
  else if constexpr (std::is_same_v<T, int16_t>)
    return DType::i16;
  else if constexpr (std::is_same_v<T, uint16_t>)
    return DType::u16;
  else if constexpr (std::is_same_v<T, int32_t>)
    return DType::i32;
  else if constexpr (std::is_same_v<T, uint32_t>)
    return DType::u32;
  else if constexpr (std::is_same_v<T, int64_t>)
    return DType::i64;
  else if constexpr (std::is_same_v<T, uint64_t>)
    return DType::u64;
  else
    static_assert(sizeof(T) == 0, "no element type of an array");
}

// Numbers of one type, in C order.
struct Array {
  std::string name;  // of the input, output or exported variable
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  Bytes bytes;  // elements() * bytes_of(dtype) of them

  int64_t elements() const {
    int64_t n = 1;
    for (const int64_t extent : shape) n *= extent;
    return n;
  }

  // Throws std::invalid_argument where the number of values is not that of the shape.
  template <typename T>
  static Array of(std::string name, std::vector<int64_t> shape, std::span<const T> values) {
    Array a{std::move(name), dtype_of<T>(), std::move(shape), {}};
    if (a.elements() != int64_t(values.size()))
      throw std::invalid_argument(a.name + ": " + std::to_string(values.size()) + " values for a shape of " +
                                  std::to_string(a.elements()) + " elements");
    a.bytes.resize(values.size_bytes());
    if (!values.empty()) std::memcpy(a.bytes.data(), values.data(), values.size_bytes());
    return a;
  }
  template <typename T>
  static Array of(std::string name, std::vector<int64_t> shape, const std::vector<T>& values) {
    return of<T>(std::move(name), std::move(shape), std::span<const T>(values));
  }

  // Its elements; throws std::invalid_argument where they are of another type. f16 and bf16 as uint16_t.
  template <typename T>
  std::vector<T> values() const {
    const bool halves = std::is_same_v<T, uint16_t> && (dtype == DType::f16 || dtype == DType::bf16);
    if (!halves && dtype != dtype_of<T>())
      throw std::invalid_argument(name + " has elements of type " + name_of(dtype));
    std::vector<T> out(bytes.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), bytes.data(), out.size() * sizeof(T));
    return out;
  }
};

// .npz files, as numpy writes them. Throw Error (error.h).
std::vector<Array> read_npz(const std::string& path);
void write_npz(const std::string& path, const std::vector<Array>&);
// Throws Error if there is no array of this name.
const Array& find(const std::vector<Array>&, const std::string& name);

}  // namespace wafersmith
