// Which microthread an asynchronous operation runs on: an explicit one, that of a queue, or one that nobody named.
#include "compiler/csl/lower_dsd.h"
#include "compiler/csl/lower_vector.h"

namespace cs::csl {
namespace {

// The descriptor as far as it is known: a variable keeps the queue and the microthread that it began with.
isa::Dsd known_descriptor(Evaluator& e, const Value& v) {
  if (v.is(ValueKind::place) && v.location.kind == isa::OperandKind::global && v.location.index < 0) {
    const Value& initial = e.unit().global_info[size_t(v.location.value)].second;
    if (initial.is(ValueKind::dsd)) return initial.dsd().dsd;
  }
  return dsd_value(v).dsd;
}

}  // namespace

// The microthread of an asynchronous operation; -1 and an error if there is none.
int microthread_of(Evaluator& e, const std::vector<Value>& operands, const isa::DsrConfig& config,
                   SourceLoc where) {
  std::vector<isa::Dsd> fabric;
  const isa::Dsd* out = nullptr;
  fabric.reserve(operands.size());
  for (const Value& v : operands) {
    if (v.type->kind != TypeKind::fabin_dsd && v.type->kind != TypeKind::fabout_dsd) continue;
    fabric.push_back(known_descriptor(e, v));
    if (v.type->kind == TypeKind::fabout_dsd && out == nullptr) out = &fabric.back();
  }
  if (fabric.empty()) {
    e.fail(where, "an asynchronous operation needs a fabric operand",
           "drop .async, or use a fabin_dsd or fabout_dsd");
    return -1;
  }
  if (config.microthread >= 0) return config.microthread;
  for (const isa::Dsd& d : fabric)
    if (d.microthread >= 0) return d.microthread;
  if (!e.machine().core.automatic_microthread_ids) return out ? out->queue : fabric[0].queue;
  // Automatic: in turn, from the top, among those that nobody named.
  Unit& u = e.unit();
  std::vector<int> free;
  for (int ut = e.machine().core.microthreads - 1; ut > 0; --ut)
    if (!u.used_microthreads.contains(ut)) free.push_back(ut);
  if (free.empty()) return 0;
  return free[size_t(u.next_microthread++) % free.size()];
}

}  // namespace cs::csl
