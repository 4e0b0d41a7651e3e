// How operands arrive at a PE, and what differs between PEs with one module: see region_module.h.
#include <algorithm>

#include "compiler/autogen/joins.h"
#include "compiler/autogen/region_module.h"

namespace cs::autogen {

Arrival arrival_of(const Walk& walk) {
  if (!walk.loops.empty() || walk.before > kMostPassed || walk.after > kMostPassed) return Arrival::in_steps;
  const int steps = int(walk.before > 0) + int(walk.run > 0) + int(walk.after > 0);
  return steps == 0 ? Arrival::never : steps == 1 ? Arrival::at_once : Arrival::in_steps;
}

bool has_next_task(const RegionShare& share, size_t operand) {
  const Arrival own = arrival_of(share.walks[operand]);
  if (own != Arrival::at_once) return own == Arrival::in_steps;
  size_t before = 0, events = 0;
  bool in_steps = false;
  for (size_t i = 0; i < share.walks.size(); ++i) {
    const Arrival arrival = arrival_of(share.walks[i]);
    events += arrival == Arrival::at_once;
    before += arrival == Arrival::at_once && i < operand;
    in_steps = in_steps || arrival == Arrival::in_steps;
  }
  return Join::has_own_task(before, events + (in_steps ? 1 : 0));
}

bool short_gaps(const Walk& walk) {
  return walk.before <= kMostPassed && walk.after <= kMostPassed &&
         std::all_of(walk.loops.begin(), walk.loops.end(), [](const Walk::Loop& l) { return l.gap <= kMostPassed; });
}

std::vector<uint32_t> pe_words(const RegionShare& share) {
  std::vector<uint32_t> list;
  auto add = [&](int64_t words) { list.push_back(uint32_t(words)); };
  for (const Walk& w : share.walks) add(w.before);
  for (size_t i = 0; i < share.walks.size(); ++i) {
    if (share.walks[i].run == 0) continue;
    for (const Walk::Loop& l : share.walks[i].loops) add(l.gap);
    add(share.walks[i].after);
  }
  list.resize(list.size() + 2 * share.turns.size() + size_t(share.own));
  return list;
}

}  // namespace cs::autogen
