// Views of arrays, and one of them by name.
#include "runtime/host/array_view.h"

#include <algorithm>

namespace cs {

std::vector<ArrayView> views_of(const std::vector<NamedArray>& arrays) {
  std::vector<ArrayView> views;
  views.reserve(arrays.size());
  for (const NamedArray& a : arrays) views.push_back({a.name, a.tensor.type, a.tensor.bytes});
  return views;
}

const ArrayView* find_view(std::span<const ArrayView> arrays, std::string_view name) {
  const auto found = std::find_if(arrays.begin(), arrays.end(), [&](const ArrayView& a) { return a.name == name; });
  return found == arrays.end() ? nullptr : &*found;
}

}  // namespace cs
