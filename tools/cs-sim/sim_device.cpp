// Time advances in the shell.
#include "tools/cs-sim/sim_device.h"

namespace cs {

SimDevice::SimDevice(const Machine& machine, const SimDeviceOptions& options)
    : EngineDevice(machine, options), shell_options_(options.shell) {}

bool SimDevice::load(const Program& program, std::span<const uint8_t> weights, Diag& diag) {
  CS_CHECK(!shell_, "one process runs one program: SystemC is elaborated once");
  if (!EngineDevice::load(program, weights, diag)) return false;
  shell_ = std::make_unique<sim::Shell>(engine(), shell_options_);
  return true;
}

void SimDevice::advance(const Advance& a) { shell_->run({a.target, a.limit, a.every_cycle, a.stop}); }

}  // namespace cs
