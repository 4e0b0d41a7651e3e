// The host part of a Program: how tensors reach the wafer and come back, and what the reports call things.
//
// Text form: host.yaml, written by `cs-compile --emit csl` and read back by `cs-compile layout.csl --host host.yaml`.
// Everything here is per sample: a run with b samples repeats the steps b times, pipelined. Where the network is on the
// wafer several times, its copies take the samples in turn.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/numerics/data_type.h"
#include "runtime/numerics/fp16_format.h"
#include "runtime/support/diag.h"
#include "runtime/support/geometry.h"
#include "runtime/support/schedule.h"

namespace cs {

struct HostPort;

constexpr int kMostCopies = 128;  // of a network
constexpr int kWordBytes = 4;     // of a word that a link of the host carries

enum class Origin : uint8_t { handwritten, autogen, host, primitive };
std::string_view origin_name(Origin);
std::optional<Origin> origin_from_name(std::string_view);

// HostTensor::sample_dim of a tensor that has no dimension for samples, and yet is another one for each of
// them: arrays of several samples have these in a dimension of their own, before the others.
constexpr int kStackedSamples = -2;

// Part of a tensor that crosses the edge in pieces, each a stream over a port of its own: of every `stride` elements
// of the tensor (HostTensor::stride) the `length` from `first` on, one block after the other.
struct Piece {
  std::string tensor;  // as it is sent or received, of as many elements
  int64_t first = 0, length = 0;
  bool operator==(const Piece&) const = default;
};

// A named tensor of the host side: graph input or output, or a value between the wafer and a host step.
// An input in pieces is cut: its pieces are values that streams take. An output in pieces is put together: they are
// values, or outputs themselves, that streams bring, and have every element of it once. Neither is an operator of the
// host: a stream reads and writes words where they lie.
struct HostTensor {
  std::string name;
  DataType type{};
  std::vector<int64_t> shape;     // of one sample; the sample dimension stays in it with extent 1
  int sample_dim = -1;            // -1: the model's tensor has no sample dimension (b = 1)
  bool is_static = false;         // input: one value for all steps of a run
  uint8_t align = 0;              // input: its array begins at a multiple of so many bytes; 0: anywhere
  bool clones = false;            // an array that does not is cloned; else it is an error
  int64_t stride = 0;             // in pieces: elements from a block to the next; 0: whole
  std::vector<Piece> pieces = {};
  bool operator==(const HostTensor&) const = default;
};

// Bytes of weights.bin that are in PE memory at cycle 0: PE (x, y) of rect gets `bytes_per_pe` bytes from
// offset + ((y - rect.y) * rect.w + (x - rect.x)) * bytes_per_pe at the address of `symbol` in its tile program.
struct Constant {
  std::string symbol;
  Rect rect;
  uint32_t bytes_per_pe = 0;
  uint64_t offset = 0;
  bool operator==(const Constant&) const = default;
};

// Attributes of a host operator: the same kinds as in the graph.
using AttrValue = std::variant<int64_t, double, std::string, std::vector<int64_t>, std::vector<double>>;
using Attrs = std::vector<std::pair<std::string, AttrValue>>;  // sorted by name

// Instead of tiles: the tensor is planes of so many rows; a PE of column x has of each of them tile_rows rows
// from first_row + x * row_step on, and tile_columns columns from first_column on. What is outside a plane is
// zeros. All rows of PEs have the same, with row_step 0 all PEs; `by_rows`, row y of PEs has what column y
// would, all columns the same.
struct Windows {
  uint32_t planes = 0;  // 0: tiles
  int64_t plane_rows = 1;
  int64_t first_row = 0, first_column = 0, row_step = 1;
  bool by_rows = false;
  bool operator==(const Windows&) const = default;
};

// Which tile a PE has. In a folded ring the PEs of a row or column have the numbers 0, P - 1, 1, P - 2, …, so
// that neither the next one nor the one before is further than two PEs.
enum class TileOrder : uint8_t {
  straight,        // PE (x, y) has the tile of row y and column x
  ring,            // row i and column j: its numbers in the rings of its column and of its row
  skewed_columns,  // row i, column i + j modulo the columns of PEs
  skewed_rows,     // row i + j modulo the rows of PEs, column j
};

// How a tensor lies on a rectangle of PEs. Its elements in C order are the rows of a matrix of so many columns, which
// is cut into tiles, one for each PE; what is beyond its end are zeros. A PE holds its tile row by row.
struct Tiling {
  Rect rect;                         // fabric coordinates
  int64_t columns = 1;               // of the matrix
  uint32_t tile_rows = 1, tile_columns = 1;
  Windows windows = {};  // copies to PEs
  TileOrder order = TileOrder::straight;
  bool operator==(const Tiling&) const = default;
  // Column and row of the tile of PE (x, y) of the rectangle.
  Coord tile_of(Coord pe) const {
    if (order == TileOrder::straight) return pe;
    const auto number = [](int at, int n) { return at % 2 == 0 ? at / 2 : n - (at + 1) / 2; };
    const int i = number(pe.y, rect.h), j = number(pe.x, rect.w);
    if (order == TileOrder::skewed_columns) return {(i + j) % rect.w, i};
    if (order == TileOrder::skewed_rows) return {j, (i + j) % rect.h};
    return {j, i};
  }
};

// One step per sample; a step starts when its input tensors of that sample are complete. Streams (send, receive) leave
// the samples pipelined; a program with copies works on one after the other, step by step.
struct HostStep {
  enum class Kind : uint8_t { send, receive, op, copy_in, launch, copy_out } kind = Kind::op;
  std::string port;                  // send, receive: name of the HostPort
  std::string tensor;  // send, receive: elements in C order, one wavelet each; copies: as they lie on PEs, of
                       // 16 or 32 bits; integers of 64 bits as words
  std::string op;                    // op: name in runtime/ops
  std::vector<std::string> inputs, outputs;  // op
  Attrs attrs;
  bool whole_batch = false;          // op: once for all samples of the batch, when their operands are there
  bool words = false;                // copy_in: elements of 16 bits go two to a word, the first one below
  std::string symbol = {};           // copies: exported array; launch: exported function, on the whole user rectangle
  Tiling tiling = {};                // copies
  int copy = 0;                      // of the network: whose samples it handles; 0 if it takes the whole batch
  bool operator==(const HostStep&) const = default;
};

// A tensor that host operators need as a constant; bytes in weights.bin.
struct HostConstant {
  HostTensor tensor;
  uint64_t offset = 0, bytes = 0;
  bool operator==(const HostConstant&) const = default;
};

// Part of a state in PE memory: each PE of the rectangle has `bytes_per_pe` bytes of it at `symbol`, words of
// f32 or i32. Which elements these are is in weights.bin from `elements` on, PE by PE, row by row, as numbers
// of 32 bits.
struct StatePart {
  std::string symbol;
  Rect rect;
  uint32_t bytes_per_pe = 0;
  uint64_t elements = 0;
  bool operator==(const StatePart&) const = default;
};

// A tensor that goes on from sample to sample, as weights that are trained. Either it stays in PE memory, in
// parts, and begins as the constants at their symbols say. Or it is the host's: a sample begins with `input`
// and makes `output`, which is the input of the next one.
struct HostState {
  std::string name;     // for people and checkpoints: "w0", "w0.exp_avg"
  std::string purpose;  // "weights", "optimizer", "loss scale", "gradients"
  DataType type{};
  std::vector<int64_t> shape;
  std::string input = {}, output = {};  // the host's: among HostPart::values, of this type
  uint64_t offset = 0, bytes = 0;       // the host's, in weights.bin: what the first sample begins with
  std::vector<StatePart> parts = {};
  bool on_host() const { return !input.empty(); }
  bool operator==(const HostState&) const = default;
};

// A number that the host computes for every sample.
struct HostScalar {
  std::string input;                 // among HostPart::values, one element
  std::optional<LearningRate> rate;  // none: the number of the step, from 1 on
  int64_t samples = 1;               // that make one step; the value is the same for all of them
  bool last = false;                 // instead of both: 1 for the last sample, 0 for others; samples 0: 1 if it trains
  double value(int64_t sample) const {
    if (last) return (sample + 1) % samples == 0 ? 1 : 0;
    const int64_t step = sample / samples;
    return rate ? rate->value(step) : double(step + 1);
  }
  bool operator==(const HostScalar&) const = default;
};

struct KernelRow {                   // one kernel instance, wafer or host
  std::string name, op;              // op: what it computes ("gemm", "leaky_relu", "gemm+leaky_relu")
  std::string kernel;                // library or generator row that made it ("gemv", "dtg-contraction")
  Origin origin = Origin::autogen;
  std::string reason;                // why this origin
  Rect rect;                         // fabric coordinates; empty for host
  int64_t flops = 0;                 // per sample
  double ideal_cycles = 0, estimated_cycles = 0;
  uint32_t bytes_per_pe = 0;         // largest of its roles
  std::vector<int> colors;
  std::vector<std::string> nodes;    // graph nodes it implements
  std::string baseline;              // folder below OUT/baselines, empty if none
  int copy = 0;                      // of the network: which one it is a part of
  bool operator==(const KernelRow&) const = default;
};

struct OpRow {                       // one operator of the model
  std::string name, op;
  Origin origin = Origin::autogen;
  std::string reason;
  std::vector<std::string> kernels;  // KernelRow names
  std::string where;                 // "model.onnx: node Gemm_0" or "model.yaml:12"
  bool operator==(const OpRow&) const = default;
};

// What no program for this network can beat on the whole fabric of its machine, in cycles per sample.
struct Roof {
  double operations = 0;             // each at its own rate, on all PEs
  double memory = 0;                 // every weight is read once, by all PEs together
  double host = 0;                   // bytes of the model's inputs and outputs over the system's network
  bool operator==(const Roof&) const = default;
  double cycles() const { return std::max({operations, memory, host}); }
  const char* largest() const { return host == cycles() ? "host" : operations == cycles() ? "operations" : "memory"; }
};

struct HostPart {
  std::string model;
  std::string policy;
  std::string dtype;                 // "fp32", "fp16": decides the tolerance
  int copies = 1;                    // of the network: copy c takes the samples c, c + copies, c + 2 * copies, ...
  Roof roof;                         // all 0: not known
  std::vector<HostTensor> inputs, outputs;   // of the model
  std::vector<HostTensor> values;            // between steps
  std::vector<Constant> constants;
  std::vector<HostConstant> host_constants;
  std::vector<HostState> states;  // training
  std::vector<HostScalar> scalars;
  std::vector<HostStep> steps;               // in an order that satisfies their dependences
  std::vector<KernelRow> kernels;
  std::vector<OpRow> ops;
  bool operator==(const HostPart&) const = default;

  // An input, an output or a value; nullptr: there is none of this name.
  const HostTensor* tensor(std::string_view name) const;
  int copy_of(int sample) const { return sample % copies; }
  // Which of its copy's samples it is, from 0 on; and how many of the first `samples` are those of a copy.
  int turn_of(int sample) const { return sample / copies; }
  int samples_of(int copy, int samples) const { return (samples - copy + copies - 1) / copies; }
  // The samples of a step: the first one, and how far it is from one to the next.
  static int first_of(const HostStep& s) { return s.whole_batch ? 0 : s.copy; }
  int stride_of(const HostStep& s) const { return s.whole_batch ? 1 : copies; }
  bool handles(const HostStep& s, int sample) const { return s.whole_batch || s.copy == copy_of(sample); }
};

// Whether samples depend on each other: each is a step of training.
inline bool has_states(const HostPart& h) { return !h.states.empty(); }
// Whether a sample leaves behind on the wafer what the next one begins with.
inline bool keeps_states(const HostPart& h) {
  return std::any_of(h.states.begin(), h.states.end(), [](const HostState& s) { return !s.on_host(); });
}
// The 16-bit format of a Program with this host part: bf16 if a tensor of the model is bf16, else f16.
Fp16Format half_format(const HostPart&);

// host.yaml. It also carries the host ports, since a layout cannot declare them.
std::string host_part_to_yaml(const HostPart&, const std::vector<HostPort>& ports);
std::optional<HostPart> host_part_from_yaml(std::string text, const std::string& name,
                                            std::vector<HostPort>& ports, Diag&);

}  // namespace cs
