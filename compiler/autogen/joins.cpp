// Text of joins: see joins.h.
#include "compiler/autogen/joins.h"

#include <fmt/format.h>

namespace cs::autogen {

std::string Join::tasks() const {
  std::string out;
  for (size_t k = 0; k < events(); ++k)
    if (has_own_task(k, events()))
      out += fmt::format("task {}() void {{\n  @block({});\n  @unblock({});\n}}\n", names_[k], id_of(k), id_of(k - 1));
  return out;
}

std::string Join::bindings() const {
  std::string out = block_again();
  for (size_t k = 0; k < events(); ++k)
    if (has_own_task(k, events()))
      out += fmt::format("  @bind_local_task({}, {});\n  @block({});\n", names_[k], id_of(k), id_of(k));
  return out;
}

std::string ask_every(int64_t rounds, size_t operand, const std::string& ask, const std::string& there) {
  if (rounds == 1) return ask;
  return fmt::format("  if (x{0}_stays == 0) {{\n{1}  }} else {{\n{2}  }}\n  x{0}_stays += 1;\n"
                     "  if (x{0}_stays == {3}) {{ x{0}_stays = 0; }}\n",
                     operand, ask, there, rounds);
}

}  // namespace cs::autogen
