// Operators over whole rows that become one kernel: primitives whose values are all [rows, n], [rows, 1] or
// constants, with reductions over the last dimensions among them. Softmax, log softmax, layer norm, RMS norm
// and the like are such groups once they are decomposed; no operator is named here.
//
// A group is one expression per row. Its inputs are the row, constants of n elements, and what reductions of
// earlier nodes give; the first two are slices of n elements, everything that depends on the last alone is a
// number.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"
#include "compiler/kernels/kernels.h"
#include "runtime/ops/expr.h"

namespace cs::autogen {

enum class RowInputKind : uint8_t { row, constant, sum, largest, smallest };

struct RowInput {
  RowInputKind kind = RowInputKind::row;
  graph::ValueId value;  // row, constant: the value
  int of = -1;           // reductions: the node that is reduced
  bool is_slice() const { return kind == RowInputKind::row || kind == RowInputKind::constant; }
  bool operator==(const RowInput&) const = default;
};

struct RowGroup {
  ops::Expr expr;  // as vector instructions want it (rewrite_for_vectors); the root is the result
  std::vector<RowInput> inputs;  // of the expression
  graph::ValueId operand, result;
  int64_t rows = 1, n = 1;
  double flops = 0;  // per sample

  std::vector<bool> numbers() const;              // which nodes are the same for all elements of a row
  std::vector<int> largest_of() const;            // per input: the node whose maximum it is, or -1
  std::vector<graph::ValueId> constants() const;  // in the order of inputs
  kernels::Work work(const kernels::RowCost&) const;
};

// The group of these nodes (topological order); if they form none, `why` is one clause for the user. Streams
// are f32; what is resident may be 16-bit floats.
bool make_row_group(const graph::Graph&, std::span<const graph::NodeId> nodes, RowGroup&, std::string& why,
                    bool resident = false);

// Can the node be part of a group of rows with n elements? Of any number if n is 0, which it then says for a
// reduction.
bool row_member(const graph::Graph&, graph::NodeId, int64_t& rows, int64_t& n, std::string& why,
                bool resident = false);

}  // namespace cs::autogen
