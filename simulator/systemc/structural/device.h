// StructuralDevice: the structural model as a Device, so that whatever drives the engine can drive it. One per process:
// SystemC is elaborated once.
#pragma once

#include <atomic>
#include <memory>

#include "simulator/systemc/structural/observer.h"

namespace cs::sim::structural {

class Fabric;

struct StructuralOptions {
  Cycle max_cycles = kNever;
  const std::atomic<bool>* interrupted = nullptr;
  std::string waveform;  // VCD file without ".vcd"; empty: none
  Observer* observer = nullptr;
};

class StructuralDevice : public Device {
 public:
  StructuralDevice(const Machine&, StructuralOptions);
  ~StructuralDevice() override;

  const Machine& machine() const override { return machine_; }
  bool load(const Program&, std::span<const uint8_t> weights, Diag&) override;
  const Program& program() const override { return program_; }
  Cycle now() const override;
  void read(Coord pe, uint16_t address, std::span<uint8_t> out) override;
  void write(Coord pe, uint16_t address, std::span<const uint8_t> in) override;
  bool launch(const std::string& function, std::span<const uint32_t> args, Rect pes, Cycle not_before,
              Diag&) override;
  std::vector<LaunchSpan> launches() override;
  void send(int port, std::span<const uint32_t> data, Cycle not_before) override;
  const std::vector<PortEvent>& received(int port) const override;
  Cycle entered(int port, size_t i) const override;
  void watch(int port, size_t count) override { watches_[size_t(port)] = count; }
  bool stream_to(uint8_t color, Rect pes, std::span<const uint32_t> data, Cycle not_before, Diag&) override;
  bool stream_from(uint8_t color, Rect pes, uint32_t per_pe, Cycle not_before, Diag&) override;
  std::vector<std::vector<uint32_t>> take_streamed(uint8_t color, Rect pes) override;
  RunStatus run(const RunUntil&) override;

  uint64_t instructions() const;  // issued, a vector counts as one
  std::vector<std::string> leftovers() const;

 private:
  bool condition_holds(const RunUntil&) const;
  bool interrupted() const { return options_.interrupted != nullptr && *options_.interrupted; }
  size_t commands_pending() const;
  size_t stream_words_pending() const;
  bool blocked() const;
  std::string who_waits() const;
  template <class Add>
  bool begin_streams(uint8_t color, Rect pes, bool input, Cycle start, Diag&, Add add);

  Machine machine_;
  StructuralOptions options_;
  Program program_;
  std::unique_ptr<Fabric> fabric_;
  std::vector<size_t> watches_;  // by port, 0: none
};

}  // namespace cs::sim::structural
