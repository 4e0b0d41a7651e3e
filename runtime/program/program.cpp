// Lookups and words of a Program: symbols, source lines, names of enumerations, the machine it was compiled for.
#include "runtime/program/program.h"

#include <algorithm>

#include <fmt/format.h>

#include "runtime/program/names.h"

namespace cs {

const Symbol* TileProgram::symbol(const std::string& wanted) const {
  const auto it = std::find_if(symbols.begin(), symbols.end(), [&](const Symbol& s) { return s.name == wanted; });
  return it == symbols.end() ? nullptr : &*it;
}

const Function* TileProgram::function(const std::string& wanted) const {
  const auto it = std::find_if(functions.begin(), functions.end(), [&](const Function& f) { return f.name == wanted; });
  return it == functions.end() ? nullptr : &*it;
}

std::string TileProgram::where(uint32_t inst) const {
  const auto after = std::upper_bound(lines.begin(), lines.end(), inst,
                                      [](uint32_t i, const LineEntry& e) { return i < e.first; });
  if (after == lines.begin()) return {};
  const LineEntry& entry = *(after - 1);
  if (entry.file >= files.size() || entry.line == 0) return {};
  return fmt::format("{}:{}", files[entry.file], entry.line);
}

void set_program_machine(Program& p, const Machine& m) {
  p.machine = m.name;
  p.arch = m.arch;
  p.machine_text = machine_to_yaml(m);
}

std::optional<Machine> program_machine(const Program& p, Diag& diag) {
  if (!p.machine_text.empty()) return parse_machine(p.machine_text, "machine of " + p.name, diag);
  diag.error_at(p.name, fmt::format("does not say what its machine '{}' is like", p.machine),
                "a program carries every value of its machine; compile again with these tools");
  return std::nullopt;
}

std::string_view port_name(Port p) { return names::name(names::kPorts, size_t(p)); }
std::string_view task_kind_name(TaskKind k) { return names::name(names::kTaskKinds, size_t(k)); }
std::string_view task_args_name(TaskArgs a) { return names::name(names::kTaskArgs, size_t(a)); }
std::string_view pop_mode_name(PopMode m) { return names::name(names::kPopModes, size_t(m)); }
std::string_view filter_kind_name(FilterKind k) { return names::name(names::kFilterKinds, size_t(k)); }
std::string_view fifo_action_name(FifoAction a) { return names::name(names::kFifoActions, size_t(a)); }
std::string_view section_kind_name(SectionKind k) { return names::name(names::kSectionKinds, size_t(k)); }
std::string_view origin_name(Origin o) { return names::name(names::kOrigins, size_t(o)); }
std::optional<Origin> origin_from_name(std::string_view text) { return names::value<Origin>(names::kOrigins, text); }

std::string switch_position_text(const SwitchPosition& position) {
  if (!position.valid) return "-";
  std::string text;
  const auto letters = [&](PortSet set) {
    for (int p = 0; p < kPorts; ++p) {
      if (set & (1u << p)) text += names::kPortLetters[size_t(p)];
    }
  };
  letters(position.rx);
  text += '>';
  letters(position.tx);
  return text;
}

Coord edge_of(const Program& p, Port side, int position) {
  switch (side) {
    case Port::west:
      return {0, position};
    case Port::east:
      return {p.fabric_width - 1, position};
    case Port::north:
      return {position, 0};
    default:
      return {position, p.fabric_height - 1};
  }
}

const HostTensor* HostPart::tensor(std::string_view name) const {
  for (const auto* list : {&inputs, &outputs, &values})
    for (const HostTensor& t : *list)
      if (t.name == name) return &t;
  return nullptr;
}

Fp16Format half_format(const HostPart& host) {
  for (const auto* list : {&host.inputs, &host.outputs}) {
    for (const HostTensor& t : *list) {
      if (t.type == DataType::bf16) return Fp16Format::bf16;
    }
  }
  return Fp16Format::f16;
}

}  // namespace cs
