// DTG, the Distributed Task Generator: writes CSL for kernels that no library has.
//
// Two generators: elementwise chains from the expressions of the operator rows (elementwise.h), and one
// contraction loop nest (contraction.h). What they write follows the protocol of the handwritten kernels
// (kernels/kernels.h).
#pragma once

#include <span>
#include <string>

#include "compiler/graph/graph.h"

namespace cs::autogen {

// Can the generators make a kernel of this one node? If not, `why` is one clause for the user.
bool can_generate(const graph::Graph&, graph::NodeId, std::string& why);

// Can `next` (elementwise) join the kernel that `group` forms (topological order, one result), whose last
// node's only user it is? As an epilogue of a contraction, or as a further link of an elementwise chain.
bool can_fuse(const graph::Graph&, std::span<const graph::NodeId> group, graph::NodeId next,
              std::string& why);

}  // namespace cs::autogen
