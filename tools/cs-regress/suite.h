// A regression suite: rows of YAML, expanded over machines and policies into jobs.
//
//   suite:
//     - name: mnist                  # required; a job is NAME/MACHINE/POLICY
//       program: ../../models/mnist_mlp/model.onnx     # MODEL or LAYOUT.csl, relative to the suite file
//       machine: [wse2, wse3]        # a name or a list; default wse2
//       policy: [medium, aggressive] # models only; default medium
//       inputs: ../../models/mnist_mlp/inputs_0.npz
//       check: ../../models/mnist_mlp/expected_0.npz
//       group: smoke                 # for --group
//       params: {width: 8}           # LAYOUT.csl: its parameters; may hold lists: one job per combination
//       fabric: 16x16
//       launch: main                 # LAYOUT.csl: exported function(s) to launch
//       measure: cycles              # or interval, or an expression over exported symbols (expression.h)
//       expect: {value: 3128, tolerance: 2%, source: "where the number comes from"}
//                                    # value may be a formula over the params: "B + 3127"
//       allow: [leftover-wavelets]   # with a `reason:`
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/support/diag.h"

namespace cs {

struct Expectation {
  double value = 0;
  double tolerance = 0;        // absolute
  std::string tolerance_text;  // as written: "2 %", "2 cycles"
  std::string source;
};

struct Job {
  std::string name, group;
  std::string program;  // path
  std::string onnx_set;  // --onnx: folder with input_K.pb and output_K.pb, instead of `inputs` and `check`
  std::string machine = "wse2", policy = "medium", fabric, inputs, check, launch, measure = "cycles";
  std::map<std::string, std::string> params;
  std::vector<std::pair<std::string, int64_t>> dims;  // values of symbolic dimensions
  std::vector<std::string> allow;
  std::optional<Expectation> expect;
  SourceLoc loc;
  bool is_layout() const { return program.ends_with(".csl"); }
};

// All jobs of the suite in file order. Every problem is reported with its position.
std::optional<std::vector<Job>> read_suite(const std::string& path, Diag&);

}  // namespace cs
