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

constexpr double kCopyStart = 20;  // of an instruction that copies, and the count

double cycles_of_copies(const Region& r, const RegionShare& share) {
  double cycles = 0;
  for (const auto& part : r.constant_parts)
    if (const int64_t words = share.stored[size_t(part.first)].words(); words > 0)
      cycles += double(words) + kCopyStart;
  return cycles;
}

// The part of a constant that a round reads is copied from those of all rounds, which the module gets as a
// parameter.
void copy_parts(const Region& r, const RegionShare& share, std::vector<std::string>& names,
                std::vector<bool>& constants, RegionCode& code) {
  for (const auto& [b, parts] : r.constant_parts) {
    const int64_t words = share.stored[size_t(b)].words();
    if (words == 0) continue;
    std::string& name = names[size_t(b)];
    const char* type = data_type_is_float(r.program.buffers[size_t(b)].type.dtype) ? "f32" : "i32";
    code.declarations.push_back(fmt::format(
        "var {0}_now: [{1}]{2} align(8) = @zeros([{1}]{2});\nvar {0}_at: i16 = 0;", name, words, type));
    for (const char* from : {"", "_now"})
      code.declarations.push_back(fmt::format(
          "const {0}{1}_part = @get_dsd(mem1d_dsd, .{{ .tensor_access = |a|{{{2}}} -> {0}{1}[a] }});", name,
          from, words));
    code.lines.push_back(fmt::format("  @{1}({0}_now_part, @increment_dsd_offset({0}_part, {0}_at, {2}));",
                                     name, type[0] == 'f' ? "fmovs" : "mov32", type));
    code.lines.push_back(fmt::format("  {0}_at += {1};", name, words));
    code.lines.push_back(fmt::format("  if ({0}_at == {1}) {{ {0}_at = 0; }}", name, words * parts));
    name += "_now";
    constants[size_t(b)] = false;
  }
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
  code.cycles = cycles_of_copies(r, share);
  copy_parts(r, share, names, constants, code);
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
  e.compute_cycles += cycles_of_copies(r, share);
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
