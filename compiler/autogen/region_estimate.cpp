// Statements of a share, and what they cost.
#include "compiler/autogen/region_estimate.h"

#include <fmt/format.h>

namespace cs::autogen {

RegionCode region_code(const Region& r, const RegionShare& share, const Machine& machine) {
  std::vector<std::string> names;
  std::vector<bool> integers, constants(r.program.buffers.size(), false);
  for (int b : r.constant_buffer) constants[size_t(b)] = true;
  for (const ops::LoopBuffer& b : r.program.buffers) {
    names.push_back(b.name);
    integers.push_back(!data_type_is_float(b.type.dtype));
  }
  RegionCode code;
  RegionShare local = local_share(share);
  StatementContext outside{names, integers, constants, machine, r.by_library, 2};
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
    StatementContext context{names, integers, constants, machine, r.by_library, repeated ? 6 : 2};
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

RegionEstimate estimate_region(const Region& r, const RegionShare& share, const RegionCode& code) {
  RegionEstimate e;
  e.compute_cycles = code.cycles;
  e.words = words_stored(r, share) + code.scratch_words;
  const size_t lines = code.lines.size() - code.short_lines;
  e.code_bytes = uint32_t(900 + 60 * lines + 16 * code.short_lines + (code.uses_math ? 1800 : 0));
  return e;
}

}  // namespace cs::autogen
