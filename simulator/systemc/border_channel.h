// BorderChannel: what crossed one side of a block of PEs in the cycle just simulated. One per side, owned by
// its block.
//
// The wafer module publishes, readers see the value one delta cycle later, as with any SystemC primitive
// channel:
//   publish() -> request_update() -> update() -> crossed() is notified when at least one wavelet crossed.
// A channel that nobody binds or observes is never published: it costs nothing.
#pragma once

#include <cstdint>
#include <systemc>

namespace cs::sim {

struct BorderSample {
  uint64_t cycle = 0;     // the cycle that was simulated
  uint32_t wavelets = 0;  // that left the block over this side in it
  uint64_t total = 0;     // since load
};

class BorderIf : public virtual sc_core::sc_interface {
 public:
  virtual const BorderSample& read() const = 0;
  virtual const sc_core::sc_event& crossed() const = 0;
};

class BorderChannel : public sc_core::sc_prim_channel, public BorderIf {
 public:
  explicit BorderChannel(const char* name) : sc_prim_channel(name) {}

  const BorderSample& read() const override { return value_; }
  const sc_core::sc_event& crossed() const override { return crossed_; }
  const sc_core::sc_event& default_event() const override { return crossed_; }
  void register_port(sc_core::sc_port_base&, const char*) override { observed_ = true; }

  // For a bench that reads without a port. Must come before the first cycle.
  void observe() { observed_ = true; }
  bool observed() const { return observed_; }
  void publish(const BorderSample& sample) {
    next_ = sample;
    request_update();
  }

 private:
  void update() override {
    value_ = next_;
    if (value_.wavelets > 0) crossed_.notify(sc_core::SC_ZERO_TIME);
  }

  BorderSample value_, next_;
  sc_core::sc_event crossed_;
  bool observed_ = false;
};

}  // namespace cs::sim
