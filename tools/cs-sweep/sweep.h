// A sweep: machine values x programs x policies, from a YAML file or from the command line, expanded into
// points.
//
//   machine: [wse2, wse3]                 # names or paths; default wse2
//   set: {router.hop_cycles: [1, 2, 4]}   # every combination of the values of all keys
//   policy: [disabled, medium]            # models only; default medium
//   iterations: 8                         # samples per run; default: what the inputs hold
//   programs:
//     - name: mlp                         # default: the file's name
//       program: mlp.onnx                 # MODEL or LAYOUT.csl, relative to the file
//       inputs: inputs.npz
//       check: expected.npz
//       params: {P: [4, 8]}               # LAYOUT.csl: its parameters; lists are expanded too
//       launch: run                       # LAYOUT.csl: exported function(s) to launch
//       fabric: 16x16
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/support/diag.h"

namespace cs::sweep {

// A name and the values that it takes in turn.
struct Axis {
  std::string name;
  std::vector<std::string> values;
};

struct ProgramRow {
  std::string name, program, inputs, check, launch, fabric;
  std::vector<Axis> params;
  bool is_layout() const { return program.ends_with(".csl"); }
};

struct Sweep {
  std::vector<std::string> machines, policies;
  std::vector<Axis> set;  // machine keys, without "machine."
  std::vector<ProgramRow> programs;
  int iterations = 0;
};

// One run: a program on one machine.
struct Point {
  const ProgramRow* program = nullptr;
  std::string machine, policy;  // policy: empty for CSL
  std::vector<std::pair<std::string, std::string>> set, params;
  int iterations = 0;
};

std::optional<Sweep> read_sweep(const std::string& path, Diag&);
// "A,B,[1, 2],C": values between commas outside of brackets.
std::vector<std::string> split_values(const std::string& text);
// "machine.router.hop_cycles=1,2,4" or without "machine."; false with a diagnostic.
bool add_axis(Sweep&, const std::string& key_equals_values, Diag&);
// Defaults, machine keys and values that exist, at least one program and one value per axis.
bool finish_sweep(Sweep&, Diag&);
// In a fixed order: programs, their parameters, machines, machine values, policies; the last one changes
// fastest.
std::vector<Point> points_of(const Sweep&);

}  // namespace cs::sweep
