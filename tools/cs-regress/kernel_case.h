// A suite row about one kernel: an operator, its operands and the rectangle that computes it.
//
//   - name: gemv
//     op: gemm                     # row of the operator table; instead of `program`
//     attrs: {trans_b: 1}
//     machine: [wse2, wse3]
//     policy: [medium, aggressive] # the library's kernel, and the generated one
//     cases:                       # one job per case
//       - rect: [8, 8]
//         operands: [{shape: [1, 800]}, {shape: [800, 800], constant: true}, {shape: [1, 9], below: 800}]
//         resident: true           # operands lie on the PEs; default: they are streamed
//         half: true               # operands and result are 16-bit floats; default: f32
//         cause: "why more than 1.5 x its ideal"     # must be there exactly if it is
//
// The graph, seeded operands and the results that the host computes are made when the job runs. A first
// extent of 1 counts samples: streamed ones are pipelined, and the cycles are the interval of the steady
// state; with resident operands they are those from the launch to the end of the last PE.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/ops/ops.h"
#include "runtime/support/diag.h"
#include "runtime/support/yaml.h"

namespace cs {

struct Operand {
  ops::Shape shape;
  bool constant = false;
  int64_t below = 0;  // integers in [0, below); 0: floats in [-1, 1)
};

struct KernelCase {
  // Streamed samples until the interval is that of the steady state; a second launch shows that it can be repeated.
  int samples() const { return resident ? 2 : 8; }
  std::string op;
  Attrs attrs;
  std::vector<Operand> operands;
  int width = 1, height = 1;
  bool resident = false, half = false;
  std::string cause;
  std::string rect() const { return std::to_string(width) + "x" + std::to_string(height); }
  std::string point() const { return rect() + (resident ? "-resident" : "") + (half ? "-f16" : ""); }
  std::string shapes() const;  // "1x96 100x96"
};

// What a job of such a row gave, per sample.
struct KernelFigures {
  std::string origin, kernel;  // "handwritten", "gemv"
  double cycles = 0, estimated = 0;
  double ideal = 0;     // the bound (kernels::ideal_bound)
  std::string largest;  // its largest term
  double ratio() const { return ideal > 0 ? cycles / ideal : 0; }
};

// Reads `op`, `attrs` and `cases` of a row.
bool read_kernel_cases(const std::string& op, const YamlNode* attrs, const YamlNode& cases,
                       std::vector<KernelCase>& out, Diag&);
// Writes model.yaml, model.bin, inputs.npz and expected.npz into `folder`.
bool write_kernel_case(const KernelCase&, const std::string& folder, std::string& error);
// From the compiler's report and the statistics of the run; nothing, with the reason, if the kernel is not
// what the case asks for.
std::optional<KernelFigures> read_kernel_figures(const KernelCase&, const std::string& compile_report,
                                                 double cycles, std::string& error);

}  // namespace cs
