// What a PE of a Program holds at cycle 0.
#include "compiler/csl/walk.h"

namespace cs::csl {

WalkOptions walk_options(const Program& program, const TileProgram& tile, Coord pe,
                         const std::vector<uint8_t>& weights) {
  WalkOptions options;
  options.at = {pe.x - program.user.x, pe.y - program.user.y};
  if (!program.host) return options;
  for (const Constant& c : program.host->constants) {
    const Symbol* symbol = c.rect.contains(pe) ? tile.symbol(c.symbol) : nullptr;
    if (symbol == nullptr) continue;
    const uint64_t number = uint64_t(pe.y - c.rect.y) * uint64_t(c.rect.w) + uint64_t(pe.x - c.rect.x);
    const uint64_t from = c.offset + number * c.bytes_per_pe;
    if (from > weights.size() || c.bytes_per_pe > weights.size() - from) continue;
    const auto begin = weights.begin() + std::ptrdiff_t(from);
    options.memory.emplace_back(symbol->address, std::vector<uint8_t>(begin, begin + c.bytes_per_pe));
  }
  return options;
}

}  // namespace cs::csl
