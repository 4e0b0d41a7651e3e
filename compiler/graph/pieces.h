// Tensors of the model that cross the edge in pieces, each a stream of its own, so that no kernel joins or
// cuts them (docs/decisions/0031-pieces.md): an output that is a concatenation of values on the wafer, and an
// input of which only parts are taken. As in the host part a tensor is blocks of `stride` elements, of each
// of which a piece has `length` from `first` on.
//
// Nodes that are done that way have the origin host, where nothing is computed for them, and the kernel
// "pieces".
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/graph/graph.h"

namespace cs::graph {

KernelId pieces_id();
bool is_in_pieces(const Node&);

struct ValuePiece {
  ValueId value;  // behind views: what a kernel sends, or takes
  int64_t first = 0, length = 0;
  std::vector<ValueId> same;  // of an input: other values of the same elements
};
struct InPieces {
  int64_t stride = 0, blocks = 0;
  std::vector<ValuePiece> pieces;  // of an output as the operands of its node, of an input by `first`
  std::vector<NodeId> nodes;       // that need no kernel
};

// The outputs that are this concatenation, or views of it, in pieces. Nothing, with one clause why, if an
// operand is not made on the wafer, or something else takes the result.
std::optional<InPieces> output_in_pieces(const Graph&, NodeId concat, std::string& why);
// An input in pieces. Nothing if something takes more than a range of one of its dimensions, or ranges
// overlap.
std::optional<InPieces> input_in_pieces(const Graph&, ValueId input, std::string& why);

}  // namespace cs::graph
