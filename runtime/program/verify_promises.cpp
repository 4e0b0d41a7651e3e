// What is promised of inputs (HostTensor::is_static, align), and copies that rely on it.
#include <algorithm>

#include <fmt/format.h>

#include "runtime/program/verify_parts.h"

namespace cs {

namespace {

const HostTensor* named(const std::vector<HostTensor>& list, const std::string& name) {
  const auto it = std::find_if(list.begin(), list.end(), [&](const HostTensor& t) { return t.name == name; });
  return it == list.end() ? nullptr : &*it;
}

// Two elements of 16 bits to a word: neighbours of a row, of an array that begins where a word does.
void verify_words(const Verifier& v, const std::string& where, const HostStep& s, const HostTensor& tensor) {
  const Tiling& t = s.tiling;
  bool even = t.columns % 2 == 0 && t.tile_columns % 2 == 0;
  even = even && std::any_of(tensor.shape.begin(), tensor.shape.end(), [](int64_t d) { return d % 2 == 0; });
  if (data_type_bytes(tensor.type) != 2 || t.windows.planes > 0 || !even)
    v.error(where, fmt::format("'{}' does not go two elements to a word: that takes elements of 16 bits and rows and "
                               "tiles with an even number of them",
                               s.tensor));
  if (tensor.align == 0 || tensor.align % kWordBytes != 0)
    v.error(where, fmt::format("takes words of '{}', of which no alignment is promised", s.tensor));
}

}  // namespace

void verify_promises(const Verifier& v) {
  const HostPart& h = *v.program.host;
  for (const auto* list : {&h.outputs, &h.values})
    for (const HostTensor& t : *list)
      if (t.align > 0 || t.is_static)
        v.error(fmt::format("tensor '{}'", t.name),
                "is no input, so nobody promises its alignment or that it is static");
  for (const HostTensor& t : h.inputs)
    if (t.is_static && t.sample_dim >= 0) v.error(fmt::format("tensor '{}'", t.name), "is static and has samples");
  for (size_t i = 0; i < h.steps.size(); ++i) {
    const HostStep& s = h.steps[i];
    if (!s.words) continue;
    const std::string where = fmt::format("host step {}", i);
    const HostTensor* input = named(h.inputs, s.tensor);
    if (input != nullptr)
      verify_words(v, where, s, *input);
    else
      v.error(where, fmt::format("takes words of '{}', which is no input", s.tensor));
  }
}

}  // namespace cs
