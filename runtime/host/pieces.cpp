// Blocks of bytes, from one stride to the next.
#include "runtime/host/pieces.h"

#include <cstring>

#include "runtime/host/samples.h"

namespace cs {
namespace {

// Offsets in bytes of one block of a piece, in the whole and in the piece.
template <typename Copy>
void for_each_block(const HostTensor& whole, const Piece& p, const Copy& copy) {
  const size_t element = size_t(data_type_bytes(whole.type)), bytes = size_t(p.length) * element;
  const int64_t blocks = tensor_type(whole).elements() / whole.stride;
  for (int64_t b = 0; b < blocks; ++b)
    copy(size_t(b * whole.stride + p.first) * element, size_t(b) * bytes, bytes);
}

}  // namespace

ops::Tensor cut_piece(const HostTensor& whole, const Piece& p, const HostTensor& own,
                      const ops::Tensor& from) {
  ops::Tensor piece(tensor_type(own));
  for_each_block(whole, p, [&](size_t at, size_t in_piece, size_t bytes) {
    std::memcpy(piece.bytes.data() + in_piece, from.bytes.data() + at, bytes);
  });
  return piece;
}

ops::Tensor join_pieces(const HostTensor& whole,
                        const std::function<const ops::Tensor&(const Piece&)>& piece) {
  ops::Tensor joined(tensor_type(whole));
  for (const Piece& p : whole.pieces) {
    const ops::Tensor& from = piece(p);
    for_each_block(whole, p, [&](size_t at, size_t in_piece, size_t bytes) {
      std::memcpy(joined.bytes.data() + at, from.bytes.data() + in_piece, bytes);
    });
  }
  return joined;
}

}  // namespace cs
