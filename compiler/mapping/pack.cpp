// Constants as PEs hold them: the kernel says which PE holds what, here they get their place in the weights.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/mapping/emit.h"

namespace cs::mapping {

namespace {

// So many lists of words, which are made one after the other when the weights are read.
Weights::Source source_of_words(size_t lists, std::function<void(size_t list, std::vector<uint32_t>&)> append) {
  constexpr size_t kWordsAtATime = size_t(1) << 18;
  return [lists, append = std::move(append)](const Weights::Take& take) {
    std::vector<uint32_t> words;
    for (size_t i = 0; i < lists; ++i) {
      append(i, words);
      if (words.size() < kWordsAtATime && i + 1 < lists) continue;
      // Little-endian, as the hosts are.
      if (!take({reinterpret_cast<const char*>(words.data()), 4 * words.size()})) return false;
      words.clear();
    }
    return true;
  };
}

HostState& state_of(HostPart& host, const std::string& name) {
  const auto named = [&](const HostState& s) { return s.name == name; };
  return *std::find_if(host.states.begin(), host.states.end(), named);
}

}  // namespace

void pack_constants(const Instance& inst, Weights& weights, HostPart& host) {
  std::vector<uint64_t> places;
  for (const kernels::PackedPart& part : inst.work.kind->pack(inst, inst.plan.cut, inst.layout.get())) {
    const std::string symbol = fmt::format("{}_{}", inst.name, part.constant);
    const Rect rect{inst.rect.x + part.rect.x, inst.rect.y + part.rect.y, part.rect.w, part.rect.h};
    places.push_back(part.as ? places[*part.as] : weights.size());
    if (part.state.empty())
      host.constants.push_back({symbol, rect, part.bytes_per_pe, places.back()});
    else
      state_of(host, part.state).parts.push_back({symbol, rect, part.bytes_per_pe, places.back()});
    if (part.as) continue;
    const auto pes = uint64_t(part.rect.area());
    weights.append(pes * part.bytes_per_pe, source_of_words(pes, part.append));
  }
}

}  // namespace cs::mapping
