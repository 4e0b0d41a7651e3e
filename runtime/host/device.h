// Device: what can run a Program, seen from the host. SimDevice (tools/cs-sim) is the simulator behind it.
//
// Time is in wafer cycles. The device's clock advances only inside run(). Nothing here costs host time: Session
// (session.h) converts calls, bytes and host operators into cycles and passes `not_before` values.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/program/program.h"

namespace cs {

using Cycle = uint64_t;
inline constexpr Cycle kNever = ~Cycle(0);

enum class StopReason : uint8_t {
  condition,    // what run() was asked to wait for has happened
  idle,         // nothing can happen any more without the host
  deadlock,     // something is blocked and nothing can move
  fault,        // a simulated fault
  max_cycles,
  interrupted,
};

struct RunStatus {
  StopReason reason = StopReason::idle;
  Cycle now = 0;
  std::string fault;    // fault name as in DESIGN ("deadlock", "out-of-bounds"), empty if none
  std::string message;  // the report: PE, cycle, source line, who waits for whom
};

struct PortEvent {      // a wavelet received from an output port
  uint32_t data = 0;
  Cycle cycle = 0;
  bool control = false;
};

struct MemoryPiece {    // part of one PE's memory, fabric coordinates
  Coord pe;
  uint16_t address = 0;
  uint32_t bytes = 0;
};

// One launch of a function. It is over when every PE that has the function has given its command stream back;
// what the function leaves running behind that does not count.
struct LaunchSpan {
  std::string function;
  Cycle issued = 0;                      // the call is at the PEs
  Cycle begin = kNever, last_begin = 0;  // first instruction on the first PE and on the last one
  Cycle first_end = kNever, end = 0;  // the first PE and the last one have given their command streams back
  Coord last_pe;                      // that ended last; of several the first in row order
  int64_t pes = 0, ended = 0;         // that have the function; that are through with it
  uint64_t pe_cycles = 0;             // over PEs: from its first instruction to its end
  bool done() const { return ended == pes && pes > 0; }
  Cycle cycles() const { return done() ? end - begin : 0; }
  bool operator==(const LaunchSpan&) const = default;
};

// run() returns when the clock reaches `until`, or when any of the conditions that are set holds.
struct RunUntil {
  Cycle cycle = kNever;
  bool commands_done = false;              // no launched function is still holding the command stream
  bool streams_done = false;               // all that stream_to() and stream_from() asked for has passed
  int received_port = -1;                  // this output port has at least ...
  size_t received_count = 0;               // ... so many wavelets in total since load
  bool any_watch = false;                  // any watched port (watch()) has reached its count
  bool while_active = false;               // nothing moves any more; the clock then stays where that was
  bool list_leftovers = false;             // in the message: wavelets that nobody takes, if nothing moves any more
};

class Device {
 public:
  virtual ~Device() = default;
  virtual const Machine& machine() const = 0;
  // Loads program and weights at cycle 0; false with a diagnostic if it does not fit the machine.
  virtual bool load(const Program&, std::span<const uint8_t> weights, Diag&) = 0;
  virtual const Program& program() const = 0;
  virtual Cycle now() const = 0;

  // Memory of one PE (fabric coordinates), at the present cycle.
  virtual void read(Coord pe, uint16_t address, std::span<uint8_t> out) = 0;
  virtual void write(Coord pe, uint16_t address, std::span<const uint8_t> in) = 0;

  // The same for many PEs at once: a device in another process answers in one go. `bytes` holds them one after the
  // other. Derived devices override both or none.
  virtual void read_many(std::span<const MemoryPiece> pieces, std::span<uint8_t> bytes) {
    for (const MemoryPiece& p : pieces) {
      read(p.pe, p.address, bytes.first(p.bytes));
      bytes = bytes.subspan(p.bytes);
    }
  }
  virtual void write_many(std::span<const MemoryPiece> pieces, std::span<const uint8_t> bytes) {
    for (const MemoryPiece& p : pieces) {
      write(p.pe, p.address, bytes.first(p.bytes));
      bytes = bytes.subspan(p.bytes);
    }
  }

  // Queues a call of an exported function on every PE of the rectangle, to start at `not_before` at the
  // earliest, when the PE's command stream is ready. Arguments are raw 32-bit values in declaration order.
  virtual bool launch(const std::string& function, std::span<const uint32_t> args, Rect pes, Cycle not_before,
                      Diag&) = 0;

  // Every launch so far, in order, whether it is over or not.
  virtual std::vector<LaunchSpan> launches() = 0;

  // Streams. Ports are indices into Program::ports. Wavelets enter at the host rate, in order, from `not_before`.
  virtual void send(int port, std::span<const uint32_t> data, Cycle not_before) = 0;
  // Wavelets that arrived at an output port since load, in order.
  virtual const std::vector<PortEvent>& received(int port) const = 0;
  // Cycle at which the i-th wavelet sent to an input port entered the fabric, kNever if not yet.
  virtual Cycle entered(int port, size_t i) const = 0;
  // run() with any_watch stops when received(port).size() >= count; count 0 removes the watch.
  virtual void watch(int port, size_t count) = 0;

  // Host streams of a color (Program::streams): every PE of the rectangle (fabric coordinates) has one of its own, and
  // the PEs of a row take turns at the host rate. stream_to: `data` has `per_pe` words for every PE, row by row.
  // stream_from: lets `per_pe` more wavelets of every PE leave for the host; without it they wait. Both are reported
  // and false if a PE has no such stream; neither advances time.
  virtual bool stream_to(uint8_t color, Rect pes, std::span<const uint32_t> data, Cycle not_before, Diag&) = 0;
  virtual bool stream_from(uint8_t color, Rect pes, uint32_t per_pe, Cycle not_before, Diag&) = 0;
  // What stream_from let out of these PEs so far and nobody has taken yet, in order; PE by PE, row by row.
  virtual std::vector<std::vector<uint32_t>> take_streamed(uint8_t color, Rect pes) = 0;

  virtual RunStatus run(const RunUntil&) = 0;
};

}  // namespace cs
