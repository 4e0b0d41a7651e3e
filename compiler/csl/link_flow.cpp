// Liveness.
//
// 1. Blocks begin at labels and behind jumps.
// 2. What is live at the end of each block: backwards over the blocks until nothing changes, one bit per
// register.
// 3. Backwards over the lines of each block: a read opens a segment, a write closes it.
// Frequencies: a jump back makes everything between its target and itself a loop.
#include "compiler/csl/link_flow.h"

#include <algorithm>

namespace cs::csl::link {
namespace {

class Bits {
 public:
  explicit Bits(size_t size) : words_((size + 63) / 64) {}
  bool get(size_t i) const { return words_[i / 64] >> (i % 64) & 1; }
  void set(size_t i) { words_[i / 64] |= uint64_t(1) << (i % 64); }
  void clear(size_t i) { words_[i / 64] &= ~(uint64_t(1) << (i % 64)); }
  bool merge(const Bits& other) {
    bool changed = false;
    for (size_t w = 0; w < words_.size(); ++w) {
      uint64_t merged = words_[w] | other.words_[w];
      changed |= merged != words_[w];
      words_[w] = merged;
    }
    return changed;
  }
  template <typename F>
  void for_each(F f) const {
    for (size_t w = 0; w < words_.size(); ++w)
      for (uint64_t rest = words_[w]; rest != 0; rest &= rest - 1) f(w * 64 + size_t(__builtin_ctzll(rest)));
  }

 private:
  std::vector<uint64_t> words_;
};

void number_registers(const Function& f, Flow& flow) {
  flow.dense.assign(size_t(f.next_virtual), -1);
  for (int i = 0; i < isa::kFirstVirtual && i < f.next_virtual; ++i)
    flow.dense[size_t(i)] = i < kFixed ? i : -1;
  for (int i = 0; i < kFixed; ++i) flow.registers.push_back({i});
  for (size_t i = 0; i < f.code.lines.size(); ++i) {
    const isa::Inst& inst = f.code.lines[i].inst;
    for_each_register(inst, [&](size_t a, bool read, bool written) {
      const isa::Operand& operand = inst.args[a];
      if (operand.value < isa::kFirstVirtual) return;
      int32_t& index = flow.dense[size_t(operand.value)];
      bool is_pair = operand.kind == isa::OperandKind::pair;
      if (index < 0) {
        index = int32_t(flow.registers.size());
        flow.registers.push_back({operand.value, is_pair});
      }
      Register& r = flow.registers[size_t(index)];
      CS_CHECK(r.pair == is_pair, "virtual register used with two widths in " + f.mir->name);
      r.weight += flow.frequency[i];
      r.reads += read;
      r.writes += written;
    });
  }
}

void find_frequency(const Code& code, Flow& flow) {
  std::vector<int> depth(code.lines.size() + 1, 0);
  for (uint32_t i = 0; i < code.lines.size(); ++i) {
    isa::Inst inst = code.lines[i].inst;
    const isa::Operand* target = jump_target(inst);
    if (!target || code.labels[size_t(target->value)] > i) continue;
    ++depth[code.labels[size_t(target->value)]];
    --depth[i + 1];
  }
  flow.frequency.resize(code.lines.size());
  int level = 0;
  for (size_t i = 0; i < code.lines.size(); ++i) {
    level += depth[i];
    constexpr double kPowers[] = {1, 10, 100, 1000};
    flow.frequency[i] = kPowers[std::clamp(level, 0, 3)];
  }
}

// Calls read(register) and write(register) of a line, dense numbers; pairs of fixed registers are two.
template <typename Read, typename Write>
void visit_line(const Line& line, const Flow& flow, Read read, Write write) {
  for_each_register(line.inst, [&](size_t a, bool is_read, bool is_written) {
    const isa::Operand& operand = line.inst.args[a];
    bool fixed = operand.value < isa::kFirstVirtual;
    int count = fixed && operand.kind == isa::OperandKind::pair ? 2 : 1;
    for (int k = 0; k < count; ++k) {
      size_t index = fixed ? size_t(operand.value + k) : size_t(flow.dense[size_t(operand.value)]);
      if (is_read) read(index);
      if (is_written) write(index);
    }
  });
  for (size_t r = 0; r < size_t(kFixed) && (line.reads | line.clobbers) >> r != 0; ++r) {
    if (line.reads >> r & 1) read(r);
    if (line.clobbers >> r & 1) write(r);
  }
}

std::vector<Bits> live_at_end(const Code& code, const Flow& flow) {
  size_t count = flow.registers.size();
  std::vector<Bits> in(flow.blocks.size(), Bits(count)), out(in);
  bool changed = true;
  while (changed) {
    changed = false;
    for (size_t b = flow.blocks.size(); b-- > 0;) {
      const BasicBlock& block = flow.blocks[b];
      for (uint32_t s : block.successors) out[b].merge(in[s]);
      Bits live = out[b];
      for (uint32_t i = block.last; i-- > block.first;) {
        visit_line(
            code.lines[i], flow, [](size_t) {}, [&](size_t r) { live.clear(r); });
        visit_line(
            code.lines[i], flow, [&](size_t r) { live.set(r); }, [](size_t) {});
      }
      changed |= in[b].merge(live);
    }
  }
  return out;
}

void find_segments(const Code& code, Flow& flow) {
  std::vector<Bits> ends = live_at_end(code, flow);
  constexpr uint32_t kClosed = ~0u;
  std::vector<uint32_t> open(flow.registers.size(), kClosed);  // end of the segment being built backwards
  for (size_t b = flow.blocks.size(); b-- > 0;) {
    const BasicBlock& block = flow.blocks[b];
    Bits live = ends[b];
    live.for_each([&](size_t r) { open[r] = 2 * block.last; });
    for (uint32_t i = block.last; i-- > block.first;) {
      const Line& line = code.lines[i];
      visit_line(
          line, flow, [](size_t) {},
          [&](size_t r) {
            uint32_t end = open[r] == kClosed ? 2 * i + 2 : open[r];
            flow.registers[r].segments.push_back({2 * i + 1, end});
            open[r] = kClosed;
            live.clear(r);
          });
      if (line.is_call) {
        flow.calls.push_back(i);
        flow.live_across.emplace_back();
        live.for_each([&](size_t r) {
          if (r >= size_t(kFixed)) flow.live_across.back().push_back(uint32_t(r));
        });
      }
      visit_line(
          line, flow,
          [&](size_t r) {
            if (open[r] == kClosed) open[r] = 2 * i + 1;
            live.set(r);
          },
          [](size_t) {});
    }
    live.for_each([&](size_t r) {
      flow.registers[r].segments.push_back({2 * block.first, open[r]});
      open[r] = kClosed;
    });
  }
  std::reverse(flow.calls.begin(), flow.calls.end());
  std::reverse(flow.live_across.begin(), flow.live_across.end());
  for (Register& r : flow.registers) {
    std::reverse(r.segments.begin(), r.segments.end());
    std::vector<Segment> merged;
    for (const Segment& s : r.segments) {
      if (!merged.empty() && merged.back().end >= s.begin)
        merged.back().end = std::max(merged.back().end, s.end);
      else
        merged.push_back(s);
    }
    r.segments = std::move(merged);
  }
}

}  // namespace

std::vector<BasicBlock> find_blocks(const Code& code) {
  size_t count = code.lines.size();
  std::vector<bool> starts(count + 1, false);
  starts[0] = true;
  for (uint32_t label : code.labels) starts[label] = true;
  for (size_t i = 0; i < count; ++i) {
    isa::Inst inst = code.lines[i].inst;
    if (jump_target(inst) || !falls_through(inst)) starts[i + 1] = true;
  }
  std::vector<BasicBlock> blocks;
  std::vector<uint32_t> block_of(count + 1, ~0u);
  for (uint32_t i = 0; i < count; ++i) {
    if (starts[i]) blocks.push_back({i, i, {}});
    blocks.back().last = i + 1;
    block_of[i] = uint32_t(blocks.size()) - 1;
  }
  for (size_t b = 0; b < blocks.size(); ++b) {
    isa::Inst inst = code.lines[blocks[b].last - 1].inst;
    if (falls_through(inst) && b + 1 < blocks.size()) blocks[b].successors.push_back(uint32_t(b) + 1);
    if (const isa::Operand* target = jump_target(inst)) {
      uint32_t line = code.labels[size_t(target->value)];
      if (line < count) blocks[b].successors.push_back(block_of[line]);
    }
  }
  return blocks;
}

Flow analyse_flow(const Function& f) {
  Flow flow;
  find_frequency(f.code, flow);
  number_registers(f, flow);
  flow.blocks = find_blocks(f.code);
  find_segments(f.code, flow);
  return flow;
}

}  // namespace cs::csl::link
