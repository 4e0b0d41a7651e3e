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
//         shards: 8                # parts beside each other (cs-compile --shards), each on its share of the columns
//         half: true               # operands and result are 16-bit floats; default: f32
//         cause: "why more than 1.5 x its ideal"     # must be there exactly if it is
//         walk_missed: "why cs-objdump --cycles is more than 5 % off"   # with `walks: true`: if a kernel is
//
// An operand may say what its elements are: `below: 800` integers in [0, 800), `range: [0, 1]` numbers of it
// instead of [-1, 1), `values: [-1, 1]` some of these; and `absent: true` that an optional one is not there.
// Losses are described in loss_case.h.
//
// The graph, seeded operands and the results that the host computes are made when the job runs. A first
// extent of 1 counts samples: streamed ones are pipelined, and the cycles are the interval of the steady
// state; with resident operands they are those from the launch to the end of the last PE.
#pragma once

#include <cmath>
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
  bool absent = false;
  int64_t below = 0;                            // integers in [0, below); 0: floats
  std::vector<double> range = {-1, 1}, values;  // floats in [from, to), or some of these values
};

struct KernelCase {
  // Streamed samples until the interval is that of the steady state; a second launch shows that it can be repeated.
  int samples() const { return fused ? 1 : resident ? 2 : 8; }
  std::string op;
  Attrs attrs;
  std::vector<Operand> operands;
  int width = 1, height = 1;  // of all shards together
  int shards = 1;
  bool resident = false, half = false;
  std::optional<bool> fused;  // a loss as one generated form, or as primitives
  std::string cause, walk_missed;
  bool holds_walk = false;  // cs-objdump --cycles has to be within 5 %; it knows no pace of several kernels
  std::string rect() const { return std::to_string(width) + "x" + std::to_string(height); }
  int width_of_shard() const { return width / shards; }
  std::string point() const { return rect() + (resident ? "-resident" : "") + (half ? "-f16" : "") +
                                      (shards > 1 ? "-shards" + std::to_string(shards) : ""); }
  std::string shapes() const;  // "1x96 100x96"
};

// What a job of such a row gave, per sample.
struct KernelFigures {
  std::string origin, kernel;  // "handwritten", "gemv"
  double cycles = 0, estimated = 0;
  double walked = 0;    // of cs-objdump --cycles; 0: not known
  double ideal = 0;     // the bound (kernels::ideal_bound)
  std::string largest;  // its largest term
  int kernels = 0;      // of a loss
  double worst = 0;     // cycles over ideal of that kernel of a loss which is furthest from it, `kernel`
  double bytes_per_pe = 0;  // of a loss with resident operands, of the fullest PE
  double ratio() const { return ideal > 0 ? cycles / ideal : 0; }
  bool walk_holds() const { return cycles > 0 && std::abs(walked / cycles - 1) <= 0.05; }
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
// Cycles of the kernel by `cs-objdump --cycles --json`; 0: it does not know.
double walked_cycles(const std::string& objdump_json);

}  // namespace cs
