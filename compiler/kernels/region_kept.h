// What PEs of a region keep of the operands, each PE looked at once.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "compiler/autogen/region.h"

namespace cs::kernels {

class Kept {
 public:
  Kept(const autogen::Region& r, const autogen::RegionCut& cut) : r_(r), cut_(cut) {}
  const autogen::Runs& of(size_t operand, int x, int y) {
    const auto known = known_.find({x, y});
    if (known != known_.end()) return known->second[operand];
    return note(x, y, shard_region(r_, cut_, x, y))[operand];
  }
  const std::vector<autogen::Runs>& note(int x, int y, const autogen::RegionShare& share) {
    std::vector<autogen::Runs>& list = known_[{x, y}];
    list.clear();
    for (int b : r_.operand_buffer) list.push_back(share.stored[size_t(b)]);
    return list;
  }

 private:
  const autogen::Region& r_;
  const autogen::RegionCut& cut_;
  std::map<std::pair<int, int>, std::vector<autogen::Runs>> known_;  // by PE, by operand
};

}  // namespace cs::kernels
