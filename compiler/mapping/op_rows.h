// Rows of the report about the model's operators: which kernels compute each, and why they do.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace cs::mapping {

// `kernels_of`: names of the kernels that compute a node. Nodes that an operator was replaced by stand for
// it.
void add_op_rows(const graph::Graph&, const std::map<graph::NodeId, std::vector<std::string>>& kernels_of,
                 HostPart&);

// An operator that the host computes: its row among the kernels, and its step without operands.
KernelRow host_row(const graph::Graph&, graph::NodeId);
HostStep host_operator(const graph::Node&);

}  // namespace cs::mapping
