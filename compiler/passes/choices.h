// What --explain choices shows: for every decision of the passes the candidates, what each costs by the estimates that
// the decision goes by, and which was taken. Recorded only if somebody asks; decisions do not depend on it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/kernels/kernels.h"

namespace cs::passes {

struct PassContext;

struct Candidate {
  std::string what;
  std::optional<kernels::Cost> cost;  // nothing: it is not possible, or nobody estimates it
  std::string note;                         // why not
};
struct Choice {
  std::string pass, subject;  // an operator, or "a with b" of a fusion
  std::vector<Candidate> candidates;
  size_t taken = 0;
};

// Two kernels beside each other: the interval of the slower one, the PEs and the latency of both.
kernels::Cost apart(const kernels::Cost&, const kernels::Cost&);
// Between two ways of which both have a cost.
void note_choice(const PassContext&, std::string_view pass, std::string subject, Candidate first, Candidate second,
                 bool second_taken);
// Library, generator and host for a node that has its origin.
void note_origins(graph::Graph&, graph::NodeId, PassContext&);
// "one kernel: a, b" of the nodes' names.
std::string names_of(const graph::Graph&, std::span<const graph::NodeId>);

}  // namespace cs::passes
