// Operands that arrive where they are needed: a copy of a whole operand into a temporary (a picture into its
// padded form) needs no array for the operand and no cycles. What fills the border is done once, before the
// first sample.
#include <algorithm>

#include "compiler/autogen/region.h"

namespace cs::autogen {

namespace {

using ops::LoopBlock;
using ops::LoopStatement;

bool is_fill(const LoopStatement& s) {
  return s.combine == ops::Combine::assign && s.out.index < 0 &&
         s.value.nodes[size_t(s.value.root)].kind == ops::ExprKind::constant;
}
bool is_copy(const LoopStatement& s) {
  return s.combine == ops::Combine::assign && s.out.index < 0 && s.loads.size() == 1 &&
         s.loads[0].index < 0 && s.loads[0].buffer != ops::kCounter &&
         s.value.nodes[size_t(s.value.root)].kind == ops::ExprKind::input;
}
bool loads(const LoopStatement& s, int buffer) {
  return std::any_of(s.loads.begin(), s.loads.end(),
                     [&](const ops::LoopAccess& a) { return a.buffer == buffer; });
}

struct Found {
  size_t block = 0, copy = 0;
  int fill = -1;  // in the same block
};

// The only statement that reads the operand, if it is a copy into a temporary that nothing else writes, but
// for a fill before it.
bool find_copy(const Region& r, const RegionShare& share, int operand, Found& found) {
  int readers = 0;
  const std::vector<LoopBlock>& blocks = share.program.blocks;
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (size_t i = 0; i < blocks[b].statements.size(); ++i) {
      if (loads(blocks[b].statements[i], operand)) found.block = b, found.copy = i, ++readers;
    }
  }
  if (readers != 1 || blocks[found.block].steps != 1) return false;
  const LoopStatement& copy = blocks[found.block].statements[found.copy];
  const ops::LoopBuffer& to = r.program.buffers[size_t(copy.out.buffer)];
  bool same =
      data_type_is_float(to.type.dtype) == data_type_is_float(r.program.buffers[size_t(operand)].type.dtype);
  if (!is_copy(copy) || to.kind != ops::BufferKind::temporary || !same) return false;
  for (size_t b = 0; b < blocks.size(); ++b) {
    for (size_t i = 0; i < blocks[b].statements.size(); ++i) {
      const LoopStatement& s = blocks[b].statements[i];
      if (s.out.buffer != copy.out.buffer || (b == found.block && i == found.copy)) continue;
      if (b != found.block || i > found.copy || found.fill >= 0 || !is_fill(s)) return false;
      found.fill = int(i);
    }
  }
  return true;
}

// The copy reads the stored words one after another; false if it does not.
bool placed_by(const LoopStatement& copy, const Runs& from, const Runs& to, Receive& made) {
  made.buffer = copy.out.buffer;
  made.first = local_address(copy.out.offset, to);
  int64_t next = 1;
  for (size_t k = copy.extents.size(); k-- > 0;) {
    if (copy.extents[k] == 1) continue;
    if (local_stride(copy.loads[0].strides[k], from) != next) return false;
    next *= copy.extents[k];
    made.moves.insert(made.moves.begin(), {copy.loads[0].strides[k], copy.extents[k]});
    made.steps.insert(made.steps.begin(), local_stride(copy.out.strides[k], to));
  }
  return next == from.words() && made.moves.size() <= 4 && local_address(copy.loads[0].offset, from) == 0;
}

}  // namespace

void receive_in_place(const Region& r, RegionShare& share) {
  begin_states(r, share);
  share.receive.assign(r.operands.size(), {});
  for (size_t k = 0; k < r.operands.size(); ++k) {
    int operand = r.operand_buffer[k];
    const Runs& stored = share.stored[size_t(operand)];
    Receive made;
    made.buffer = operand;
    for (const Level& l : stored.levels) {
      made.moves.push_back({l.stride, l.count});
      made.steps.push_back(local_stride(l.stride, stored));
    }
    share.receive[k] = made;
    Found found;
    if (stored.empty() || !find_copy(r, share, operand, found)) continue;
    std::vector<LoopStatement>& list = share.program.blocks[found.block].statements;
    made = {};
    if (!placed_by(list[found.copy], stored, share.stored[size_t(list[found.copy].out.buffer)], made))
      continue;
    share.receive[k] = made;
    list.erase(list.begin() + int64_t(found.copy));
    if (found.fill < 0) continue;
    const LoopStatement& fill = list[size_t(found.fill)];
    if (fill.value.nodes[size_t(fill.value.root)].value != 0) share.once.push_back(fill);
    list.erase(list.begin() + found.fill);
  }
}

}  // namespace cs::autogen
