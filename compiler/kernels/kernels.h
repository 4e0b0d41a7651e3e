// The kernel library: one row per handwritten CSL kernel, and what the compiler must know to place one.
//
// A kernel computes a `Work` per sample on a rectangle. All kernels, handwritten or generated, follow one
// protocol (docs/autogen.md): every operand arrives as one stream of wavelets in C order at a feeder PE west
// of the rectangle, the feeder hands it out slice by slice, and the result leaves as one stream in C order at
// the south-east corner. So two kernels for the same work can be exchanged, and a stream does not care who
// made it.
//
//   match_handwritten   can this node be computed by a library kernel?
//   plan_kernel         bytes, interval, latency of a work on a rectangle
//   ideal_bound         what nothing can beat: operations, bytes, wavelets; never of a schedule
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/graph/graph.h"
#include "runtime/machine/machine.h"
#include "runtime/support/geometry.h"

namespace cs::autogen {
struct Region;         // region.h
struct RegionCut;      // region_cut.h
class StatementCosts;  // statement_costs.h
}

namespace cs::kernels {

// Kinds of kernels (kind.h), one file each.
class Kind;
const Kind*
contraction_kind();  // rows × (y[m] = W[m,n] x[n] + b): output rows over PE rows, reduction over PE columns
const Kind* elementwise_kind();  // n elements on a row of PEs
const Kind* rows_kind();         // n elements on a row of PEs, `row` of them belonging together
const Kind* reduction_kind();    // rows × (n elements to 1)
const Kind* scan_kind();         // rows × (steps of a line to their running sums), on a row of PEs
const Kind* broadcast_kind();    // rows × (1 element to n copies)
const Kind* relay_kind();        // n elements pass one PE (control wavelets stay behind)
const Kind* slack_kind();        // n elements wait on a row of PEs
const Kind* region_kind();       // any loops, generated (autogen/region.h)
const Kind* walk_kind();         // n elements in another order, or the largest of windows
const Kind* attention_kind();    // rows heads, n / row keys and m / row queries of each
const Kind* lookup_kind();       // rows × (1 number to m elements of a table)
const Kind* resident_transpose_kind();    // matrices of n columns and `row` rows, `rows` in all, on the PEs
const Kind* resident_concat_kind();       // rows × n elements from several operands on the PEs
const Kind* resident_convolution_kind();  // a convolution of n elements to m on the PEs
const Kind* resident_pool_kind();    // the largest elements or means of windows, n elements to m on the PEs
const Kind* resident_sum_kind();     // rows × (n elements of a chain to 1) on the PEs
const Kind* resident_region_kind();  // any loops, of operands on the PEs
const Kind* resident_lookup_kind();  // n numbers to m words of rows of a table on the PEs
const Kind* resident_attention_kind();  // rows heads, n / row keys and m / row queries of each, on the PEs
const Kind* resident_product_kind();    // rows × (y[m] = W[m,n] x[n] + b), operands on a square of PEs
const Kind* resident_shift_kind();      // the same by shifts
const Kind* resident_gemv_kind();       // the same, rows or m being 1, on any rectangle

// The code of an elementwise chain, in numbers: what autogen generates for a slice (autogen/expression.h).
struct ChainCost {
  double per_element = 1;  // cycles, by vector instructions
  double per_part = 0;     // cycles of the starts of the instructions for part of a slice
  double by_scalars = 0;   // cycles per element of a loop of scalars, if the chain could be one
  int temporaries = 0;     // as long as a part
  bool loop = false;       // temporaries are as long as the slice
  bool to_fabric = false;  // the last instruction sends
  bool operator==(const ChainCost&) const = default;
};
// The code that computes a row of n elements, in numbers: without the row's way in, with its way out.
struct RowCost {
  double per_element = 1;  // cycles
  double per_row = 0;      // of starts, calls and scalars
  int temporaries = 0;     // as long as a row
  double resident = 1;     // cycles per element where the result stays in memory
  double least = 0;        // cycles per element that instructions take at least (decisions/0009)
  bool operator==(const RowCost&) const = default;
};
// How partial results meet along a line of PEs (reduce_layout.csl).
enum class LineReduce : uint8_t { chain, two_phase, tree };
// A slice of n elements is computed in parts of so many, an even number; the last one may be shorter.
int part_of(int n);

// In which order the words of the operands, one operand behind the other, become those of a result in C
// order; of windows, each word is the largest of so many.
struct Walk {
  std::array<int, 4> extents{1, 1, 1, 1}, strides{};  // outermost first; strides in elements
  int offset = 0;
  std::array<int, 2> windows{1, 1}, window_strides{};
  int places() const { return windows[0] * windows[1]; }
  int needed() const;  // words, from the first one to the last one that is read
  bool operator==(const Walk&) const = default;
};

// A convolution of one sample: extents of rows and columns, of the operand, the kernel and the result.
struct Convolution {
  int in = 1, out = 1, groups = 1;  // channels
  std::array<int, 2> extents{1, 1}, kernel{1, 1}, strides{1, 1}, dilations{1, 1}, before{}, results{1, 1};
  int taps() const { return in / groups * kernel[0] * kernel[1]; }  // of an element of the result
  // Elements that so many of the result need along a dimension.
  int need(size_t d, int elements) const {
    return (elements - 1) * strides[d] + (kernel[d] - 1) * dilations[d] + 1;
  }
  bool operator==(const Convolution&) const = default;
};

// Running sums along lines of so many steps, each of `inner` elements that are summed apart.
struct Scan {
  int64_t lines = 1, steps = 1, inner = 1;
  bool exclusive = false, reverse = false;
  bool integer = false;  // whole numbers of 32 bits
  bool operator==(const Scan&) const = default;
};

// What one kernel instance computes per sample, in numbers.
struct Work {
  const Kind* kind = elementwise_kind();
  int64_t rows = 1;              // how often per sample (vectors of a matrix, rows of a reduction)
  int64_t n = 1;                 // elements in per row and operand
  int64_t m = 1;                 // elements out per row
  int64_t row = 1;               // rows: elements that stay on one PE
  int operands = 1;              // streams in
  bool half = false;             // streams of 16-bit floats, which PEs convert from and to f32
  bool resident = false;         // operands and result lie on the PEs, nothing is streamed
  double flops_per_element = 1;  // elementwise and epilogue: per output element
  RowCost row_cost;              // rows
  double least_cycles =
      0;                 // elementwise: per output element, what instructions take at least (decisions/0009)
  bool maximum = false;  // reduction: instead of a sum
  ChainCost chain;       // elementwise and epilogue
  bool through = false;  // elementwise: one instruction from stream to stream, no slice is kept
  int constants = 0;     // elementwise constants kept per output element (sharded like the output); lookup: rows of
                         // the table
  Walk walk;             // walks
  Scan scan;             // scans
  Convolution convolution;  // on resident operands
  bool weights = false;     // a product on the PEs: its matrix is constant
  std::shared_ptr<const autogen::Region> loops = {};  // of a region on the PEs, which is sized by its code
  bool bytes = false;    // contraction: weights are steps of a scale per output and take a byte each
  // Contraction, attention: operands and weights have 16 bits on the PEs as in the model; products, sums are f32.
  bool native = false;
  bool operator==(const Work&) const = default;
  int64_t words_in() const { return rows * n * operands; }
  int64_t words_out() const { return rows * m; }
  int64_t flops() const;
  // Rows: a sample is so many rounds, each with its part of the rows. A divisor of their number.
  Work in_rounds(int64_t rounds) const;
};

// How a work is cut for a rectangle of w × h PEs (the feeders are west of it and not counted).
struct Cut {
  int w = 1, h = 1;
  int n_slice = 1, n_last = 1;  // elements per column, and of the last column
  int m_slice = 1, m_last = 1;  // outputs per row, and of the last row
  // Resident operands: n_slice elements on every PE (of rows and columns alike; the last ones may hold zeros
  // beyond the end); a reduction has m_slice rows on every PE, n_slice elements of each, and partial sums
  // meet along `line` PEs; of an attention, n_slice keys and the scores of m_slice keys at once.
  int line = 1;
  LineReduce line_reduce{};
  int group = 1;  // two_phase: PEs of a group
  // Of a region on the PEs: words of its arrays and temporaries, bytes of code, cycles.
  int64_t words = 0, code_bytes = 0;
  double cycles = 0;
  std::shared_ptr<const autogen::RegionCut> loops = {};  // of a region of streams: which loops are cut
  int rounds = 1;             // of a scan: parts of a line on every PE, of n_slice or n_last words
  int groups = 1, steps = 1;  // and stretches of a part that are summed side by side, and their steps
  int waiting = 0;            // of an attention on streams: blocks of queries that wait on a PE
  bool operator==(const Cut&) const = default;
};
struct Extent {
  int width = 0, height = 0;
  bool contains(Coord c) const { return c.x >= 0 && c.y >= 0 && c.x < width && c.y < height; }
};
// Extents that cut n elements differently, up to a limit: 1, 2, 3, … while ceil(n / k) changes.
std::vector<int> extents(int64_t n, int limit);
// The cut with exactly this rectangle, nothing if a column or row would be empty.
std::optional<Cut> cut_work(const Work&, int w, int h);

struct Memory {  // bytes of the fullest PE, largest users first
  uint32_t total = 0;
  std::vector<std::pair<std::string, uint32_t>> users;
};

struct Plan {
  Cut cut;
  Memory memory;
  double interval_cycles = 0;  // one sample to the next, in steady state
  double latency_cycles = 0;   // first wavelet in to last wavelet out
  // Of a PE, from the last word that it waits for until it asks for the next sample; 0: known of walked kernels alone.
  double computing_cycles = 0;
};
// What a kernel is expected to cost on the best of some rectangles: its interval, infinite if it fits none; and the
// fewest PEs that come near it.
struct Cost {
  double interval_cycles = 0, pes = 0;
  double latency_cycles = 0;  // on those PEs
};
// Of these plans.
Cost least_cost(const std::vector<Plan>&, const Machine&);
using CodeCosts = autogen::StatementCosts;
// By what code that is not written yet is estimated: the memory of PEs, and what statements are known to cost on
// machines like this one.
struct Costing {
  const Machine& machine;
  CodeCosts& statements;
};
std::shared_ptr<CodeCosts> statement_costs(const Machine&);
// Cycles of a reduce of n words along P PEs by the model of HPDC'24 (reduce.csl), and the quickest way.
struct LineCost {
  LineReduce how = LineReduce::chain;
  int group = 1;
  double cycles = 0;
};
LineCost line_reduce_cost(int64_t n, int P, const Machine&);
// The cut with this rectangle of work with resident operands.
std::optional<Cut> cut_resident(const Work&, int w, int h, const Machine&);
// Bytes, and cycles from the launch to the end of the last PE.
std::optional<Plan> plan_resident(const Work&, int w, int h, const Machine&);
// The estimate for a rectangle; uses the constants of docs/timing.md, as the report's estimated_cycles does.
std::optional<Plan> plan_kernel(const Work&, int w, int h, const Machine&);

// What no kernel for this work on this rectangle can beat, in cycles per sample (decisions/0007).
struct Bound {
  double compute = 0;  // operations / (PEs · rate)
  double memory = 0;   // bytes / (PEs · bytes per cycle)
  double ramp = 0;     // words into or out of cores / (PEs · wavelets per cycle)
  double link = 0;     // words in or out / links of the perimeter
  double hops = 0;     // across the rectangle
  double cycles() const;
  std::string_view largest() const;  // "compute", "memory", "ramp" or "link"
};
Bound ideal_bound(const Work&, int element_bytes, int w, int h, const Machine&);
double ideal_cycles(const Work&, int element_bytes, int w, int h, const Machine&);

// ---- the table

struct Row {
  std::string_view name;  // "gemv"
  std::string_view file;  // "gemv.csl"
  const Kind* kind = nullptr;
  std::vector<std::string_view> ops;  // rows of the operator table it can compute
  std::string_view summary;
  std::string_view epilogue =
      {};  // file of the same as an epilogue, on an array in memory; empty if there is none
};
std::vector<const Row*> table();
const Row* find_row(std::string_view name);
// The first row that lists an operator.
const Row* row_for(std::string_view op);
// Of a library kernel for whole rows.
RowCost library_row_cost(std::string_view name, const Machine&);
// All library files.
std::vector<std::string_view> files();
// CSL text of a library file ("gemv.csl").
std::string_view source(std::string_view file);
// The library files that a module imports, directly or not.
std::vector<std::string_view> imports_of(std::string_view text);

// The row that computes this node, nullptr with the reason in `why` (one clause, for the user).
const Row* match_handwritten(const graph::Graph&, graph::NodeId, std::string& why);

// The numbers of a node as a kernel sees them; nothing with a reason if no kernel of ours could.
std::optional<Work> work_of(const graph::Graph&, graph::NodeId, std::string& why);

}  // namespace cs::kernels
