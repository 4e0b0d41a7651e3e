// Constants as PEs hold them: the kernel says which PE holds what, here they get their place in the weights.
#include <fmt/format.h>

#include "compiler/mapping/emit.h"

namespace cs::mapping {

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

void pack_constants(const Instance& inst, Weights& weights, HostPart& host) {
  if (inst.region) return pack_region(inst, weights, host);
  for (const kernels::PackedPart& part : inst.work.kind->pack(inst, inst.plan.cut)) {
    const auto pes = uint64_t(part.rect.area());
    host.constants.push_back(
        {fmt::format("{}_{}", inst.name, part.constant),
         {inst.rect.x + part.rect.x, inst.rect.y + part.rect.y, part.rect.w, part.rect.h},
         part.bytes_per_pe,
         weights.size()});
    weights.append(pes * part.bytes_per_pe, source_of_words(pes, part.append));
  }
}

}  // namespace cs::mapping
