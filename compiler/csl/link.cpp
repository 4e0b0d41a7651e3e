// Back half of the CSL compiler: the steps of link.h in order.
#include "compiler/csl/link.h"

namespace cs::csl {

bool link_tile(const MirTile& tile, const Machine& machine, TileProgram& out, const Sources& sources, Diag& diag,
               uint32_t* too_many) {
  size_t errors = diag.errors();
  link::State state{tile, machine, sources, diag};
  link::check_role(tile, machine, diag);
  link::select_reachable(state);
  link::check_queues(state);
  link::lower_conventions(state);
  for (link::Function& f : state.functions) {
    link::simplify(f);
    if (!link::allocate_registers(f, machine, diag)) return false;
    link::read_halves(f);
    link::simplify(f);
  }
  link::layout_code(state);
  if (!link::plan_memory(state)) {
    if (too_many) *too_many = state.too_many_bytes;
    return false;
  }
  return link::emit_tile(state, out) && diag.errors() == errors;
}

}  // namespace cs::csl
