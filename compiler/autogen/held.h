// Which streams may wait in front of a region until its other operands come.
//
// A region that takes part after part of several streams (slicing, region.h) takes no further part of one
// before the parts of the others are there. If both come from one place, the one that waits could keep that
// place from ever sending what the other is made of. It cannot where the sample was held before: whoever
// makes the stream has taken all that it is made of, and nobody else gets the stream.
#pragma once

#include <functional>
#include <vector>

#include "compiler/autogen/region.h"

namespace cs::autogen {

class HeldStreams {
 public:
  // The nodes of the kernel that a node is in.
  using GroupOf = std::function<std::vector<graph::NodeId>(graph::NodeId)>;
  HeldStreams(const graph::Graph& g, GroupOf group_of) : g_(g), group_of_(std::move(group_of)) {}

  // Of a region that is small enough anyway: false.
  bool may_wait(const Region&) const;

 private:
  bool held(graph::ValueId stream) const;
  bool one_taker(graph::ValueId stream) const;
  void add_takers(graph::ValueId, std::vector<graph::NodeId>& takers, bool& output) const;

  const graph::Graph& g_;
  GroupOf group_of_;
};

}  // namespace cs::autogen
