// Chains of causes: what let a PE go on, what let that go on, and so forth, back to the start of the run.
//
// A link says: from `begin` on this party (a kernel, or what else has PEs) could work, because of what its `cause`
// names; the party before had done its part at `left`. Links are shared by all PEs, wavelets and lanes that come after
// them, and end with the last of these. Reference counts are plain integers: sinks are called from one thread.
#pragma once

#include <cstdint>
#include <utility>

#include "runtime/host/device.h"

namespace cs::sim {

enum class Cause : uint8_t {
  start,   // nothing: it could work from here on
  launch,  // the host launched a function
  input,   // a wavelet of another party arrived
  output,  // another party made room
  host,    // a wavelet of the host arrived
  link,    // a wavelet or room came late because others had the link
  count
};
inline constexpr int kCauses = int(Cause::count);
const char* cause_name(Cause);

struct ChainLink {
  int who = -1, from = -1;  // parties; `from`: whose wavelet or room it was
  Cause cause = Cause::start;
  Cycle begin = 0, left = 0;
  // Which wavelet of a stream it was: the `number`-th of this counter, of which the run had so many per sample.
  uint32_t counter = 0;
  uint64_t number = 0;
  ChainLink* before = nullptr;  // counted
  uint32_t references = 0;
};

class Chain {
 public:
  Chain() = default;
  explicit Chain(ChainLink* link) : link_(link) { take(); }
  Chain(const Chain& o) : link_(o.link_) { take(); }
  Chain(Chain&& o) noexcept : link_(std::exchange(o.link_, nullptr)) {}
  Chain& operator=(Chain o) noexcept {
    std::swap(link_, o.link_);
    return *this;
  }
  ~Chain() { release(link_); }

  static Chain add(ChainLink link, const Chain& before) {
    auto* made = new ChainLink(link);
    made->before = before.link_;
    if (made->before != nullptr) ++made->before->references;
    return Chain(made);
  }

  const ChainLink* get() const { return link_; }
  const ChainLink* operator->() const { return link_; }
  explicit operator bool() const { return link_ != nullptr; }
  bool operator==(const Chain& o) const { return link_ == o.link_; }

 private:
  void take() {
    if (link_ != nullptr) ++link_->references;
  }
  // Chains are as long as a run: no recursion.
  static void release(ChainLink* link) {
    while (link != nullptr && --link->references == 0) delete std::exchange(link, link->before);
  }
  ChainLink* link_ = nullptr;
};

}  // namespace cs::sim
