// EngineDevice: the engine as a Device. How time advances is for derived classes to change: by itself it
// steps the engine, cs-sim lets a SystemC shell do it. Where a stretch of time ends has no influence on the
// simulation.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "runtime/host/device.h"
#include "simulator/engine/engine.h"

namespace cs::sim {

// When a checkpoint is made while the device runs. `make` is called between two cycles.
struct CheckpointTimes {
  Cycle at = kNever, every = 0;  // the first one, and cycles from one to the next; 0: no other
  double every_seconds = 0;      // of the simulating computer, beside those; 0: none
  std::function<void()> make;
};

struct EngineDeviceOptions {
  EngineOptions engine;
  Cycle max_cycles = kNever;
  double max_seconds = 0;  // of the simulating computer; 0: no limit
  const std::atomic<bool>* interrupted = nullptr;
  std::function<void(Cycle)> progress;  // called every few milliseconds
  CheckpointTimes checkpoints;
};

class EngineDevice : public Device {
 public:
  EngineDevice(const Machine&, EngineDeviceOptions);

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
  bool stream_to(uint8_t color, Rect pes, std::span<const uint32_t> data, Cycle not_before,
                 Diag& diag) override {
    return engine_.stream_to(color, pes, data, not_before, diag);
  }
  bool stream_from(uint8_t color, Rect pes, uint32_t per_pe, Cycle not_before, Diag& diag) override {
    return engine_.stream_from(color, pes, per_pe, not_before, diag);
  }
  std::vector<std::vector<uint32_t>> take_streamed(uint8_t color, Rect pes) override;
  RunStatus run(const RunUntil&) override;

  // No checkpoint is made any more; none up to this cycle.
  void end_checkpoints() { options_.checkpoints = {}; }
  void skip_checkpoints(Cycle up_to);

  Engine& engine() { return engine_; }
  // What is left in lanes and queues when nothing moves any more; empty if there is nothing, or something
  // still moves.
  std::string leftovers() const;

 protected:
  struct Advance {
    Cycle target = kNever;       // stop when the clock is here; dead time before it passes
    Cycle limit = kNever;        // stop here too, but do not let dead time pass just to get there
    bool every_cycle = false;    // ask `stop` after every cycle with events, else now and then
    std::function<bool()> stop;  // may be empty
  };
  // Until the request is fulfilled, the engine faults, or nothing can happen any more.
  virtual void advance(const Advance&);

 private:
  bool condition_holds(const RunUntil&) const;
  bool out_of_time();
  bool checkpoint_due() const;
  void make_checkpoint();
  void arm(const RunUntil&);
  RunStatus judge(const RunUntil&);

  Machine machine_;
  EngineDeviceOptions options_;
  Engine engine_;
  bool loaded_ = false;
  std::vector<size_t> watches_;  // by port, 0: none
  std::chrono::steady_clock::time_point start_, last_checkpoint_;
  Cycle last_checkpoint_cycle_ = kNever;
  bool timed_out_ = false;
};

}  // namespace cs::sim
