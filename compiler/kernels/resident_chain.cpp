// See resident_chain.h.
#include "compiler/kernels/resident_chain.h"

#include <algorithm>

#include <fmt/format.h>

#include "compiler/autogen/elementwise.h"
#include "compiler/autogen/least_cycles.h"
#include "compiler/kernels/role_parts.h"

namespace cs::kernels {

bool add_resident_chain(const graph::Graph& g, const graph::Group& group, const Machine& machine,
                        Choice& choice, std::string& why) {
  const std::vector<PackedConstant> own = choice.constants;
  const int constants = choice.work.constants;
  for (size_t i = 1; i < group.nodes.size(); ++i) {
    if (g.op(group.nodes[i]).kind == ops::OpKind::elementwise) continue;
    why = fmt::format("'{}' behind '{}' is no elementwise operator", g.node(group.nodes[i]).name,
                      g.node(group.nodes.front()).name);
    return false;
  }
  attach_expression(g, group, std::span(group.nodes).subspan(1), true, machine, choice);
  choice.constants = own;
  choice.work.constants = constants;
  if (choice.expr->inputs() > 1)
    why = fmt::format("what is behind '{}' needs other operands", g.node(group.nodes.front()).name);
  choice.kernel += fmt::format("+{}", elementwise_kind()->generated());
  return why.empty();
}

void count_resident_chain(Choice& choice, const Machine& machine) {
  if (!choice.expr) return;
  std::vector<int> phases;
  for (size_t k = 0; k < choice.operands.size(); ++k) phases.push_back(autogen::operand_phase(int(k)));
  phases.resize(size_t(std::max(1, choice.expr->inputs())), autogen::kConstantPhase);
  choice.work.chain = autogen::chain_cost(*choice.expr, phases, machine, true);
}

std::string write_resident_chain(const Choice& choice, const Setting& at, int n,
                                 std::map<std::string, std::string>& files) {
  if (!choice.expr) return "";
  const std::string file = at.name + "_epilogue.csl";
  files[file] = autogen::epilogue_module(
      {choice.title, fmt::format("{} elements on every PE", n), *choice.expr, 1, 0, n}, at.machine);
  return fmt::format("const epilogue = @import_module(\"{}\", .{{ .y = &y }});\n", file);
}

void fold_uniform_constants(const Machine& machine, Choice& choice) {
  const int streams = choice.expr->inputs() - int(choice.constants.size());
  if (choice.constants.empty() || streams != choice.work.operands) return;
  std::vector<ops::Expr> inner(size_t(choice.expr->inputs()));
  for (int k = 0; k < streams; ++k) inner[size_t(k)].root = inner[size_t(k)].input(k);
  std::vector<PackedConstant> kept;
  for (size_t j = 0; j < choice.constants.size(); ++j) {
    ops::Expr& to = inner[size_t(streams) + j];
    const std::vector<float> values = choice.constants[j].values.floats();
    if (std::all_of(values.begin(), values.end(), [&](float v) { return v == values.front(); })) {
      to.root = to.constant(double(values.front()));
      continue;
    }
    to.root = to.input(streams + int(kept.size()));
    kept.push_back(std::move(choice.constants[j]));
    kept.back().name = fmt::format("c{}", kept.size() - 1);
  }
  choice.expr = ops::substitute(*choice.expr, inner);
  choice.constants = std::move(kept);
  choice.expr_constants = choice.work.constants = int(choice.constants.size());
  choice.work.least_cycles = autogen::least_cycles(*choice.expr, machine);
}

void place_in_turns(ResidentArrays& arrays) {
  for (size_t k = 0; k < arrays.operands.size(); ++k)
    arrays.operands[k].odd_word = autogen::operand_phase(int(k)) == 1;
}

std::string chain_operands(int operands) {
  std::string list;
  for (int k = 1; k < operands; ++k)
    list += fmt::format(", .x{0} = @ptrcast([*]f32, &x{0}[{1}])", k, autogen::operand_phase(k));
  return list;
}

}  // namespace cs::kernels
