// Loop programs: what an operator computes, element by element, as loops over flat buffers.
//
// A row of the operator table that is no plain expression defines itself by a loop rule: for given types and
// attributes it builds a LoopProgram. Host evaluation interprets that program (evaluate_loops) and DTG turns
// the same program into vector instructions and scalar loops of a PE, so the meaning of an operator is said
// once. Everything is static: shapes are numbers, and every address is an affine function of the loop
// counters, plus at most one index that is read from memory.
//
//   program    blocks, one after another
//   block      statements, one after another, all of it `steps` times (recurrences: scans, RNNs, top-k)
//   statement  for every point of `extents`: out = combine(out, value(loads...)), in C order of the axes
//
// Example: y[i] = sum over j of a[i, j] * b[j] is two statements with extents {I} and {I, J}:
//   y at {1}    assign 0
//   y at {1, 0} add    x0 * x1   with loads a at {J, 1} and b at {0, 1}
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/ops/expr.h"
#include "runtime/ops/tensor.h"

namespace cs::ops {

// `LoopAccess::buffer` of a load that has the address itself as its value: loop counters in expressions.
inline constexpr int kCounter = -1;

struct LoopAccess {
  int buffer = 0;                // of LoopProgram::buffers, or kCounter
  int64_t offset = 0;            // elements
  int64_t step = 0;              // elements per step of the block
  std::vector<int64_t> strides;  // elements, one per axis of the statement
  int index = -1;                // >= 0: load number `index` of the statement (an integer) is added, times
  int64_t index_stride = 0;      //   this; the loads it names come before it
  int64_t index_extent = 0;      // how many values the index has; a negative one counts from the end
  int own = -1;                  // of a counter on a PE: >= 0: this one of the PE's own numbers is added in place
                                 //   of `offset` (compiler/autogen/region_own.h)
  bool operator==(const LoopAccess&) const = default;
};

enum class Combine : uint8_t { assign, add, multiply, max, min };
std::string_view combine_name(Combine);

struct LoopStatement {
  std::vector<int64_t> extents;  // all > 0
  LoopAccess out;
  std::vector<LoopAccess> loads;
  Expr value;  // operand i = loads[i]
  Combine combine = Combine::assign;
  bool operator==(const LoopStatement&) const = default;
};

struct LoopBlock {
  int64_t steps = 1;
  std::vector<LoopStatement> statements;
  bool operator==(const LoopBlock&) const = default;
};

enum class BufferKind : uint8_t { operand, result, temporary };
struct LoopBuffer {
  std::string name;
  BufferKind kind = BufferKind::temporary;
  TensorType type;  // temporaries: any shape with the right number of elements
  bool operator==(const LoopBuffer&) const = default;
};

struct LoopProgram {
  std::vector<LoopBuffer> buffers;  // operands, then results, then temporaries
  std::vector<LoopBlock> blocks;
  bool operator==(const LoopProgram&) const = default;
};

// Every access stays within its buffer, operands are not written, loads of an index come before their use.
// The first problem in `error`. (An index that memory holds is checked when the program runs.)
bool check_loops(const LoopProgram&, std::string& error);
// One statement per line, for messages, tests and `--dump-after`: "y[4*i + j] += x0[...] * x1[...]".
std::string loops_text(const LoopProgram&);
// Runs the program. One operand per operand buffer, in their order; null: no statement loads it. Buffers
// hold double while it runs, integers beyond 2^53 lose bits; results are rounded once, to their types.
bool evaluate_loops(const LoopProgram&, std::span<const Tensor* const> operands, std::span<Tensor> results,
                    std::string& error);
// Lowest and highest address that an access reaches over the extents and steps, without its index.
struct AddressRange {
  int64_t first = 0, last = 0;
};
AddressRange address_range(const LoopAccess&, std::span<const int64_t> extents, int64_t steps);

// ---- building

// A buffer seen as a tensor: strides in elements. Loop rules slice, permute and repeat views, then make
// accesses of them.
struct LoopView {
  int buffer = 0;
  int64_t offset = 0;
  Shape shape;
  std::vector<int64_t> strides;

  LoopAccess access() const;                           // axis k of the statement = dimension k
  LoopAccess access(std::span<const int> dims) const;  // axis k = dimension dims[k]; -1: repeated
  LoopView permuted(std::span<const int> dims) const;
  LoopView broadcast_to(const Shape&) const;  // numpy rules
  LoopView sliced(int dim, int64_t start, int64_t extent, int64_t step = 1) const;
  LoopView with_shape(const Shape&) const;  // needs a view in C order without gaps
  LoopView reversed(int dim) const;
  LoopView split(int dim, const Shape& parts) const;  // one dimension as several; their product is its extent
  // Dimension `dim` and a new one at the end: windows of `extent` elements, `spacing` apart, at every
  // `step`-th element; `count` of them.
  LoopView windows(int dim, int64_t count, int64_t step, int64_t extent, int64_t spacing) const;
};

class LoopBuilder {
 public:
  LoopBuilder(LoopProgram&, std::span<const TensorType* const> operands, std::span<const TensorType> results);
  LoopView operand(int k) const;  // of the row; absent ones must not be asked for
  bool has_operand(int k) const;
  LoopView result(int k = 0) const;
  bool has_result(int k) const;
  DataType type_of(const LoopView& v) const { return p_.buffers[size_t(v.buffer)].type.dtype; }
  LoopView temporary(const std::string& name, DataType, const Shape&);
  // Statements join the block that begin_block() opened last; one block of one step is open at first.
  void begin_block(int64_t steps);
  // `value` in operands x0, x1, … = loads; CS_CHECK that it parses. Statements over no point are left out.
  void statement(const std::vector<int64_t>& extents, LoopAccess out, std::vector<LoopAccess> loads,
                 std::string_view value, Combine = Combine::assign);
  void statement(const std::vector<int64_t>& extents, LoopAccess out, std::vector<LoopAccess> loads,
                 Expr value, Combine = Combine::assign);
  // out = value(loads broadcast to out), over out's shape.
  void elementwise(const LoopView& out, const std::vector<LoopView>& loads, std::string_view value);
  void fill(const LoopView& out, double value);
  void copy(const LoopView& out, const LoopView& from) { elementwise(out, {from}, "x0"); }

 private:
  LoopProgram& p_;
  std::vector<int> operand_;  // buffer of each operand, -1 if absent
  int first_result_ = 0, results_ = 0;
};

// The value of the loop counters: offset + Σ stride · counter.
LoopAccess counter(int64_t offset, std::vector<int64_t> strides, int64_t step = 0);

}  // namespace cs::ops
