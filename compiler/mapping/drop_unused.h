// Kernels whose results nobody takes.
#pragma once

#include <map>
#include <vector>

#include "compiler/mapping/held_states.h"
#include "compiler/mapping/instances.h"

namespace cs::mapping {

// A kernel may do without an operand of its nodes, as a choice does whose condition is known: what makes
// nothing else has nobody to send it to. `made`: instances by the number of their group, those that are left
// afterwards; of regions, results that nobody takes stay in the PEs. Kernels that keep a state are needed for
// that.
void drop_unused(const graph::Graph&, const std::vector<graph::Group>&, const KeptStates&,
                 std::map<size_t, Instance>& made);

}  // namespace cs::mapping
