// JournalDevice: a device that keeps what its user has asked and what it answered, so that the user can be brought to
// the same point later without the device doing anything again.
//
// The journal has every call that changes the device or whose answer depends on it, with a hash of its arguments. A
// user who does the same again (a host program with the same inputs) is answered from it, up to the run() in which it
// was taken; that one goes to the device, which stands where it stood then. A user who does something else gets a fault
// `restore` from run(), zeros from everything else, and what differs is in problem().
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/host/device.h"
#include "runtime/host/wire.h"

namespace cs {

class JournalDevice : public Device {
 public:
  explicit JournalDevice(Device& device) : device_(device), wire_reader_("") {}

  // What was asked so far, without the run() at work.
  std::string bytes() const;
  // From now on the user is answered from these bytes. False if they are no journal.
  bool replay(std::string bytes);
  // The user has not come as far as the journal yet.
  bool replaying() const { return replaying_; }
  const std::string& problem() const { return problem_; }

  // A run() that ends before what it was to wait for, by an interrupt or at `limit`, is not in the journal, nor is
  // anything behind it: `stopped` is called then, and may keep bytes().
  void at_early_end(Cycle limit, std::function<void()> stopped) {
    limit_ = limit;
    stopped_ = std::move(stopped);
  }

  const Machine& machine() const override { return device_.machine(); }
  bool load(const Program& p, std::span<const uint8_t> weights, Diag& diag) override {
    return device_.load(p, weights, diag);
  }
  const Program& program() const override { return device_.program(); }
  Cycle now() const override { return replaying_ ? now_ : device_.now(); }
  void read(Coord pe, uint16_t address, std::span<uint8_t> out) override;
  void write(Coord pe, uint16_t address, std::span<const uint8_t> in) override;
  void read_many(std::span<const MemoryPiece> pieces, std::span<uint8_t> bytes) override;
  void write_many(std::span<const MemoryPiece> pieces, std::span<const uint8_t> bytes) override;
  bool launch(const std::string& function, std::span<const uint32_t> args, Rect pes, Cycle not_before,
              Diag&) override;
  std::vector<LaunchSpan> launches() override;
  void send(int port, std::span<const uint32_t> data, Cycle not_before) override;
  const std::vector<PortEvent>& received(int port) const override;
  Cycle entered(int port, size_t i) const override;
  void watch(int port, size_t count) override { device_.watch(port, count); }
  bool stream_to(uint8_t color, Rect pes, std::span<const uint32_t> data, Cycle not_before, Diag&) override;
  bool stream_from(uint8_t color, Rect pes, uint32_t per_pe, Cycle not_before, Diag&) override;
  std::vector<std::vector<uint32_t>> take_streamed(uint8_t color, Rect pes) override;
  RunStatus run(const RunUntil&) override;

 private:
  // Finds the call in the journal (true: its answer is next there), or begins an entry for it.
  bool answered(wire::Op, std::string_view arguments);
  RunStatus run_again();
  void keep_run(const RunStatus&);
  void differs(const std::string& what);
  RunStatus broken() const;

  Device& device_;
  wire::Writer journal_;
  uint64_t calls_ = 0;
  uint64_t running_ = 0;           // hash of the run() at work
  std::vector<size_t> told_;       // by port: events in the journal
  bool closed_ = false;            // nothing is kept any more
  Cycle limit_ = kNever;
  std::function<void()> stopped_;

  bool replaying_ = false;
  std::string problem_;
  std::string replayed_;
  wire::Reader wire_reader_;                   // what of it is still to come
  uint64_t expected_run_ = 0;
  Cycle now_ = 0;
  std::vector<std::vector<PortEvent>> shown_;  // by port
};

}  // namespace cs
