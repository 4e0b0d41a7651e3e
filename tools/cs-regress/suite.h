// A regression suite: rows of YAML, expanded over machines and policies into jobs.
//
//   suite:
//     - name: mnist                  # required; a job is NAME/MACHINE/POLICY
//       program: ../../models/mnist_mlp/model.onnx     # MODEL or LAYOUT.csl, relative to the suite file
//       machine: [wse2, wse3]        # a name or a list; default wse2
//       policy: [medium, aggressive] # models only; default medium
//       inputs: ../../models/mnist_mlp/inputs_0.npz
//       check: ../../models/mnist_mlp/expected_0.npz
//       group: smoke                 # for --group; several with commas: quick,vision
//       params: {width: 8}           # LAYOUT.csl: its parameters; may hold lists: one job per combination
//       fabric: 16x16
//       iterations: 8                # samples, the inputs again and again: what an interval needs
//       baseline_interval: 26767.8   # cycles per sample of an earlier build (network_table.h)
//       joins: true                  # the network branches
//       launch: main                 # LAYOUT.csl: exported function(s) to launch
//       measure: cycles              # or interval, or an expression over exported symbols (expression.h)
//       expect: {value: 3128, tolerance: 2%, source: "where the number comes from"}
//                                    # beside it `missed: why`, if points are known to lie beyond the tolerance;
//                                    # value may be a formula over the params: "B + 3127"; tolerance none:
//                                    the row # only prints both. `result:` must hold exactly, whatever the
//                                    cycles
//       points: [{L: 1, T: 4, value: 119.71}]          # instead of lists in params: one job per point; what
//       is
//                                    # `value` goes into the formula by this name
//       result: {measure: "at(data, 0)", value: P}
//       silicon_calibration: true    # with the machine's rates of silicon (its section calibration)
//     - name: gemv                   # one kernel instead of a program: `op`, `attrs`, `cases`
//     (kernel_case.h)
//       op: gemm
//       cases: [{rect: [8, 8], operands: [{shape: [1, 800]}, {shape: [800, 800], constant: true}]}]
//       class: scalar                # what the expected cycles consist of most (classes.h)
//       checkout: owner/name         # program lies in a checkout below --sources DIR; skipped without
//       allow: [leftover-wavelets]   # with a `reason:`
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/support/diag.h"
#include "tools/cs-regress/kernel_case.h"

namespace cs {

struct Expectation {
  double value = 0;
  double tolerance = 0;        // absolute
  std::string tolerance_text;  // as written: "2 %", "2 cycles"
  std::string source;
  bool gates = true;  // false: printed beside the result, whatever the difference
  // Why some points of the row are known to lie beyond the tolerance: they are printed as missed and do not fail.
  std::string missed;
};

struct Job;
struct Result;
// Makes the files of a job in `folder` and says where they are; false with what is wrong.
using PrepareJob = std::function<bool(Job&, const std::string& folder, std::string& error)>;
// Sets Result::ok or Result::message from the outputs (.npz) of a run.
using JudgeJob = std::function<void(const std::string& outputs, Result&)>;

struct Job {
  std::string name, group;
  std::string program;  // path
  PrepareJob prepare;   // null: `program`, `inputs` and `check` are files
  JudgeJob judge;       // null: `measure`, `expect` and `result_measure`
  std::string machine = "wse2", policy = "medium", fabric, inputs, check, launch, measure = "cycles";
  std::map<std::string, std::string> params;
  std::vector<std::string> set;                       // machine.key=value, compiled for
  int iterations = 0;                                 // of cs-sim; 0: what the inputs hold
  double baseline_interval = 0;                       // cycles; 0: none, the build of then could not run it
  bool network = false, joins = false;                // a row of the table of networks; one that branches
  std::string copies;                                 // --copies of cs-compile; empty: not given
  std::vector<std::pair<std::string, int64_t>> dims;  // values of symbolic dimensions
  std::vector<std::string> allow;
  std::optional<Expectation> expect;
  std::string result_measure;  // must be result_value exactly
  double result_value = 0;
  bool silicon = false;
  bool wafer_only = false;                // an operator that the host computes is a failure
  std::optional<KernelCase> kernel_case;  // rows with `op`
  std::string checkout;                   // owner/name
  bool left_out = false;                  // there is no folder of checkouts
  std::string error_class;                // of rows that expect a published figure (classes.h)
  std::string point;                      // "P=512 B=16" of the parameters that vary
  int gradients = 0;                      // that a golden case expects
  SourceLoc loc;
  bool is_layout() const { return program.ends_with(".csl"); }
};

// All jobs of the suite in file order. Every problem is reported with its position. Programs of checkouts are
// looked for in SOURCES/owner/name, SOURCES/owner+name and SOURCES/name; without SOURCES they are `left_out`.
std::optional<std::vector<Job>> read_suite(const std::string& path, const std::string& sources, Diag&);

}  // namespace cs
