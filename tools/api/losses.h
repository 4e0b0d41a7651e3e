// Losses of one's own from C++, and the switch that lets them become one kernel.
//
//   cs::Loss focal = cs::autogen_loss({.name = "Focal", .inputs = {"logits", "targets"},
//                                      .args = {{"alpha", 0.25}, {"gamma", 2}}, .expr = "..."});
//   cs::graph::ValueId loss = cs::add_loss(graph, focal, {logits, targets}, {.use_autogen = true}, diag);
//
// The formula's language is that of docs/losses.md; gradient, kernels and primitives follow from it. Both the
// definition (autogen_loss) and the use (use_autogen) must ask for one kernel; one alone is a warning, and
// the loss is made of primitives.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "compiler/graph/graph.h"
#include "runtime/support/diag.h"

namespace cs {

struct Loss {
  std::string name;
  std::vector<std::string> inputs;                   // what the formula calls its operands
  std::vector<std::pair<std::string, double>> args;  // numbers that it names, with their defaults
  std::string expr;
  bool autogen = false;
};

// The loss, which may become one generated kernel for its forward and one for its backward pass.
Loss autogen_loss(Loss);

struct LossOptions {
  std::string reduction =
      "mean";  // mean, sum or none; of what the formula gives, unless it names `reduction`
  bool use_autogen = false;
  std::map<std::string, double> args = {};  // instead of the defaults
};

// A node behind these operands. Invalid, with the reason in the Diag, where the formula does not fit them.
graph::ValueId add_loss(graph::Graph&, const Loss&, std::vector<graph::ValueId> operands, const LossOptions&,
                        Diag&);

}  // namespace cs
