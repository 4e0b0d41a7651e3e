// States (graph::State) that stay on the wafer: the kernel that makes the next value of a state keeps it in
// the memory of its PEs, and sends it to whoever else computes with it before each sample.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "compiler/graph/graph.h"

namespace cs::mapping {

// Those that a kernel of these nodes keeps: it is generated from loops, makes the next value from this one,
// nobody else takes the next value, and the host does not compute with this one.
std::vector<const graph::State*> held_states(const graph::Graph&, std::span<const graph::NodeId> nodes);

// All of them, as values of the graph: the one that a sample begins with, and the one that it makes.
struct KeptStates {
  KeptStates(const graph::Graph&, std::span<const graph::Group>);
  bool is_before(graph::ValueId v) const { return after.contains(v); }
  bool is_after(graph::ValueId v) const { return before.contains(v); }
  std::map<graph::ValueId, graph::ValueId> after, before;  // of the one the other
};

}  // namespace cs::mapping
