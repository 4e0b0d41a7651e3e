// SimDevice: the simulator as a Device: an engine under the SystemC shell. One per process (SystemC's rule).
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/host/device.h"
#include "simulator/engine/engine.h"
#include "simulator/systemc/shell.h"

namespace cs {

struct SimDeviceOptions {
  sim::EngineOptions engine;
  sim::ShellOptions shell;
  Cycle max_cycles = kNever;
  double max_seconds = 0;  // of the simulating computer; 0: no limit
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(Cycle)> progress;  // called every few milliseconds
};

class SimDevice : public Device {
 public:
  SimDevice(const Machine&, SimDeviceOptions);

  const Machine& machine() const override { return machine_; }
  bool load(const Program&, std::span<const uint8_t> weights, Diag&) override;
  const Program& program() const override { return engine_.program(); }
  Cycle now() const override { return engine_.now(); }
  void read(Coord pe, uint16_t address, std::span<uint8_t> out) override { engine_.read(pe, address, out); }
  void write(Coord pe, uint16_t address, std::span<const uint8_t> in) override {
    engine_.write(pe, address, in);
  }
  bool launch(const std::string& function, std::span<const uint32_t> args, Rect pes, Cycle not_before,
              Diag&) override;
  std::vector<LaunchSpan> launches() override { return engine_.launches(); }
  void send(int port, std::span<const uint32_t> data, Cycle not_before) override {
    engine_.send(port, data, not_before);
  }
  const std::vector<PortEvent>& received(int port) const override { return engine_.received(port); }
  Cycle entered(int port, size_t i) const override { return engine_.entered(port, i); }
  void watch(int port, size_t count) override;
  bool stream_to(uint8_t color, Rect pes, std::span<const uint32_t> data, Cycle not_before, Diag& diag) override {
    return engine_.stream_to(color, pes, data, not_before, diag);
  }
  bool stream_from(uint8_t color, Rect pes, uint32_t per_pe, Cycle not_before, Diag& diag) override {
    return engine_.stream_from(color, pes, per_pe, not_before, diag);
  }
  std::vector<std::vector<uint32_t>> take_streamed(uint8_t color, Rect pes) override;
  RunStatus run(const RunUntil&) override;

  sim::Engine& engine() { return engine_; }
  // What is left in lanes and queues when nothing moves any more; empty if there is nothing, or something still moves.
  std::string leftovers() const;
  // Only after load.
  sim::Shell& shell() { return *shell_; }

 private:
  bool condition_holds(const RunUntil&) const;
  bool out_of_time();
  void arm(const RunUntil&);
  RunStatus judge(const RunUntil&);

  Machine machine_;
  SimDeviceOptions options_;
  sim::Engine engine_;
  std::unique_ptr<sim::Shell> shell_;
  std::vector<size_t> watches_;  // by port, 0: none
  std::chrono::steady_clock::time_point start_;
  bool timed_out_ = false;
};

}  // namespace cs
