// Colors that route messages (docs/timing.md §4): a header wavelet says where the message goes and how many follow it.
//
//   output   a header takes the output that leads to its PE, first along the row, then along the column, then down the
//            ramp, once nothing else is on its way through that output; what follows takes the same output
//   follow   the last wavelet gives the output back
// Of the core, an operation that receives (core_vector.cpp) and a data task (core_tasks.cpp) count along, because what
// they do with the header and the last wavelet differs.
#include "simulator/engine/core.h"

namespace cs::sim {
namespace {

Port towards(Coord at, const Rect& user, isa::MessageHeader h) {
  const int x = user.x + h.column, y = user.y + h.row;
  if (at.x != x) return at.x < x ? Port::east : Port::west;
  if (at.y != y) return at.y < y ? Port::south : Port::north;
  return Port::ramp;
}

}  // namespace

// Where the oldest wavelet of the lane goes; nothing if that output is busy with the message of another lane, whose
// last wavelet wakes this one.
PortSet Block::message_output(const Lane& l, const ColorNode& n) const {
  if (l.message_output != 0) return PortSet(1u << (l.message_output - 1));
  const auto header = isa::MessageHeader::of(entry_data(lane_front(l)));
  const Port output = towards(coord_of(n.pe), world.program.user, header);
  return PortSet(port_bit(output) & ~n.message_outputs);
}

// A wavelet of the lane departs.
void Block::follow_message(Lane& l, ColorNode& n, uint32_t word, size_t output, Cycle now) {
  count_sent(routers[n.pe], output, 1);
  if (l.message_output == 0) {
    l.message_output = uint8_t(output + 1);
    l.message_left = uint8_t(isa::MessageHeader::of(word).length);
    n.message_outputs |= port_bit(Port(output));
  } else {
    --l.message_left;
  }
  if (l.message_left != 0) return;
  l.message_output = 0;
  n.message_outputs &= PortSet(~port_bit(Port(output)));
  wake_node(l.node, now);
}

// The operation drops the header in a cycle of its own.
bool Core::drop_header(VectorOp& op, Cursor& c) {
  pop_input(c.queue);
  op.next = now_ + 1;
  return false;
}

// The last wavelet of a message ends an operation that a control wavelet would end.
void Core::end_of_message(VectorOp& op) {
  for (const Cursor* c : {&op.a, &op.b}) {
    if (c->kind != Cursor::Kind::fabin || !pe_.inputs[c->queue].messages) continue;
    if (pe_.inputs[c->queue].message_left == 0 && op.config.on_control == isa::DsrConfig::OnControl::terminate)
      op.total = op.done;
  }
}

}  // namespace cs::sim
