// Where the elements of a resized axis come from.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/ops/ops.h"

namespace cs::ops {

struct AxisResize {
  int64_t in = 0, out = 0;
  double scale = 1, start = 0, end = 1;  // start, end: of the region of interest
};

struct ResizeMode {
  std::string mode, coordinates, nearest;
  double cubic_a = -0.75;
  bool exclude_outside = false, antialias = false;
};

// One element of the result: elements of the operand with their weights. No taps: outside of the region.
using Taps = std::vector<std::pair<int64_t, double>>;
// Nothing (and an error) for a mode that does not exist.
std::optional<std::vector<Taps>> taps_of(const AxisResize&, const ResizeMode&, std::string& error);

// Elements first, first + step, … of the result, `count` of them, have the same taps, moved by `advance`
// elements of the operand each time. Every element of the result is in one piece.
struct Piece {
  int64_t first = 0, step = 1, count = 1, advance = 0;
};
std::vector<Piece> pieces_of(const std::vector<Taps>&);

}  // namespace cs::ops
