// Every PE of a part has a list of words and, in weights.bin, as many numbers of elements.
#include "runtime/host/state_memory.h"

#include <cstring>

#include <fmt/format.h>

#include "runtime/host/session_rects.h"

namespace cs {

namespace {

// Pieces of memory of a part, PE by PE, row by row; none (reported) where a tile has no such symbol.
std::vector<MemoryPiece> pieces_of(const Program& program, const HostState& s, const StatePart& part,
                                   Diag& diag) {
  std::vector<MemoryPiece> pieces;
  for (int y = part.rect.y; y < part.rect.bottom(); ++y)
    for (int x = part.rect.x; x < part.rect.right(); ++x) {
      const TileProgram* tile = tile_at(program, {x, y});
      const Symbol* symbol = tile != nullptr ? tile->symbol(part.symbol) : nullptr;
      if (symbol == nullptr) {
        diag.error_at("states",
                      fmt::format("PE {},{} has no symbol '{}' for state '{}'", x, y, part.symbol, s.name));
        return {};
      }
      pieces.push_back({{x, y}, symbol->address, part.bytes_per_pe});
    }
  return pieces;
}

// f(number of the element, its word in the bytes of all pieces)
template <class F>
bool for_elements(const HostState& s, const StatePart& part, std::span<const uint8_t> weights,
                  int64_t elements, Diag& diag, F&& f) {
  const uint64_t words = uint64_t(part.rect.area()) * part.bytes_per_pe / 4;
  for (uint64_t k = 0; k < words; ++k) {
    uint32_t element = 0;
    std::memcpy(&element, weights.data() + part.elements + 4 * k, 4);
    if (int64_t(element) >= elements) {
      diag.error_at("weights.bin", fmt::format("state '{}' has {} elements, a PE holds number {}", s.name,
                                               elements, element));
      return false;
    }
    f(element, k);
  }
  return true;
}

}  // namespace

bool read_states(Device& device, std::span<const uint8_t> weights, std::vector<NamedArray>& states,
                 Diag& diag) {
  for (const HostState& s : device.program().host->states) {
    if (s.on_host()) continue;
    ops::Tensor t({s.type, s.shape});
    for (const StatePart& part : s.parts) {
      const std::vector<MemoryPiece> pieces = pieces_of(device.program(), s, part, diag);
      if (pieces.empty()) return false;
      std::vector<uint8_t> bytes(pieces.size() * part.bytes_per_pe);
      device.read_many(pieces, bytes);
      const bool ok =
          for_elements(s, part, weights, t.elements(), diag, [&](uint32_t element, uint64_t word) {
            std::memcpy(t.bytes.data() + 4 * size_t(element), bytes.data() + 4 * word, 4);
          });
      if (!ok) return false;
    }
    states.push_back({s.name, std::move(t)});
  }
  return true;
}

std::optional<uint64_t> write_states(Device& device, std::span<const uint8_t> weights,
                                     const std::vector<NamedArray>& states, Diag& diag) {
  uint64_t words = 0;
  for (const HostState& s : device.program().host->states) {
    const NamedArray* array = find_array(states, s.name);
    if (s.on_host() || array == nullptr) continue;
    const ops::TensorType expected{s.type, s.shape};
    if (array->tensor.type != expected) {
      diag.error_at("states", fmt::format("array '{}' is {}, the program's state is {}", s.name,
                                          ops::type_text(array->tensor.type), ops::type_text(expected)));
      return std::nullopt;
    }
    for (const StatePart& part : s.parts) {
      const std::vector<MemoryPiece> pieces = pieces_of(device.program(), s, part, diag);
      if (pieces.empty()) return std::nullopt;
      std::vector<uint8_t> bytes(pieces.size() * part.bytes_per_pe);
      const bool ok =
          for_elements(s, part, weights, expected.elements(), diag, [&](uint32_t element, uint64_t word) {
            std::memcpy(bytes.data() + 4 * word, array->tensor.bytes.data() + 4 * size_t(element), 4);
            ++words;
          });
      if (!ok) return std::nullopt;
      device.write_many(pieces, bytes);
    }
  }
  return words;
}

}  // namespace cs
