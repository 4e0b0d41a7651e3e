// Regions that keep values from sample to sample.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/region.h"

namespace cs::autogen {

namespace {

ops::LoopStatement copy_of(int from, int to, int64_t elements) {
  const auto access = [](int buffer) {
    ops::LoopAccess a;
    a.buffer = buffer;
    a.strides = {1};
    return a;
  };
  ops::LoopStatement s;
  s.extents = {elements};
  s.out = access(to);
  s.loads = {access(from)};
  s.value.root = s.value.input(0);
  return s;
}

}  // namespace

bool keep_state(Region& r, graph::ValueId before, graph::ValueId after) {
  const auto operand = std::find(r.operands.begin(), r.operands.end(), before);
  const auto result = std::find(r.results.begin(), r.results.end(), after);
  if (operand == r.operands.end() || result == r.results.end() || r.operands.size() == 1) return false;
  const auto k = size_t(operand - r.operands.begin()), j = size_t(result - r.results.begin());
  const int kept = r.operand_buffer[k], made = r.result_buffer[j];
  r.program.buffers[size_t(kept)].name = fmt::format("s{}", r.states.size());
  r.constants.push_back(before);
  r.constant_buffer.push_back(kept);
  r.operands.erase(operand);
  r.operand_buffer.erase(r.operand_buffer.begin() + int64_t(k));
  if (r.program.blocks.empty() || r.program.blocks.back().steps != 1) r.program.blocks.push_back({1, {}});
  r.program.blocks.back().statements.push_back(copy_of(made, kept, r.elements(kept)));
  r.states.push_back({kept, made});
  return true;
}

void begin_states(const Region& r, RegionShare& share) {
  for (const KeptState& state : r.states) {
    if (std::find(r.result_buffer.begin(), r.result_buffer.end(), state.made) == r.result_buffer.end())
      continue;
    for (const ops::LoopBlock& block : share.program.blocks)
      for (const ops::LoopStatement& s : block.statements) {
        if (s.out.buffer != state.kept) continue;
        ops::LoopStatement back = s;
        std::swap(back.out, back.loads[0]);
        share.once.push_back(std::move(back));
      }
  }
}

}  // namespace cs::autogen
