// How the results of a region are cut for a rectangle of PEs, and in which turns their parts leave.
//
// Every cut divides one axis of the result into chunks; a chunk's number is a part of the PE's column or row.
// So channels × columns of a picture over the columns of PEs, rows of the picture over the rows of PEs. An
// axis that is cut twice, first south and then east, lies over rows and columns.
//
// Results leave in C order. In a row, and in the column of collectors behind the rows, one takes its turn
// after the other: whoever is next downstream when an axis moves on, whoever is first of that axis when an
// axis inside a PE does. The control wavelet behind a turn says so (docs/autogen.md); two of them are enough
// for two cut axes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/autogen/runs.h"

namespace cs::autogen {

// `extent` rounds of `stride` elements, again and again until the end of the result.
struct ShardAxis {
  int64_t stride = 1, extent = 1;
  int64_t period() const { return stride * extent; }
  bool operator==(const ShardAxis&) const = default;
};

// Every way to cut a tensor along one dimension, or along the leading ones together; outer ones first.
std::vector<ShardAxis> shard_axes(const ops::Shape&);

struct AxisCut {
  ShardAxis axis;
  int parts = 1;
  int64_t chunk = 1;   // rounds of the axis per part
  bool south = false;  // over rows of PEs, else over columns
  bool operator==(const AxisCut&) const = default;
};

struct RegionCut {
  std::vector<AxisCut> axes;  // outermost first
  bool fine = false;          // leave out small gaps too: fewer bytes, more cycles
  int w() const;
  int h() const;
  bool operator==(const RegionCut&) const = default;
};
// One axis over a row of so many PEs.
RegionCut in_row(const ShardAxis&, int64_t pes);
std::string cut_text(const RegionCut&);

inline constexpr int kAllColumns = -1;
// The part of a result with so many elements that PE (x, y) sends, or all PEs of row y. A result that cannot
// be cut like this is sent by PE (0, 0).
Runs part_of(int64_t elements, const RegionCut&, int x, int y);

struct Turns {
  int place = 0, places = 1;              // among all that send in turns
  int inner_place = 0, inner_places = 1;  // among those of one visit, which take several turns each
  int64_t words = 0;                      // of a turn
  int64_t turns = 1;                      // of a visit
  bool operator==(const Turns&) const = default;
};
// Turns of PE (x, y) in its row, or with south of row y (x has no meaning). False if two controls do not do.
bool turns_of(int64_t elements, const RegionCut&, bool south, int x, int y, Turns&);

}  // namespace cs::autogen
