// A word holds two neighbours of a row, so rows and tiles have an even number of elements.
#include "compiler/mapping/transfers.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/host/copy_costs.h"

namespace cs::mapping {

namespace {

int64_t elements_of(const HostTensor& t) {
  int64_t n = 1;
  for (const int64_t d : t.shape) n *= d;
  return n;
}

// Empty: two elements of the copy can share a word.
std::string not_in_words(const HostTensor& t, const HostStep& copy) {
  if (!data_type_is_float(t.type) || data_type_bytes(t.type) != 2)
    return fmt::format("{}, of which PEs take each element as a word", data_type_name(t.type));
  const Tiling& tiles = copy.tiling;
  if (tiles.windows.planes > 0) return "PEs have windows of it, which begin anywhere";
  if (elements_of(t) % 2 != 0) return fmt::format("{} elements, an odd number", elements_of(t));
  if (tiles.columns % 2 != 0) return fmt::format("{} elements of a row, an odd number", tiles.columns);
  if (tiles.tile_columns % 2 != 0)
    return fmt::format("PEs have {} elements of a row, an odd number", tiles.tile_columns);
  return {};
}

}  // namespace

void copy_in_words(const graph::Value& input, HostTensor& tensor, HostStep& copy) {
  if (!input.assume_aligned.value_or(false) || !not_in_words(tensor, copy).empty()) return;
  copy.words = true;
  tensor.align = kWordBytes;
  tensor.clones = input.clone_unaligned;
}

std::vector<InputTransfer> transfers_of(const HostPart& host, const Machine& machine) {
  std::vector<InputTransfer> list;
  for (const HostStep& s : host.steps) {
    if (s.kind != HostStep::Kind::copy_in) continue;
    const auto input = std::find_if(host.inputs.begin(), host.inputs.end(),
                                    [&](const HostTensor& t) { return t.name == s.tensor; });
    if (input == host.inputs.end()) continue;
    InputTransfer t;
    t.name = input->name;
    t.why = not_in_words(*input, s);
    t.possible = t.why.empty();
    t.assumed = s.words;
    const Tiling& tiles = s.tiling;
    const uint64_t elements =
        uint64_t(tiles.rect.area()) * tiles.tile_rows * tiles.tile_columns * std::max(1U, tiles.windows.planes);
    t.elements = double(copy_cycles(machine, elements));
    if (t.possible) {
      t.words = double(copy_cycles(machine, elements / 2));
      t.clone = double(clone_cycles(machine, uint64_t(elements_of(*input) * data_type_bytes(input->type))));
    }
    list.push_back(std::move(t));
  }
  return list;
}

}  // namespace cs::mapping
