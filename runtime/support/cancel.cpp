// The flag of each thread.
#include "runtime/support/cancel.h"

namespace cs::cancel {
namespace {

thread_local const std::atomic<bool>* here = nullptr;

}  // namespace

Scope::Scope(const std::atomic<bool>* flag) : before_(here) { here = flag; }
Scope::~Scope() { here = before_; }

const std::atomic<bool>* flag() { return here; }

void check() {
  if (here != nullptr && *here) throw Cancelled();
}

}  // namespace cs::cancel
