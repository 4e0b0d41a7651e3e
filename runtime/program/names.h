// Words for the enumerations of a Program, both ways: one table per enumeration, used by text, YAML and messages.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/program/program.h"

namespace cs::names {

template <size_t N>
using Table = std::array<std::string_view, N>;

// Of exported symbols: what a PE has, the first of DataType; tensors of the host have all.
inline constexpr Table<6> kSymbolTypes = {"i16", "u16", "i32", "u32", "f16", "f32"};
inline constexpr Table<kDataTypes.size()> kTensorTypes = [] {
  Table<kDataTypes.size()> table{};
  for (size_t i = 0; i < table.size(); ++i) table[i] = kDataTypes[i].name;
  return table;
}();
inline constexpr Table<5> kPorts = {"east", "west", "south", "north", "ramp"};
inline constexpr Table<3> kTaskKinds = {"data", "control", "local"};
inline constexpr Table<4> kTaskArgs = {"none", "word", "half", "half_and_index"};
inline constexpr Table<4> kPopModes = {"no_pop", "always_pop", "pop_on_advance", "pop_on_advance_nop"};
inline constexpr Table<4> kFilterKinds = {"none", "counter", "sparse_counter", "range"};
inline constexpr Table<4> kFifoActions = {"test_or_suspend", "terminate", "suspend", "fault"};
inline constexpr Table<4> kSimdModes = {"automatic", "off", "simd_32", "simd_64"};
inline constexpr Table<6> kSectionKinds = {"reserved", "code", "constants", "data", "frame", "noinit"};
inline constexpr Table<4> kOrigins = {"handwritten", "autogen", "host", "primitive"};
inline constexpr Table<3> kFp16Formats = {"f16", "bf16", "cb16"};
inline constexpr Table<2> kArchs = {"wse2", "wse3"};
inline constexpr Table<2> kDirections = {"output", "input"};
inline constexpr std::string_view kPortLetters = "EWSNR";  // by Port

template <size_t N>
std::string_view name(const Table<N>& table, size_t value) {
  return value < N ? table[value] : std::string_view("?");
}

template <typename E, size_t N>
std::optional<E> value(const Table<N>& table, std::string_view text) {
  for (size_t i = 0; i < N; ++i) {
    if (table[i] == text) return E(i);
  }
  return std::nullopt;
}

template <size_t N>
std::vector<std::string> all(const Table<N>& table) {
  return {table.begin(), table.end()};
}

}  // namespace cs::names
