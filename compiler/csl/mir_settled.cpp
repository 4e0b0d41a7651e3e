// Variables, or words of them, that hold one value whenever code runs: constants, and what is only ever
// assigned the value that it has from the start (the length of a descriptor, say).
#include <algorithm>
#include <set>

#include "compiler/csl/mir_passes.h"

namespace cs::csl::mir {

using isa::Operand;
using isa::OperandKind;

namespace {

// What the image gives for a word: a literal, or the address of a global. Nothing if it is neither.
std::optional<Operand> initial(const MirGlobal& g, int32_t offset, int32_t bytes) {
  if (g.noinit || offset < 0 || uint32_t(offset + bytes) > g.bytes) return std::nullopt;
  for (const MirRelocation& r : g.relocations) {
    if (int32_t(r.offset) + 2 <= offset || int32_t(r.offset) >= offset + bytes) continue;
    if (r.function || int32_t(r.offset) != offset || bytes != 2) return std::nullopt;
    return Operand{OperandKind::global, int32_t(r.target), r.addend};
  }
  uint32_t value = 0;
  if (!g.init.empty())
    for (int32_t i = 0; i < bytes; ++i) value |= uint32_t(g.init[size_t(offset) + size_t(i)]) << (8 * i);
  return literal(int32_t(value));
}

bool same_word(const Operand& a, const Operand& b, int32_t bytes) {
  if (!is_literal(a) || !is_literal(b)) return a == b;
  const uint32_t mask = bytes == 4 ? ~0u : bytes == 2 ? 0xFFFFu : 0xFFu;
  return ((uint32_t(a.value) ^ uint32_t(b.value)) & mask) == 0;
}

}  // namespace

Settled find_settled(const MirTile& tile, const Reached& reached) {
  std::vector<bool> open(tile.globals.size());  // may change in ways that are not looked at
  for (size_t g = 0; g < tile.globals.size(); ++g)
    open[g] = !tile.globals[g].constant && reached.is_reached({OperandKind::global, int32_t(g), 0});
  struct Range {
    int32_t offset, bytes;
  };
  std::vector<std::vector<Range>> changed(tile.globals.size());
  std::set<std::tuple<int32_t, int32_t, int32_t>> loaded;
  const auto no_index = [](const Operand&) { return int64_t(0); };
  for (const MirFunction& f : tile.functions)
    for (const isa::Inst& inst : f.code) {
      if (!is_load(inst.op) && !is_store(inst.op)) continue;
      const size_t base = is_load(inst.op) ? 1 : 0;
      const Place p = place_of(inst.args[base], inst.args[base + 1], access_bytes(inst.op), no_index);
      if (p.symbol.kind != OperandKind::global) continue;
      const size_t g = size_t(p.symbol.value);
      if (is_load(inst.op)) {
        if (p.kind == Place::Kind::variable) loaded.insert({p.symbol.value, p.offset, p.bytes});
      } else if (p.kind != Place::Kind::variable) {
        open[g] = true;
      } else {
        const auto first = initial(tile.globals[g], p.offset, p.bytes);
        if (!first || !same_word(*first, inst.args[2], p.bytes)) changed[g].push_back({p.offset, p.bytes});
      }
    }
  Settled settled;
  for (const auto& word : loaded) {
    const auto [g, offset, bytes] = word;
    if (open[size_t(g)]) continue;
    const bool changes = std::any_of(changed[size_t(g)].begin(), changed[size_t(g)].end(),
                                     [&, offset = offset, bytes = bytes](const Range& r) {
                                       return r.offset < offset + bytes && offset < r.offset + r.bytes;
                                     });
    if (changes) continue;
    if (const auto value = initial(tile.globals[size_t(g)], offset, bytes)) settled[word] = *value;
  }
  return settled;
}

}  // namespace cs::csl::mir
