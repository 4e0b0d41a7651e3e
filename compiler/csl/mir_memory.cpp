// Which variables are reached how, and which accesses may meet.
#include "compiler/csl/mir_memory.h"

#include <algorithm>

namespace cs::csl::mir {

using isa::Operand;
using isa::OperandKind;

namespace {

// Calls visit(symbol) for every symbol of a line whose address becomes a value.
template <typename Visit>
void for_each_address(const isa::Inst& inst, Visit visit) {
  const std::string_view form = isa::row(inst.op).form;
  for (size_t i = 0; i < form.size() && i < inst.args.size(); ++i) {
    const bool access = form[i] == 'M' || (i > 0 && form[i - 1] == 'M');
    if (!access && is_symbol(inst.args[i])) visit(inst.args[i]);
  }
  // Two symbols in one address: neither stays in its variable.
  for (size_t i = 0; i + 1 < form.size(); ++i)
    if (form[i] == 'M' && is_symbol(inst.args[i]) && is_symbol(inst.args[i + 1]))
      visit(inst.args[i]), visit(inst.args[i + 1]);
}

}  // namespace

Reached::Reached(const MirTile& tile)
    : globals_(tile.globals.size()), exported_(tile.globals.size()), descriptors_(tile.globals.size()) {
  const auto reach = [&](const Operand& o) {
    if (o.kind == OperandKind::global) globals_[size_t(o.value)] = true;
  };
  for (const MirFunction& f : tile.functions) {
    for (const isa::Inst& inst : f.code) {
      for_each_address(inst, reach);
      if (!is_dsr_load(inst.op)) continue;
      for (const Operand& o : {inst.args[1], inst.args[2]})
        if (o.kind == OperandKind::global) descriptors_[size_t(o.value)] = true;
    }
    for (const MirCall& c : f.calls)
      for (const Operand& a : c.args) reach(a);
  }
  for (const MirGlobal& g : tile.globals)
    for (const MirRelocation& r : g.relocations)
      if (!r.function) globals_[r.target] = true;
  for (const MirFifo& f : tile.fifos) globals_[f.global] = true;
  for (const MirDsr& d : tile.dsrs) reach(d.base);
  for (const MirSymbol& s : tile.symbols) {
    globals_[s.global] = exported_[s.global] = true;
    if (s.pointer >= 0) globals_[size_t(s.pointer)] = exported_[size_t(s.pointer)] = true;
  }
}

void drop_fixed_pointers(MirTile& tile) {
  std::vector<bool> written(tile.globals.size());
  const auto write = [&](const Operand& o) {
    if (o.kind == OperandKind::global) written[size_t(o.value)] = true;
  };
  for (const MirFunction& f : tile.functions) {
    for (const isa::Inst& inst : f.code) {
      for_each_address(inst, write);
      if (isa::row(inst.op).cost != isa::Cost::store) continue;
      for (const Operand& a : inst.args) write(a);
    }
    for (const MirCall& c : f.calls)
      for (const Operand& a : c.args) write(a);
  }
  for (const MirGlobal& g : tile.globals)
    for (const MirRelocation& r : g.relocations)
      if (!r.function) written[r.target] = true;
  for (MirSymbol& s : tile.symbols)
    if (s.pointer >= 0 && !written[size_t(s.pointer)]) s.pointer = -1;
}

void Reached::see(const MirFunction& f, const Code& code) {
  slots_.clear();
  const auto reach = [&](const Operand& o) {
    if (o.kind != OperandKind::slot) return;
    slots_.resize(std::max(slots_.size(), size_t(o.value) + 1));
    slots_[size_t(o.value)] = true;
  };
  for (const Line& line : code.lines) {
    for_each_address(line.inst, reach);
    if (line.call >= 0)
      for (const Operand& a : f.calls[size_t(line.call)].args) reach(a);
    for (const Operand& a : line.inst.args)  // a slot number beyond the last one taken is not reached
      if (a.kind == OperandKind::slot) slots_.resize(std::max(slots_.size(), size_t(a.value) + 1));
  }
}

bool is_reached(const Place& p, const Reached& reached) {
  return p.kind == Place::Kind::pointer || p.kind == Place::Kind::fixed || reached.is_reached(p.symbol);
}

bool may_meet(const Place& a, const Place& b, const Reached& reached) {
  const auto apart = [&] { return a.offset + a.bytes <= b.offset || b.offset + b.bytes <= a.offset; };
  if (a.kind == Place::Kind::fixed || b.kind == Place::Kind::fixed) return true;
  if (a.kind == Place::Kind::pointer && b.kind == Place::Kind::pointer) return a.index != b.index || !apart();
  if (a.kind == Place::Kind::pointer || b.kind == Place::Kind::pointer)
    return is_reached(a.kind == Place::Kind::pointer ? b : a, reached);
  if (!(a.symbol == b.symbol)) return false;
  if (a.kind != b.kind) return true;
  return a.index != b.index || !apart();
}

}  // namespace cs::csl::mir
