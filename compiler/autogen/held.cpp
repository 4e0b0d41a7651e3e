// Held streams: backwards from the stream to kernels that take whole samples.
#include "compiler/autogen/held.h"

#include <algorithm>

#include "compiler/autogen/autogen.h"
#include "compiler/kernels/kind.h"

namespace cs::autogen {

using graph::NodeId;
using graph::ValueId;

bool HeldStreams::may_wait(const Region& r) const {
  if (r.operands.size() < 2 || !large_enough_to_slice(r)) return false;
  return std::all_of(r.operands.begin(), r.operands.end(), [&](ValueId v) { return held(v); });
}

// By a region that takes its operands whole; or everything that the stream is made of is held.
bool HeldStreams::held(ValueId stream) const {
  NodeId producer = g_.value(stream).producer;
  bool on_wafer = producer.valid() && g_.node(producer).assignment.origin != Origin::host;
  if (!on_wafer || !one_taker(stream)) return false;
  const std::vector<NodeId> group = group_of_(producer);
  Region r;
  std::string why;
  // What sends several results sends one after the other.
  if (!build_region(g_, group, r, why) || r.results.size() != 1) return false;
  if (std::all_of(r.operands.begin(), r.operands.end(), [&](ValueId v) { return held(v); })) return true;
  return kernels::from_loops(g_, producer) && slice_region(r) == 1;
}

void HeldStreams::add_takers(ValueId v, std::vector<NodeId>& takers, bool& output) const {
  output = output || g_.value(v).is_output;
  for (NodeId user : g_.value(v).users) {
    if (graph::is_transparent(g_, user)) {
      for (ValueId view : g_.node(user).outputs) add_takers(view, takers, output);
    } else if (NodeId group = group_of_(user).front();
               std::find(takers.begin(), takers.end(), group) == takers.end()) {
      takers.push_back(group);
    }
  }
}

bool HeldStreams::one_taker(ValueId stream) const {
  std::vector<NodeId> takers;
  bool output = false;
  add_takers(stream, takers, output);
  return takers.size() == 1 && !output;
}

}  // namespace cs::autogen
