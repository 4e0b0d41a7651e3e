// DTG, the Distributed Task Generator: writes CSL for kernels that no library has.
//
// Five generators: elementwise chains from the expressions of the operator rows (elementwise.h), groups of
// operators over whole rows (row_code.h), reductions of the last dimensions (reduction.h), one contraction
// loop nest (contraction.h), and any operator from its loops (region.h). What they write follows the protocol
// of the handwritten kernels (kernels/kernels.h).
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/autogen/region.h"
#include "compiler/graph/graph.h"

namespace cs::kernels {
class Kind;
}

namespace cs::autogen {

// The kind of which a kernel is generated for this one node: elementwise, a contraction, a reduction or a
// region. Null if none is; `why` is then one clause for the user.
const kernels::Kind* generator_for(const graph::Graph&, graph::NodeId, std::string& why);

// Every kind of which one can be: that one first, and for a product regions too. Those walk over a slice of
// all rows and of all steps with one instruction where a contraction begins one for every word that comes,
// and compute an epilogue over the whole slice at once; a contraction sends its first row while further ones
// come.
std::vector<const kernels::Kind*> generators_for(const graph::Graph&, graph::NodeId, std::string& why);

// The region that these nodes (topological order) form, if the generator takes it.
bool make_region(const graph::Graph&, std::span<const graph::NodeId> nodes, Region&, std::string& why);

// Can `next` (elementwise) join the kernel that `group` forms (topological order, one result), whose last
// node's only user it is? As an epilogue of a contraction, or as a further link of an elementwise chain.
bool can_fuse(const graph::Graph&, std::span<const graph::NodeId> group, graph::NodeId next,
              std::string& why);

}  // namespace cs::autogen
