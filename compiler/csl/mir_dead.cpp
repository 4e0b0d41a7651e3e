// Pass `dead`: what cannot be reached, values that nobody reads, stores that nobody sees.
#include <algorithm>

#include "compiler/csl/mir_flow.h"
#include "compiler/csl/mir_passes.h"

namespace cs::csl::mir {
namespace {

using isa::Op;
using isa::Operand;
using isa::OperandKind;

bool keep_only(Code& code, const std::vector<bool>& keep) {
  if (std::find(keep.begin(), keep.end(), false) == keep.end()) return false;
  Edit edit(code);
  for (size_t i = 0; i < code.lines.size(); ++i) {
    if (!keep[i]) continue;
    edit.begin(i);
    edit.push(code.lines[i]);
  }
  edit.finish();
  return true;
}

bool drop_unreachable(Code& code) {
  const std::vector<Block> blocks = find_blocks(code);
  std::vector<bool> reached(blocks.size()), keep(code.lines.size());
  std::vector<uint32_t> work{0};
  reached[0] = true;
  while (!work.empty()) {
    const uint32_t b = work.back();
    work.pop_back();
    for (uint32_t s : blocks[b].successors)
      if (!reached[s]) reached[s] = true, work.push_back(s);
  }
  for (size_t b = 0; b < blocks.size(); ++b)
    for (uint32_t i = blocks[b].first; i < blocks[b].last; ++i) {
      // A jump to the next line says nothing.
      const int32_t label = target_label(code.lines[i].inst);
      keep[i] = reached[b] && !(label >= 0 && code.labels[size_t(label)] == i + 1);
    }
  if (code.lines.size() > 1 && std::find(keep.begin(), keep.end(), true) == keep.end()) return false;
  return keep_only(code, keep);
}

bool drop_values(const MirFunction& f, Code& code) {
  const std::vector<Block> blocks = find_blocks(code);
  const Liveness live = find_live(f, code, blocks);
  const bool carries = reads_carry(code);
  std::vector<bool> keep(code.lines.size(), true);
  for (size_t b = 0; b < blocks.size(); ++b) {
    RegisterSet now = live.out[b];
    for (uint32_t i = blocks[b].last; i-- > blocks[b].first;) {
      const isa::Inst& inst = code.lines[i].inst;
      const Operand& dst = inst.args[0];
      const bool value = is_value(inst, carries) || is_load(inst.op);
      const bool same =
          (inst.op == Op::mov16 || inst.op == Op::mov32) && is_register(dst) && dst == inst.args[1];
      if (value && is_virtual(dst) && (same || !now.has(dst.value))) {
        keep[i] = false;
        continue;
      }
      step_back(f, code.lines[i], now);
    }
  }
  return keep_only(code, keep);
}

// Stores that another one to the same place follows with nothing between that could read it, and stores into
// slots that nothing reads.
bool drop_stores(Context& c, MirFunction& f, Code& code) {
  c.reached.see(f, code);
  std::vector<bool> keep(code.lines.size(), true), read(f.slots.size());
  for (const Line& line : code.lines) {
    const size_t first = is_store(line.inst.op) ? 2 : 0;
    for (size_t i = first; i < line.inst.args.size(); ++i)
      if (line.inst.args[i].kind == OperandKind::slot) read[size_t(line.inst.args[i].value)] = true;
    if (line.call >= 0)
      for (const Operand& a : f.calls[size_t(line.call)].args)
        if (a.kind == OperandKind::slot) read[size_t(a.value)] = true;
  }
  const auto index = [](const Operand& o) { return int64_t(o.value); };
  for (const Block& block : find_blocks(code)) {
    std::vector<Place> later;  // written before it is read
    for (uint32_t i = block.last; i-- > block.first;) {
      const Line& line = code.lines[i];
      const isa::Inst& inst = line.inst;
      const auto seen = [&](const Place& p) {
        std::erase_if(later, [&](const Place& l) { return may_meet(l, p, c.reached); });
      };
      if (is_store(inst.op)) {
        const Place p = place_of(inst.args[0], inst.args[1], access_bytes(inst.op), index);
        const bool unread = inst.args[0].kind == OperandKind::slot && !read[size_t(inst.args[0].value)];
        const bool hidden = p.kind != Place::Kind::fixed && p.kind != Place::Kind::pointer &&
                            std::find(later.begin(), later.end(), p) != later.end();
        if (unread || hidden) {
          keep[i] = false;
          continue;
        }
        if (p.kind == Place::Kind::variable || p.kind == Place::Kind::element) later.push_back(p);
      } else if (is_load(inst.op)) {
        seen(place_of(inst.args[1], inst.args[2], access_bytes(inst.op), index));
      } else if (is_dsr_load(inst.op)) {
        seen(place_of(inst.args[1], inst.args[2], 20, index));
      } else if (line.call >= 0 || inst.is_vector() || is_jump(inst.op) || cost(inst.op) == isa::Cost::task ||
                 cost(inst.op) == isa::Cost::config) {
        later.clear();
      }
      // Indices are registers here: what they name changes where they are written.
      for_each_register(f, line, [&](const Operand& o, bool, bool written) {
        if (written) std::erase_if(later, [&](const Place& l) { return l.index == o.value; });
      });
    }
  }
  return keep_only(code, keep);
}

}  // namespace

bool drop_dead(Context& c, MirFunction& f, Code& code) {
  bool changed = false;
  while (drop_unreachable(code) || drop_stores(c, f, code) || drop_values(f, code)) changed = true;
  return changed;
}

}  // namespace cs::csl::mir
