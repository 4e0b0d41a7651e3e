// What nodes cost as one kernel, by the estimates that sizing goes by: the interval on the best rectangle,
// and the fewest PEs that come near it. Origin and fusion are decided by it.
#pragma once

#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "compiler/autogen/region.h"
#include "compiler/graph/graph.h"
#include "compiler/kernels/kernels.h"
#include "compiler/passes/known_costs.h"
#include "runtime/machine/machine.h"

namespace cs::passes {

class GroupCosts {
 public:
  explicit GroupCosts(KnownCosts& known) : known_(known) {}

  // Of the nodes (topological order) as the kernel that the assignment of the first one names; infinite if
  // that is none, or fits nowhere.
  // Nobody asks for less than `enough` cycles.
  kernels::Cost of(const graph::Graph&, std::span<const graph::NodeId>, double enough = 0);
  kernels::Cost of(const autogen::Region&, double enough = 0);
  // Interval of the slowest of these kernels on the wafer, as far as they fit.
  double slowest(const graph::Graph&);

 private:
  KnownCosts& known_;
  // The answers so far: who asks again, with no smaller interval that is enough, hears the same.
  struct Answer {
    kernels::Cost cost;
    double enough = 0;  // what it was asked for
  };
  std::unordered_map<const KnownCosts::OfRegion*, Answer> regions_;
};

// Is a kernel faster than the one that is there? By its interval; by its latency if the intervals are alike.
bool is_faster(const kernels::Cost& made, const kernels::Cost& there);
// Why it takes the place of that one, which is `what`.
std::string benefit_text(const kernels::Cost& made, const kernels::Cost& there,
                         std::string_view what);

// The same for one node with another assignment than it has, or a copy of its own.
kernels::Cost cost_as(graph::Graph&, graph::NodeId, graph::Assignment, GroupCosts&);

}  // namespace cs::passes
