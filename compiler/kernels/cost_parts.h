// Pieces of the estimates that kernels with streams (cost.cpp) and with resident operands (cost_resident.cpp)
// share.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "compiler/kernels/kernels.h"

namespace cs::kernels {

// Cycles of one PE for a slice: in which the datapath works, and in which it is free while instructions
// start.
struct PeCycles {
  double busy = 0, free = 0;
  double alone() const { return busy + free; }
  // The next slice arrives meanwhile: a word takes the datapath a cycle, if need be one of the free ones.
  double steady(double words) const { return busy + std::max(free, words); }
};

// A vector instruction over `elements` at `rate` per cycle: two descriptor loads, their latency, start,
// elements.
double vector_cycles(double elements, double rate, const Machine&);
PeCycles chain_cycles(const ChainCost&, int n);
// Elements per cycle of an instruction that reads one or two slices that lie in different banks.
double rate(const char* mnemonic, int sources, const Machine&);
int64_t chain_words(const ChainCost&, int n);

inline int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }
// Elements of a slice, as vector instructions count them.
inline constexpr int kMostInSlice = 0x7fff;
// Resident operands: the same number of whole rows on every PE of a rectangle.
std::optional<Cut> cut_evenly(const Work&, int w, int h);

// Bytes of a PE with resident operands, code and <memcpy> too.
Memory resident_memory(const Work&, const Cut&, const Machine&);
void add_user(Memory&, std::string name, int64_t bytes);
// Largest users first, and their sum.
void finish_memory(Memory&);

}  // namespace cs::kernels
