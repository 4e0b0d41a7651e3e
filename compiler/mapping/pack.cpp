// Constants as PEs hold them: the kernel says which PE holds what, here they get their place in the weights.
#include <cstring>

#include <fmt/format.h>

#include "compiler/mapping/emit.h"

namespace cs::mapping {

void pack_constants(const Instance& inst, std::vector<uint8_t>& weights, std::vector<Constant>& rows) {
  if (inst.region) return pack_region(inst, weights, rows);
  for (const kernels::PackedPart& part : inst.work.kind->pack(inst, inst.plan.cut)) {
    Constant row;
    row.symbol = fmt::format("{}_{}", inst.name, part.constant);
    row.rect = {inst.rect.x + part.rect.x, inst.rect.y + part.rect.y, part.rect.w, part.rect.h};
    row.bytes_per_pe = part.bytes_per_pe;
    row.offset = weights.size();
    rows.push_back(row);
    weights.resize(weights.size() + 4 * part.words.size());
    if (!part.words.empty())
      std::memcpy(weights.data() + row.offset, part.words.data(), 4 * part.words.size());
  }
}

}  // namespace cs::mapping
