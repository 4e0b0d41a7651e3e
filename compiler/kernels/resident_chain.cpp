// See resident_chain.h.
#include "compiler/kernels/resident_chain.h"

#include <fmt/format.h>

#include "compiler/autogen/elementwise.h"
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
  choice.kernel += "+dtg-elementwise";
  return why.empty();
}

std::string write_resident_chain(const Choice& choice, const Setting& at, int n,
                                 std::map<std::string, std::string>& files) {
  if (!choice.expr) return "";
  const std::string file = at.name + "_epilogue.csl";
  files[file] = autogen::epilogue_module(
      {choice.title, fmt::format("{} elements on every PE", n), *choice.expr, 1, 0, n}, at.machine);
  return fmt::format("const epilogue = @import_module(\"{}\", .{{ .y = &y }});\n", file);
}

}  // namespace cs::kernels
