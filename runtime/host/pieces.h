// Tensors in pieces (runtime/program/host_part.h): what is cut from an input, and an output from what streams
// bring.
#pragma once

#include <functional>

#include "runtime/ops/tensor.h"
#include "runtime/program/host_part.h"

namespace cs {

// A piece of the whole, of the piece's own type.
ops::Tensor cut_piece(const HostTensor& whole, const Piece&, const HostTensor& own, const ops::Tensor& from);
// The whole of its pieces, each of which `piece` gives.
ops::Tensor join_pieces(const HostTensor& whole,
                        const std::function<const ops::Tensor&(const Piece&)>& piece);

}  // namespace cs
