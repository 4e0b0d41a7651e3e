// Blocks, liveness and loops.
#include "compiler/csl/mir_flow.h"

#include <algorithm>
#include <bit>

namespace cs::csl::mir {

std::vector<Block> find_blocks(const Code& code) {
  const size_t count = code.lines.size();
  std::vector<bool> starts(count + 1, false);
  starts[0] = true;
  for (size_t i = 0; i < count; ++i) {
    const int32_t label = target_label(code.lines[i].inst);
    if (label >= 0) starts[code.labels[size_t(label)]] = true;
    if (label >= 0 || ends_flow(code.lines[i])) starts[i + 1] = true;
  }
  std::vector<Block> blocks;
  std::vector<uint32_t> block_of(count + 1, ~0u);
  for (uint32_t i = 0; i < count; ++i) {
    if (starts[i]) blocks.push_back({i, i, {}, {}});
    blocks.back().last = i + 1;
    block_of[i] = uint32_t(blocks.size()) - 1;
  }
  for (uint32_t b = 0; b < blocks.size(); ++b) {
    const Line& last = code.lines[blocks[b].last - 1];
    if (!ends_flow(last) && b + 1 < blocks.size()) blocks[b].successors.push_back(b + 1);
    const int32_t label = target_label(last.inst);
    if (label >= 0 && code.labels[size_t(label)] < count) {
      const uint32_t to = block_of[code.labels[size_t(label)]];
      if (blocks[b].successors.empty() || blocks[b].successors[0] != to) blocks[b].successors.push_back(to);
    }
    for (uint32_t s : blocks[b].successors) blocks[s].predecessors.push_back(b);
  }
  return blocks;
}

std::optional<std::vector<uint32_t>> find_around(const std::vector<Block>& blocks, uint32_t b) {
  const std::vector<uint32_t>& before = blocks[b].predecessors;
  if (std::none_of(before.begin(), before.end(), [&](uint32_t p) { return p < b; })) return std::nullopt;
  std::vector<uint32_t> around;
  if (std::all_of(before.begin(), before.end(), [&](uint32_t p) { return p < b; })) return around;
  around.push_back(b);
  std::vector<bool> seen(blocks.size());
  seen[b] = true;
  for (size_t next = 0; next < around.size(); ++next)
    for (uint32_t p : blocks[around[next]].predecessors) {
      if (around[next] == b && p < b) continue;
      if (p < b || p == 0) return std::nullopt;  // a way around that is entered elsewhere
      if (!seen[p]) seen[p] = true, around.push_back(p);
    }
  return around;
}

bool RegisterSet::merge(const RegisterSet& other) {
  bool grew = false;
  for (size_t w = 0; w < words_.size(); ++w) {
    const uint64_t merged = words_[w] | other.words_[w];
    grew |= merged != words_[w];
    words_[w] = merged;
  }
  return grew;
}

int RegisterSet::count() const {
  int n = 0;
  for (uint64_t w : words_) n += std::popcount(w);
  return n;
}

int RegisterSet::count_of(const RegisterSet& among) const {
  int n = 0;
  for (size_t w = 0; w < words_.size(); ++w) n += std::popcount(words_[w] & among.words_[w]);
  return n;
}

void step_back(const MirFunction& f, const Line& line, RegisterSet& live) {
  for_each_register(f, line, [&](const isa::Operand& o, bool, bool written) {
    if (written) live.remove(o.value);
  });
  for_each_register(f, line, [&](const isa::Operand& o, bool read, bool) {
    if (read) live.add(o.value);
  });
}

Liveness find_live(const MirFunction& f, const Code& code, const std::vector<Block>& blocks) {
  Liveness live;
  live.in.assign(blocks.size(), RegisterSet(code.next_virtual));
  live.out = live.in;
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t b = blocks.size(); b-- > 0;) {
      for (uint32_t s : blocks[b].successors) live.out[b].merge(live.in[s]);
      RegisterSet now = live.out[b];
      for (uint32_t i = blocks[b].last; i-- > blocks[b].first;) step_back(f, code.lines[i], now);
      changed |= live.in[b].merge(now);
    }
  }
  return live;
}

namespace {

// Jumps that lead into lines [top, back] or out of them, but for the one at `back`.
struct Crossing {
  bool in = false, out = false, inner = false;
};

Crossing crossings(const Code& code, const Loop& loop) {
  Crossing c;
  for (uint32_t i = 0; i < code.lines.size(); ++i) {
    const bool inside = i >= loop.top && i <= loop.back;
    if (inside && i != loop.back && (code.lines[i].ret || code.lines[i].inst.op == isa::Op::yield))
      c.out = true;
    const int32_t label = target_label(code.lines[i].inst);
    if (label < 0 || i == loop.back) continue;
    const uint32_t to = code.labels[size_t(label)];
    const bool leads_in = to >= loop.top && to <= loop.back;
    if (!inside && leads_in) c.in = true;
    if (inside && to == loop.top) c.in = true;  // a second way back
    if (inside && !leads_in) c.out = true;
    if (inside && leads_in && to <= i) c.inner = true;
  }
  return c;
}

}  // namespace

std::vector<Loop> find_loops(const Code& code) {
  std::vector<Loop> loops;
  for (uint32_t i = 0; i < code.lines.size(); ++i) {
    const isa::Op op = code.lines[i].inst.op;
    if (op != isa::Op::jmpt && op != isa::Op::jmpf) continue;
    Loop loop{code.labels[size_t(target_label(code.lines[i].inst))], i};
    if (loop.top > i || loop.top == 0 || ends_flow(code.lines[loop.top - 1])) continue;
    const Crossing c = crossings(code, loop);
    if (c.in) continue;
    loop.innermost = !c.inner;
    loop.single_exit = !c.out;
    loops.push_back(loop);
  }
  return loops;
}

bool is_skipped(const Code& code, const Loop& loop, uint32_t line) {
  for (uint32_t i = loop.top; i < line; ++i) {
    const int32_t label = target_label(code.lines[i].inst);
    if (label >= 0 && (code.labels[size_t(label)] > line || code.labels[size_t(label)] < loop.top))
      return true;
    if (ends_flow(code.lines[i]) && label < 0) return true;
  }
  return false;
}

int registers_in_use(const MirFunction& f, const Code& code, const Loop& loop) {
  int most = 0;
  RegisterSet pairs(code.next_virtual);
  for (const Line& line : code.lines)
    for_each_register(f, line, [&](const isa::Operand& o, bool, bool) {
      if (o.kind == isa::OperandKind::pair) pairs.add(o.value);
    });
  const std::vector<Block> blocks = find_blocks(code);
  const Liveness live = find_live(f, code, blocks);
  for (size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].first < loop.top || blocks[b].first > loop.back) continue;
    RegisterSet now = live.out[b];
    for (uint32_t i = blocks[b].last; i-- > blocks[b].first;) {
      step_back(f, code.lines[i], now);
      most = std::max(most, now.count() + now.count_of(pairs));
    }
  }
  return most;
}

}  // namespace cs::csl::mir
