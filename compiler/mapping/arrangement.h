// How kernels lie before the annealer moves them: a slicing tree over them, in the order of the dataflow.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "compiler/mapping/shape_curve.h"

namespace cs::mapping {

// Kernels are nodes 0 … n-1, inner nodes n … 2n-2 in the order of this list, the root last of them (or kernel 0).
struct Arrangement {
  struct Pair {
    int first = 0, second = 0;
    bool beside = false;  // else the first one above the second
  };
  size_t kernels = 0;
  std::vector<Pair> pairs;
};

// Rows of so many kernels, to and fro, so that neighbours in the order of kernels stay neighbours.
Arrangement arrange_rows(const std::vector<int>& rows);

// By halves: the first kernels of about half of the area on one side, the others on the other side, and so on within,
// each half mirrored so that the order goes on where it left off. Whether two halves lie beside or above each other is
// open until the outlines of all are known, and then chosen for the whole (deferred decisions: Yan and Chu, DeFer, DAC
// 2008). Thousands of kernels of different sizes lie close so, each group of neighbours in a box of its own. `kernels`:
// what outlines each can have. Nothing if the box has no room for any arrangement of these halves.
std::optional<Arrangement> arrange_halves(const std::vector<const ShapeCurve*>& kernels, Outline box);

}  // namespace cs::mapping
