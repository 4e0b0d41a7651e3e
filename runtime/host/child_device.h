// ChildDevice: a Device in a process of its own (cs-sim --serve), spoken to by wire.h.
//
// SystemC builds one model per process, so whoever wants several simulations, or must outlive one, uses this.
// Writes are collected and sent with the next request; reads of many PEs are one request. When the process
// dies, every call from then on reports so, and run() ends with a fault.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/host/wire.h"

namespace cs {

struct ChildOptions {
  std::string program;                 // path of cs-sim
  std::string folder;                  // of the compiled program
  std::vector<std::string> arguments;  // more of cs-sim's options
  bool own_group = false;  // a terminal's signals do not reach it; its parent ends it
  std::function<void(int pid)> started = {};  // called as soon as there is a process
};

class ChildDevice : public Device {
 public:
  // Starts the process. Null, reported, if it cannot be started or cannot load the folder.
  static std::unique_ptr<ChildDevice> open(const ChildOptions&, Diag&);
  // Over a connection that exists (tests). Takes the descriptors.
  static std::unique_ptr<ChildDevice> connect(int to_child, int from_child, Diag&);
  ~ChildDevice() override;
  ChildDevice(const ChildDevice&) = delete;
  ChildDevice& operator=(const ChildDevice&) = delete;

  const Machine& machine() const override { return machine_; }
  // The child has loaded the folder by itself, and program() is what it has loaded: this only compares.
  bool load(const Program&, std::span<const uint8_t> weights, Diag&) override;
  const Program& program() const override { return program_; }
  Cycle now() const override { return now_; }
  void read(Coord pe, uint16_t address, std::span<uint8_t> out) override;
  void write(Coord pe, uint16_t address, std::span<const uint8_t> in) override;
  void read_many(std::span<const MemoryPiece>, std::span<uint8_t> bytes) override;
  void write_many(std::span<const MemoryPiece>, std::span<const uint8_t> bytes) override;
  std::vector<LaunchSpan> launches() override;
  bool launch(const std::string& function, std::span<const uint32_t> args, Rect pes, Cycle not_before,
              Diag&) override;
  void send(int port, std::span<const uint32_t> data, Cycle not_before) override;
  const std::vector<PortEvent>& received(int port) const override { return received_[size_t(port)]; }
  Cycle entered(int port, size_t i) const override;
  void watch(int port, size_t count) override;
  bool stream_to(uint8_t color, Rect pes, std::span<const uint32_t> data, Cycle not_before, Diag&) override;
  bool stream_from(uint8_t color, Rect pes, uint32_t per_pe, Cycle not_before, Diag&) override;
  std::vector<std::vector<uint32_t>> take_streamed(uint8_t color, Rect pes) override;
  RunStatus run(const RunUntil&) override;

  // Empty while the other process answers, else what went wrong.
  const std::string& failure() const { return failure_; }
  // Ends the process; what it has written (traces) is complete when this returns. False if it ended badly.
  bool close();

 private:
  ChildDevice(int to, int from, int pid) : to_(to), from_(from), pid_(pid) {}
  bool greet(Diag&);
  void lost(const std::string& why);
  void flush_writes();
  // Sends and waits for the reply; false if there is none. An Op::error reply is reported.
  bool ask(wire::Op, std::string_view payload, wire::Frame& reply, Diag&);
  void take_events(wire::Reader&);

  int to_ = -1, from_ = -1, pid_ = -1;
  std::string failure_;
  Machine machine_;
  Program program_;
  Cycle now_ = 0;
  std::vector<MemoryPiece> pieces_;  // writes not yet sent ...
  std::vector<uint8_t> written_;     // ... and their bytes
  std::vector<std::vector<PortEvent>> received_;
  std::vector<std::vector<Cycle>> entered_;
};

}  // namespace cs
