// Statements of a share, and what they cost.
#include "compiler/autogen/region_estimate.h"

#include <array>
#include <utility>

#include <fmt/format.h>

#include "compiler/autogen/byte_rows.h"

namespace cs::autogen {

std::vector<bool> odd_buffers(const Region& r) {
  if (!r.resident) return {};
  constexpr int kUnknown = -1;
  std::vector<int> half(r.program.buffers.size(), kUnknown);
  for (const ops::LoopBlock& block : r.program.blocks)
    for (const ops::LoopStatement& s : block.statements) {
      std::array<int, 2> taken{};
      for (const ops::LoopAccess& a : s.loads)
        if (a.buffer >= 0 && half[size_t(a.buffer)] >= 0) ++taken[size_t(half[size_t(a.buffer)])];
      for (const ops::LoopAccess& a : s.loads) {
        if (a.buffer < 0 || half[size_t(a.buffer)] != kUnknown) continue;
        half[size_t(a.buffer)] = taken[1] < taken[0] ? 1 : 0;
        ++taken[size_t(half[size_t(a.buffer)])];
      }
    }
  std::vector<bool> odd;
  for (const int h : half) odd.push_back(h == 1);
  return odd;
}

RegionCode region_code(const Region& r, const RegionShare& share, const Machine& machine) {
  std::vector<std::string> names;
  std::vector<bool> integers, constants(r.program.buffers.size(), false);
  for (int b : r.constant_buffer) constants[size_t(b)] = true;
  if (r.resident)
    for (const auto* list : {&r.operand_buffer, &r.result_buffer})
      for (int b : *list) constants[size_t(b)] = true;
  for (const ops::LoopBuffer& b : r.program.buffers) {
    names.push_back(b.name);
    integers.push_back(!data_type_is_float(b.type.dtype));
  }
  const std::vector<bool> odd = odd_buffers(r);
  RegionCode code;
  RegionShare local = local_share(share);
  const std::vector<ByteRows> bytes = byte_rows_of(r, share);
  StatementContext outside{names, integers, constants, machine, r.by_library, r.resident, 2, odd, bytes};
  for (ops::LoopStatement& s : local.once) append_statement(s, 1, outside, code);
  code.once.swap(code.lines);
  code.cycles = 0;
  for (ops::LoopBlock& block : local.program.blocks) {
    bool repeated = block.steps > 1;
    if (repeated) {
      code.lines.push_back("  {");
      code.lines.push_back("    var step: i16 = 0;");
      code.lines.push_back(fmt::format("    while (step < {}) : (step += 1) {{", block.steps));
    }
    StatementContext context{names,        integers,   constants,        machine,
                             r.by_library, r.resident, repeated ? 6 : 2, odd, bytes};
    for (ops::LoopStatement& s : block.statements) {
      merge_axes(s);
      append_statement(s, block.steps, context, code);
    }
    if (repeated) {
      code.lines.push_back("    }");
      code.lines.push_back("  }");
    }
  }
  return code;
}

RegionEstimate estimate_region(const Region& r, RegionShare share, StatementCosts& costs) {
  constexpr size_t kLinesOfLoop = 5;  // around a block that is repeated
  RegionEstimate e;
  size_t lines = 0, short_lines = 0;
  bool uses_math = false;
  const std::vector<ByteRows> bytes = byte_rows_of(r, share);
  const auto add = [&](const ops::LoopStatement& s, int64_t steps, bool every_sample) {
    const StatementCost cost = costs.of(r, s, steps, bytes);
    e.words += cost.scratch_words;
    uses_math = uses_math || cost.uses_math;
    short_lines += cost.short_lines;
    if (!every_sample) return;
    e.compute_cycles += cost.cycles;
    lines += cost.lines;
  };
  e.words = words_stored(r, share);
  RegionShare local = local_share(std::move(share));
  for (const ops::LoopStatement& s : local.once) add(s, 1, false);
  for (ops::LoopBlock& block : local.program.blocks) {
    lines += block.steps > 1 ? kLinesOfLoop : 0;
    for (ops::LoopStatement& s : block.statements) {
      merge_axes(s);
      add(s, block.steps, true);
    }
  }
  e.code_bytes = uint32_t(900 + 60 * (lines - short_lines) + 16 * short_lines + (uses_math ? 1800 : 0));
  return e;
}

}  // namespace cs::autogen
