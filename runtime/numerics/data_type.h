// Element types: of exported symbols (those of 16 and 32 bits), of tensors on the host, in graphs and in files.
// f16 is IEEE half; a program with another 16-bit format (runtime/numerics/fp16_format.h) says so once.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace cs {

enum class DataType : uint8_t { i16, u16, i32, u32, f16, f32, f64, bf16, i8, u8, i64, u64, boolean };

struct DataTypeRow {
  std::string_view name;
  int bytes;
  bool is_float;
};
inline constexpr std::array<DataTypeRow, 13> kDataTypes = {{{"i16", 2, false},
                                                            {"u16", 2, false},
                                                            {"i32", 4, false},
                                                            {"u32", 4, false},
                                                            {"f16", 2, true},
                                                            {"f32", 4, true},
                                                            {"f64", 8, true},
                                                            {"bf16", 2, true},
                                                            {"i8", 1, false},
                                                            {"u8", 1, false},
                                                            {"i64", 8, false},
                                                            {"u64", 8, false},
                                                            {"bool", 1, false}}};

constexpr int data_type_bytes(DataType t) { return kDataTypes[size_t(t)].bytes; }
constexpr std::string_view data_type_name(DataType t) { return kDataTypes[size_t(t)].name; }
constexpr bool data_type_is_float(DataType t) { return kDataTypes[size_t(t)].is_float; }
constexpr std::optional<DataType> data_type_from_name(std::string_view name) {
  for (size_t i = 0; i < kDataTypes.size(); ++i)
    if (kDataTypes[i].name == name) return DataType(i);
  return std::nullopt;
}

}  // namespace cs
