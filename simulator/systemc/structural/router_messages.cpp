// Colors that route messages (docs/timing.md §4): the header asks for the output that leads to its PE, along the row,
// then the column, then down the ramp, once no other message is on its way through it; what follows goes the same way.
#include "simulator/systemc/structural/router.h"

#include <bit>

namespace cs::sim::structural {

PortSet Router::message_output(const Lane& l, int color) const {
  if (l.message_output >= 0) return PortSet(1u << l.message_output);
  const auto header = isa::MessageHeader::of(l.held.front().wavelet.data);
  const int x = user_.x + header.column, y = user_.y + header.row;
  Port to = Port::ramp;
  if (at_.x != x)
    to = at_.x < x ? Port::east : Port::west;
  else if (at_.y != y)
    to = at_.y < y ? Port::south : Port::north;
  return message_inputs_[size_t(color)][size_t(to)] < 0 ? port_bit(to) : PortSet(0);
}

// The last wavelet frees the output for the next cycle.
void Router::follow_message(Port from, int color, uint32_t word, PortSet to) {
  Lane& l = lane(from, color);
  const int output = std::countr_zero(to);
  if (l.message_output < 0) {
    l.message_output = output;
    l.message_left = isa::MessageHeader::of(word).length;
    message_inputs_[size_t(color)][size_t(output)] = int(from);
  } else {
    --l.message_left;
  }
  if (l.message_left != 0) return;
  l.message_output = message_inputs_[size_t(color)][size_t(output)] = -1;
}

}  // namespace cs::sim::structural
