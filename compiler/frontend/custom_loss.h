// Losses of one's own in a configuration: formulas (runtime/ops/formula.h) over named inputs.
//
//   custom_losses:
//     - name: Focal
//       autogen: true                  # it may become one kernel, where its use says use_autogen: true
//       inputs: [logits, targets]      # the network's output, then further inputs of the program
//       args: {alpha: 0.25, gamma: 2}  # with their defaults
//       expr: |
//         p = sigmoid(logits)
//         ...
//
// What the formula gives is reduced as `reduction` of the use says, unless it names `reduction` itself. An
// input that pick() or chosen() takes as index holds indices of classes; others have the shape of the output.
#pragma once

#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "runtime/ops/losses.h"
#include "runtime/support/diag.h"
#include "runtime/support/yaml.h"

namespace cs::frontend {

struct CustomLoss {
  std::string name;
  ops::CustomFormula formula;
  std::vector<double> values;  // of the arguments
  bool autogen = false;
  ops::CustomFacts facts = {};
  YamlNode expr = {};  // where the formula stands
};

// The list `custom_losses`; `taken` are names that mean something else. Problems are in diag.
std::vector<CustomLoss> read_custom_losses(const YamlNode& list, const std::vector<std::string>& taken,
                                           Diag&);

// "line 2, column 5: what is wrong" in a formula becomes an error at that place of the file.
void formula_error(const YamlNode& expr, const std::string& name, const std::string& error, Diag&);

// Whether a use becomes one kernel: both definition and use must ask for it. One alone is a warning that says
// what the other lacks. Only a loss that is one of the catalogue's under another name (loss_match.h) needs no
// mark; the warning says where others part from the nearest.
bool asks_for_one_kernel(const CustomLoss&, bool use_autogen, SourceLoc, Diag&);

}  // namespace cs::frontend
