// Workers: the one way in which this project computes in parallel within a process, over oneTBB.
//
//   Workers workers(4);
//   workers.for_each(count, [&](size_t i) { out[i] = work(i); });  // returns when all are done
//
// for_each calls f once per index, in any order, on any worker; f throws nothing but Cancelled (cancel.h) and touches
// only what is its own. What the caller wrote before is visible to every f, and what the f's wrote is visible to the
// caller afterwards. oneTBB gives that too, but Debian's library is not built with the thread sanitizer, which
// therefore cannot see it; the two atomics say it where the sanitizer looks. They cost nothing beside a call.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

namespace cs {

class Workers {
 public:
  explicit Workers(int threads);  // fewer than 1 counts as 1
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  template <typename F>
  void for_each(size_t count, F&& f) {
    Call<F> call{f, {}, {}};
    call.begun.store(true, std::memory_order_release);
    run(count, &Call<F>::one, &call);
    call.ended.load(std::memory_order_acquire);
  }

 private:
  template <typename F>
  struct Call {
    F& f;
    std::atomic<bool> begun;
    std::atomic<size_t> ended;
    static void one(void* self, size_t i) {
      Call& call = *static_cast<Call*>(self);
      call.begun.load(std::memory_order_acquire);
      call.f(i);
      call.ended.fetch_add(1, std::memory_order_release);
    }
  };
  struct Arena;
  void run(size_t count, void (*one)(void*, size_t), void* call);
  std::unique_ptr<Arena> arena_;
};

}  // namespace cs
