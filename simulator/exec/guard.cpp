// Sections of a tile program as ranges to stay in, and the bitmap of words without a value.
#include "simulator/exec/guard.h"

#include <algorithm>

namespace cs::sim {

MemoryGuard::MemoryGuard(const TileProgram& tile) {
  for (const Section& s : tile.sections) {
    if (s.kind == SectionKind::frame || s.bytes == 0) continue;
    spans_.push_back({s.address, s.address + s.bytes, &s});
    if (s.kind != SectionKind::noinit) continue;
    noinit_low_ = noinit_high_ == 0 ? s.address : std::min<uint32_t>(noinit_low_, s.address);
    noinit_high_ = std::max<uint32_t>(noinit_high_, s.address + s.bytes);
  }
  std::sort(spans_.begin(), spans_.end(), [](const Span& a, const Span& b) { return a.low < b.low; });
  noinit_low_ &= ~1u;
  if (!any_noinit()) return;
  unwritten_.assign((noinit_high_ - noinit_low_ + 127) / 128, 0);
  for (const Span& s : spans_)
    if (s.section->kind == SectionKind::noinit)
      for (uint32_t at = s.low; at < s.high; at += 2) {
        const uint32_t word = (at - noinit_low_) / 2;
        unwritten_[word / 64] |= uint64_t(1) << (word % 64);
      }
  // What the image gives a value after all.
  for (const Segment& s : tile.segments)
    for (size_t i = 0; i < s.bytes.size(); ++i) {
      const uint32_t at = s.address + uint32_t(i);
      if (at < noinit_low_ || at >= noinit_high_) continue;
      const uint32_t word = (at - noinit_low_) / 2;
      unwritten_[word / 64] &= ~(uint64_t(1) << (word % 64));
    }
}

MemoryGuard::Span MemoryGuard::span_at(uint32_t address) const {
  const auto after = std::upper_bound(spans_.begin(), spans_.end(), address,
                                      [](uint32_t a, const Span& s) { return a < s.low; });
  if (after == spans_.begin() || (after - 1)->high <= address) return {};
  return *(after - 1);
}

int64_t Unwritten::find(int64_t low, int64_t high) const {
  low = std::max<int64_t>(low, low_);
  high = std::min<int64_t>(high, high_);
  for (int64_t at = low & ~int64_t(1); at < high; at += 2) {
    const uint64_t word = uint64_t(at - low_) / 2;
    if (bits_[word / 64] >> (word % 64) & 1) return at;
    if (word % 64 == 0 && bits_[word / 64] == 0) at += 126;  // none in these 64 words
  }
  return -1;
}

void Unwritten::mark(int64_t low, int64_t high) {
  low = std::max<int64_t>(low, low_);
  high = std::min<int64_t>(high, high_);
  for (int64_t at = low & ~int64_t(1); at < high; at += 2) {
    const uint64_t word = uint64_t(at - low_) / 2;
    if (word % 64 == 0 && high - at >= 128) {
      bits_[word / 64] = 0;
      at += 126;
    } else {
      bits_[word / 64] &= ~(uint64_t(1) << (word % 64));
    }
  }
}

}  // namespace cs::sim
