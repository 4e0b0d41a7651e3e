// How kernels lie before the annealer moves them: a slicing tree over them, in the order of the dataflow.
#pragma once

#include <cstddef>
#include <vector>

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

// By halves: the first kernels of about half of the area on one side of a box of this shape, the others on the other
// side, and so on within, each half mirrored so that the order goes on where it left off. Thousands of kernels of
// different sizes lie close so, each group of neighbours in a box of its own.
Arrangement arrange_halves(const std::vector<double>& areas, double width, double height);

}  // namespace cs::mapping
