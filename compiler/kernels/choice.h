// A Choice: the kernel that a group of nodes got, once and for all. Mapping hands it on; its kind writes its
// roles and packs its constants.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/autogen/region.h"
#include "compiler/autogen/row_group.h"
#include "compiler/autogen/stream_filter.h"
#include "compiler/kernels/constant_view.h"
#include "compiler/kernels/kind.h"
#include "compiler/kernels/roles.h"
#include "runtime/ops/expr.h"
#include "runtime/program/host_part.h"
#include "runtime/support/geometry.h"

namespace cs::kernels {

// A constant that lives in PE memory: one float per output (bias, epilogue constants), a matrix (weights), or
// what a region reads.
struct PackedConstant {
  std::string name;      // symbol below the instance's name: "w", "b", "c0"
  ConstantView values;   // w: row-major [m][n]; others [m] (elementwise, regions: all elements)
  bool integer = false;  // PEs hold words of i32: of regions, of weights in bytes
  std::string state =
      {};  // of regions: the value changes from sample to sample, and is called so (HostState)
};

// An operand of a concat: its array on a PE, and its words of a row of the result.
struct Joined {
  std::string array;
  int64_t width = 0;
};

struct Choice {
  std::string op;      // "gemm+leaky_relu"
  std::string kernel;  // "gemv", "gemv+dtg-elementwise", "dtg-contraction", "dtg-elementwise"
  std::string reason;
  Origin origin = Origin::autogen;
  const Row* row = nullptr;              // library kernel; null: generated
  std::vector<graph::ValueId> operands;  // values streamed in
  std::vector<graph::ValueId> results;   // values streamed out
  std::string title;                     // for the header of generated text
  Work work;
  std::optional<ops::Expr> expr;  // elementwise: the chain; contraction: the epilogue (operand 0 = y)
  int expr_constants = 0;
  const Row* epilogue = nullptr;  // library kernel that is the epilogue; null: none, or generated
  std::vector<PackedConstant> constants;
  std::optional<autogen::RowGroup> rows;  // whole rows, generated
  std::optional<autogen::Region> region;  // loops
  float scale = 1;                        // reduction, attention
  float epsilon = 0;                      // layer_norm
  bool maximum = false;                   // reduction
  bool keys_by_columns = false;           // attention: a head's keys are a matrix with a column each
  std::optional<int64_t> hidden_behind = {};  // attention: a query sees keys up to its own number and so many more
  int64_t slack = 0;                      // of a buffer: words on all its PEs; 0: it is none
  std::vector<Joined> joined;             // concat: operands and constants in order
};

// What mapping inserts: every element of a stream `copies` times, and a PE that leaves control wavelets
// behind.
Choice broadcast_choice(int64_t elements, int64_t copies);
Choice relay_choice(int64_t words);
// A buffer of `size` words for a stream of so many, on a row of PEs or, where that would be long, a rectangle.
Choice slack_choice(int64_t words, int64_t size);
int64_t slack_words_per_pe(const Machine&);
std::vector<Plan> slack_plans(const Choice&, int64_t words, const Machine&);  // the first one: a row

using autogen::StreamFilter;
// Words that a row gets of an operand, on the average, from which on it is worth it that operands agree about its links
// (mapping/operand_turns.h).
inline constexpr double kShortestPart = 256;

// What PEs of a rectangle have that is not the same for all of a role; its kind knows more of it.
class Layout {
 public:
  Layout() = default;
  Layout(const Layout&) = default;
  Layout& operator=(const Layout&) = default;
  virtual ~Layout() = default;
  // What of an operand's stream the router of a PE rejects; of a row's feeder, x is -1.
  virtual StreamFilter filter(size_t operand, int x, int y) const = 0;
  // Rows can take their parts of the operands one operand after the other: words of a run of such a part, 0 if they
  // cannot. And they can send theirs of the result behind the last one.
  virtual int64_t turn_words(size_t /*operand*/) const { return 0; }
  virtual bool sends_behind() const { return false; }
  // What its feeder sends a row of an operand; of rows that have feeders.
  virtual int64_t row_words(size_t /*operand*/, int /*y*/) const { return 0; }
};

// An array of PEs below the instance's name, of i32 or f32.
struct Exported {
  std::string name;
  bool integer = false;
};

// Where a choice lies: its name, rectangle and cut, and the colours of its ports.
struct Setting {
  std::string name;
  Rect rect;
  Cut cut;
  std::vector<int> arriving;  // colours of the operands' streams, at the feeders if there are any
  std::vector<int> in;        // colours on which operands reach the PEs of the rectangle
  int out = 0;
  int chain[2] = {0, 0};  // partial sums, by parity of the western one of two columns
  const Machine& machine;
  // Of a rectangle in rows with collectors: colours to them, by result; and those on which all results leave.
  std::vector<int> gathered = {}, leaving = {};
  const Layout* layout = nullptr;
  // Feeders of rows have room for what their row gets of an operand (Layout::turn_words), and send it when it is there.
  bool operands_held = false;
  // Where rows take operands in turn: in which order, and colours from each one's feeders to the next one's; if results
  // are sent behind them, of the last one to the collectors, and from these to the first one's.
  std::vector<int> operand_turns = {}, gates = {};
  int back = 0;  // partial sums from the last column to the first one
};

// The PE, there, that hands out operand k slice by slice (Footprint::feeders).
Role slice_feeder(const Choice&, const Setting&, int k, Coord there);

// An array of the PEs of a rectangle, the tile of a tensor, whose elements in C order are the rows of a
// matrix. Beyond its end are zeros.
struct ResidentArray {
  std::string name;
  int64_t elements = 0, columns = 1;     // of the matrix
  int tile_rows = 1, tile_columns = 1;   // of every PE
  int w = 1, h = 1;                      // PEs that have a part
  bool by_rows = true, by_columns = true;  // else all rows (columns) of PEs have the same
  bool odd_word = false;                 // begins 4 bytes beyond a multiple of 8
  Windows windows = {};                  // of planes, instead of tiles of the matrix
  bool half = false;                     // the host has 16-bit floats, the kernel works on words of f32
  TileOrder order = TileOrder::straight;  // of the tiles
  int words() const { return tile_rows * tile_columns * std::max(1, int(windows.planes)); }
};
struct ResidentArrays {
  std::vector<ResidentArray> operands;   // x0, x1, …
  std::vector<ResidentArray> constants;  // as many as the choice has, with their names
  ResidentArray result;                  // may be an operand's
  std::vector<ResidentArray> more;       // results behind the first one
  size_t results() const { return 1 + more.size(); }
  bool in_place() const;
};

// What a kernel adds to a program whose operands lie in arrays of its PEs, all in CSL.
struct ResidentText {
  std::string layout;      // declarations before the layout block
  std::string tile;        // statement that sets the code of PE (x, y)
  std::string parameters;  // of the PE file
  std::string import;      // of the kernel, as `kernel`
  std::string call = "kernel.run()";
  bool gives_back = false;  // the command stream, when its tasks are done; else what is called has then ended
  std::map<std::string, std::string> files;
};
// What the chain of a choice costs where its operands lie on the PEs.
void count_resident_chain(Choice&, const Machine&);

// What a kernel that gives the command stream back calls to do so. Before it the result becomes what the host
// has.
inline std::string_view give_back(const Choice& choice) {
  return choice.work.half ? "give_back()" : "sys.unblock_cmd_stream()";
}

// A rectangle of PEs that hold a constant in slices of so many bytes.
struct PackedPart {
  std::string constant;
  Rect rect;  // from the kernel's rectangle on, beyond it of feeders and collectors
  uint32_t bytes_per_pe = 0;
  // Appends the words of a PE, by its number row by row. It is called when the weights are written: it keeps
  // what it needs.
  std::function<void(size_t pe, std::vector<uint32_t>&)> append;
  std::optional<size_t> as = {};  // the words are those of an earlier part, by its number
  std::string state = {};  // numbers of the elements of a state, so that others find them without knowing the kind
};

}  // namespace cs::kernels
