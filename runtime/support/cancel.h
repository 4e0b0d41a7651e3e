// Work that somebody may want to end: who starts it gives a flag, and who does it looks at the flag now and then.
//
//   cancel::Scope scope(&stop);   // of this thread, and of the workers that it calls (parallel.h)
//   cancel::check();              // deep inside, a few times a second: throws Cancelled once stop is true
//
// progress.h and parallel.h look by themselves: what tells how far it is, or computes in parallel, need not.
#pragma once

#include <atomic>
#include <stdexcept>

namespace cs::cancel {

// Passes through everything up to who gave the flag.
class Cancelled : public std::runtime_error {
 public:
  Cancelled() : std::runtime_error("cancelled") {}
};

// Until its end this thread's work ends with Cancelled soon after the flag has become true. Null: it does not.
class Scope {
 public:
  explicit Scope(const std::atomic<bool>* flag);
  ~Scope();
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  const std::atomic<bool>* before_;
};

// Of this thread, for a Scope of another that works for it.
const std::atomic<bool>* flag();
void check();

}  // namespace cs::cancel
