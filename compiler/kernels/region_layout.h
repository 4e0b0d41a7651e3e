// What every PE of a region's rectangle runs and holds, feeders and collectors included.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/autogen/region.h"
#include "compiler/autogen/stream_filter.h"
#include "compiler/kernels/choice.h"
#include "compiler/kernels/skew.h"

namespace cs::kernels {

// Which PEs there are: the region's own, and for several rows a feeder west and a collector east of each.
struct RegionPe {
  int kind = 0;                                // index of RegionLayout::kinds
  std::vector<uint32_t> data;                  // pe_words with controls (autogen/region_module.h)
  std::vector<autogen::Runs> constants;        // by constant: what it holds of it
  std::vector<autogen::StreamFilter> filters;  // by operand
};
using StreamWords =
    std::vector<std::vector<uint32_t>>;  // by stream: what row_feeder.csl or row_collector.csl reads

struct RegionLayout : Layout {
  int w = 1, h = 1;
  std::vector<autogen::RegionShare> kinds;                         // one for each different program
  std::vector<RegionPe> pes;                                       // row by row
  std::vector<StreamWords> feeders, collectors;                    // by row; none in a region of one row
  std::vector<std::vector<autogen::StreamFilter>> feeder_filters;  // by row, by operand
  std::vector<KeptPart> kept;                                      // by operand, of all PEs
  bool in_order =
      true;  // PEs send their results in the order in which their parts of the operands come, each once
  std::vector<int64_t> turns;  // turn_words(), by operand; none: 0
  bool one_turn = false;       // sends_behind()
  int64_t block = 0;           // words of a turn that collectors hold (block_collector.csl); 0: words pass
  bool in_rows() const { return h > 1; }
  int64_t turn_words(size_t operand) const override { return turns.empty() ? 0 : turns[operand]; }
  bool sends_behind() const override { return one_turn; }
  int64_t row_words(size_t operand, int y) const override;
  const RegionPe& pe(int x, int y) const { return pes[size_t(y) * size_t(w) + size_t(x)]; }
  StreamFilter filter(size_t operand, int x, int y) const override {
    return x < 0 ? feeder_filters[size_t(y)][operand] : pe(x, y).filters[operand];
  }
};

RegionLayout lay_out(const autogen::Region&, const autogen::RegionCut&);

// The filter of an operand, by its number, in front of what takes it: `walk` becomes that of what it lets
// through. None beyond the filters of a router.
autogen::StreamFilter filter_operand(size_t operand, autogen::Walk& walk);

}  // namespace cs::kernels
