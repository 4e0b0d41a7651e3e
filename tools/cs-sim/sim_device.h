// SimDevice: the simulator as a Device: an engine under the SystemC shell. One per process (SystemC's rule).
#pragma once

#include <memory>

#include "simulator/engine/engine_device.h"
#include "simulator/systemc/shell.h"

namespace cs {

struct SimDeviceOptions : sim::EngineDeviceOptions {
  sim::ShellOptions shell;
};

class SimDevice : public sim::EngineDevice {
 public:
  SimDevice(const Machine&, const SimDeviceOptions&);

  bool load(const Program&, std::span<const uint8_t> weights, Diag&) override;
  // Only after load.
  sim::Shell& shell() { return *shell_; }

 private:
  void advance(const Advance&) override;

  sim::ShellOptions shell_options_;
  std::unique_ptr<sim::Shell> shell_;
};

}  // namespace cs
