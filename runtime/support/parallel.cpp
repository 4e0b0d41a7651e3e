// Workers over a oneTBB arena. This file alone is compiled without the thread sanitizer (CMakeLists.txt): the
// templates of oneTBB hand tasks over by code inside its library, which the sanitizer does not see.
#include "runtime/support/parallel.h"

#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <algorithm>

#include "runtime/support/cancel.h"

namespace cs {

struct Workers::Arena {
  explicit Arena(int threads) : tbb(std::max(threads, 1)) {}
  tbb::task_arena tbb;
};

Workers::Workers(int threads) : arena_(std::make_unique<Arena>(threads)) {}
Workers::~Workers() = default;

void Workers::run(size_t count, void (*one)(void*, size_t), void* call) {
  const std::atomic<bool>* flag = cancel::flag();
  const auto each = [&](size_t i) {
    const cancel::Scope scope(flag);  // of the worker
    cancel::check();
    one(call, i);
  };
  arena_->tbb.execute([&] { tbb::parallel_for(size_t(0), count, each); });
}

}  // namespace cs
