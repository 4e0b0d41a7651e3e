// Which microthread an asynchronous operation runs on: an explicit one, that of a queue, or one that nobody named.
#include <algorithm>

#include <fmt/format.h>

#include "compiler/csl/lower_dsd.h"
#include "compiler/csl/lower_vector.h"
#include "compiler/csl/warnings.h"

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

// Two operations that straight code begins one after the other on one microthread: the second one waits, and for ever
// if what the first one needs comes later. On one queue that is how programs send one thing behind another.
void check_clash(Evaluator& e, int microthread, uint32_t queues, SourceLoc where) {
  auto& begun = e.builder().begun;
  const auto it = begun.find(microthread);
  if (it != begun.end() && (it->second.first & queues) == 0)
    e.diag().warning(
        where,
        named("microthread-shared",
              fmt::format("this waits for the operation in line {}: both run on microthread {}",
                          it->second.second.line, microthread)),
        e.machine().core.automatic_microthread_ids
            ? "give one of them another microthread: .ut_id = @get_ut_id(n)"
            : "the number of the output queue, else of the input queue, is that of the microthread: use "
              "queues with different numbers");
  begun[microthread] = {queues, where};
}

int choose_microthread(Evaluator& e, const std::vector<isa::Dsd>& fabric, uint32_t queues,
                       const isa::DsrConfig& config) {
  if (config.microthread >= 0) return config.microthread;
  for (const isa::Dsd& d : fabric)
    if (d.microthread >= 0) return d.microthread;
  if (!e.machine().core.automatic_microthread_ids) {
    const auto out = std::find_if(fabric.begin(), fabric.end(),
                                  [](const isa::Dsd& d) { return d.kind == isa::DsdKind::fabout; });
    return (out != fabric.end() ? out->queue : fabric[0].queue) % e.machine().core.microthreads;
  }
  // Automatic: in turn, from the top, among those that nobody named. When all are given out, an operation joins one
  // that uses a queue of its own: the two are one after the other anyway, while strangers would wait for each other.
  Unit& u = e.unit();
  std::vector<int> free;
  for (int ut = e.machine().core.microthreads - 1; ut > 0; --ut)
    if (!u.used_microthreads.contains(ut)) free.push_back(ut);
  if (free.empty()) return 0;
  if (size_t(u.next_microthread) >= free.size())
    for (const auto& [ut, taken] : u.automatic_microthreads)
      if ((taken & queues) != 0) return ut;
  const int ut = free[size_t(u.next_microthread++) % free.size()];
  u.automatic_microthreads.emplace_back(ut, queues);
  return ut;
}

}  // namespace

// The microthread of an asynchronous operation; -1 and an error if there is none.
int microthread_of(Evaluator& e, const std::vector<Value>& operands, const isa::DsrConfig& config,
                   SourceLoc where) {
  std::vector<isa::Dsd> fabric;
  uint32_t queues = 0;
  for (const Value& v : operands) {
    if (v.type->kind != TypeKind::fabin_dsd && v.type->kind != TypeKind::fabout_dsd) continue;
    fabric.push_back(known_descriptor(e, v));
    fabric.back().kind = v.type->kind == TypeKind::fabout_dsd ? isa::DsdKind::fabout : isa::DsdKind::fabin;
    static_assert(2 * widths::kQueues <= 32);
    queues |= 1u << (fabric.back().queue + (v.type->kind == TypeKind::fabout_dsd ? widths::kQueues : 0));
  }
  if (fabric.empty()) {
    e.fail(where, "an asynchronous operation needs a fabric operand",
           "drop .async, or use a fabin_dsd or fabout_dsd");
    return -1;
  }
  const int microthread = choose_microthread(e, fabric, queues, config);
  check_clash(e, microthread, queues, where);
  return microthread;
}

}  // namespace cs::csl
