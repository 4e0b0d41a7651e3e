// Scalar code in a loop of its own: what issue() does for scalars and jumps, one after the other, where nobody listens
// and nothing has to be kept. The counters are brought up to date at the end. Whatever is not plain (the end of the
// task, an access that faults, grows the memory or may be one of a mapped register) is left to issue().

#include "simulator/engine/core.h"
#include "simulator/exec/plan.h"

namespace cs::sim {
namespace {

constexpr uint64_t kMost = 1 << 16;  // instructions of one call: no sum of Decoded::counts flows over

}  // namespace

// Neither traced nor to be taken back: scalars and jumps have no effect but on registers, memory and counters.
bool Core::scalars_are_plain() const {
  return world_.trace == nullptr && world_.details == nullptr && !logging_ && !is_watched();
}

void Core::run_scalars() {
  const TileImage& tile = *pe_.tile;
  const Cycle limit = world_.run_ahead ? std::max(ahead_limit(), now_ + 1) : now_ + 1;
  const Cycle accounted = pe_.accounted;
  const bool memory_is_plain = pe_.unwritten.empty() && tile.reroutes == 0;
  const MemoryView memory = pe_.memory.view();
  const Decoded *const code = tile.code.data(), *const end = code + tile.code.size(), *d = code + pe_.pc;
  Cycle t = pe_.ready, last = 0;
  uint64_t instructions = 0, accounted_before = 0, counts = 0;
  while (t < limit && d < end && instructions < kMost) {
    if (const Cycle ready = registers_ready(*d, t); ready > t) {
      if (d->kind > InstKind::jump) break;
      t = ready;
      continue;
    }
    if (d->kind == InstKind::scalar) {
      if (d->plan.kind != ScalarPlan::Kind::value && !memory_is_plain) break;
      if (execute_plan_inline(d->plan, pe_.regs, memory).fault != ExecFault::none) break;
      counts += d->counts;
      set_result(*d, t + d->latency);
    } else if (d->kind != InstKind::jump) {
      break;
    }
    ++instructions;
    accounted_before += t < accounted;
    last = t;
    if (d->kind == InstKind::scalar) {
      t += d->next;
      ++d;
      continue;
    }
    pe_.pc = uint32_t(d - code);
    issue_jump(tile.program->code[pe_.pc], *d, t);
    if (!pe_.running) break;
    d = code + pe_.pc;
    t = pe_.ready;
  }
  if (pe_.running) {
    pe_.pc = uint32_t(d - code);
    pe_.ready = t;
  }
  const uint64_t busy = instructions - accounted_before;
  if (busy != 0) {
    pe_.stats.busy += busy;
    pe_.stats.stalls[size_t(Stall::dependency)] += last + 1 - accounted - busy;
    pe_.accounted = last + 1;
  }
  pe_.stats.instructions += instructions;
  block_.instructions += instructions;
  pe_.stats.memory_bytes += counts & Decoded::kCount;
  pe_.stats.flops += counts >> Decoded::kCountBits & Decoded::kCount;
  pe_.stats.half_flops += counts >> 2 * Decoded::kCountBits;
}

}  // namespace cs::sim
