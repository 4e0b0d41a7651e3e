// What is known of memory and DSRs, and what makes it unknown again.
#include "compiler/csl/mir_known.h"

#include <algorithm>

namespace cs::csl::mir {

namespace {

constexpr size_t kMostCells = 64;

template <typename T>
void keep_common(std::vector<T>& list, const std::vector<T>& other) {
  std::erase_if(list,
                [&](const T& one) { return std::find(other.begin(), other.end(), one) == other.end(); });
}

}  // namespace

void Known::meet(const Known& other) {
  for (size_t r = 0; r < registers.size(); ++r)
    if (registers[r] != other.registers[r]) registers[r] = 0;
  keep_common(cells_, other.cells_);
  keep_common(dsrs, other.dsrs);
}

void Known::remember(const Place& p, ValueId v) {
  if (p.kind == Place::Kind::fixed) return;
  if (cells_.size() >= kMostCells) cells_.erase(cells_.begin());
  cells_.push_back({p, v});
}

ValueId Known::content(const Place& p) const {
  const auto found = std::find_if(cells_.begin(), cells_.end(), [&](const Cell& c) { return c.place == p; });
  return found == cells_.end() ? 0 : found->value;
}

void Known::forget(const Place& p) {
  const Reached& reached = context_->reached;
  std::erase_if(cells_, [&](const Cell& c) { return may_meet(c.place, p, reached); });
  std::erase_if(dsrs, [&](const Dsr& d) { return may_meet(d.place, p, reached); });
}

void Known::fence(bool call) {
  const auto changes = [&](const Place& p) {
    return call ? !context_->is_local(p) : !context_->outlives_vector(p);
  };
  std::erase_if(cells_, [&](const Cell& c) { return changes(c.place); });
  std::erase_if(dsrs, [&](const Dsr& d) { return changes(d.place); });
}

void Known::forget_dsr(int32_t key) {
  std::erase_if(dsrs, [&](const Dsr& d) { return d.key == key; });
}

void Known::walk(const isa::Inst& inst) {
  // A DSR that was loaded without configuration holds its descriptor after a synchronous operation.
  const auto stays = [&](const isa::Operand& o) {
    return !o.is_dsr() || std::any_of(dsrs.begin(), dsrs.end(),
                                      [&](const Dsr& d) { return d.key == dsr_key(o) && d.config == 0; });
  };
  if (std::all_of(inst.args.begin(), inst.args.end(), stays)) return;
  for (const isa::Operand& o : inst.args)
    if (o.is_dsr()) forget_dsr(dsr_key(o));
}

}  // namespace cs::csl::mir
