// Pass `dead`: what cannot be reached, values and copies that nobody needs, stores that nobody sees.
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

// A copy of a value that nobody reads behind it: the value is made in the register that it is copied to.
// Backwards over each block, so that what is live is known.
class Copies {
 public:
  Copies(MirFunction& f, Code& code) : f_(f), code_(code), keep_(code.lines.size(), true) {}

  bool run() {
    if (std::none_of(code_.lines.begin(), code_.lines.end(), is_copy)) return false;
    const std::vector<Block> blocks = find_blocks(code_);
    const Liveness live = find_live(f_, code_, blocks);
    for (size_t b = 0; b < blocks.size(); ++b) {
      RegisterSet now = live.out[b];
      for (uint32_t i = blocks[b].last; i-- > blocks[b].first;) {
        if (is_copy(code_.lines[i]) && !now.has(code_.lines[i].inst.args[1].value) &&
            rename(blocks[b].first, i))
          keep_[i] = false;
        else
          step_back(f_, code_.lines[i], now);
      }
    }
    return keep_only(code_, keep_);
  }

 private:
  static bool is_copy(const Line& line) {
    const auto& [to, from, rest, none] = line.inst.args;
    return (line.inst.op == Op::mov16 || line.inst.op == Op::mov32) && is_virtual(to) && is_virtual(from) &&
           !(to == from);
  }

  // From the line that makes the value on it has the other name, if nothing in between has to do with that
  // one.
  bool rename(uint32_t first, uint32_t copy) {
    const Operand to = code_.lines[copy].inst.args[0], from = code_.lines[copy].inst.args[1];
    uint32_t made = copy;
    for (bool found = false; !found;) {
      if (made-- == first) return false;
      bool reads = false, meets = false;
      for_each_register(f_, code_.lines[made], [&](const Operand& o, bool read, bool written) {
        found |= written && o == from;
        reads |= read && o == from;
        meets |= o == to;
      });
      // What makes the value may read the other register, but not go on from the value.
      if (found ? reads : meets) return false;
    }
    for (uint32_t i = made; i < copy; ++i)
      for_each_register(f_, code_.lines[i], [&](Operand& o, bool, bool) {
        if (o == from) o = to;
      });
    return true;
  }

  MirFunction& f_;
  Code& code_;
  std::vector<bool> keep_;
};

// A literal of 32 bits of which one half is written again: the other half.
bool store_half(isa::Inst& inst, bool low) {
  if (inst.op != Op::st32 || !is_literal(inst.args[2])) return false;
  inst.op = Op::st16;
  const uint32_t v = uint32_t(inst.args[2].value);
  inst.args[2].value = int32_t(low ? v & 0xFFFF : v >> 16);
  if (!low) add_bytes(inst.args[0], inst.args[1], 2);
  return true;
}

// Stores that another one to the same place follows with nothing between that could read it, and stores into
// slots that nothing reads.
bool drop_stores(Context& c, MirFunction& f, Code& code) {
  c.reached.see(f, code);
  std::vector<bool> keep(code.lines.size(), true), read(f.slots.size());
  bool halved = false;
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
        const auto hidden = [&](int32_t from, int32_t bytes) {
          return std::any_of(later.begin(), later.end(), [&](const Place& l) {
            return l.kind == p.kind && l.symbol == p.symbol && l.index == p.index &&
                   l.offset <= p.offset + from && l.offset + l.bytes >= p.offset + from + bytes;
          });
        };
        const bool low = p.bytes == 4 && hidden(0, 2), high = p.bytes == 4 && hidden(2, 2);
        if (unread || hidden(0, p.bytes) || (low && high)) {
          keep[i] = false;
          continue;
        }
        if (low || high) halved |= store_half(code.lines[i].inst, high);
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
  return keep_only(code, keep) || halved;
}

}  // namespace

bool drop_dead(Context& c, MirFunction& f, Code& code) {
  bool changed = false;
  while (drop_unreachable(code) || drop_stores(c, f, code) || drop_values(f, code) || Copies(f, code).run())
    changed = true;
  return changed;
}

}  // namespace cs::csl::mir
