// Session: a host program's view of a Device, for programs that copy, launch and stream (anyone's own CSL).
//
// What <memcpy> does (copies, launches, streams of a color) is a queue of commands: each starts when the one
// before is complete and every PE has given its command stream back (unblock_cmd_stream). begin() puts a
// command into it and returns at once; wait() lets simulated time pass until it is complete. The plain calls
// are begin() and wait() in one. A command takes memcpy.command_cycles of the fabric, a copy its bytes at
// link_gb_per_s as well. The host's own time (host_call_us) is on a clock of its own: where the host has
// waited for a command before, the fabric goes on as long as it has something to do, and its clock stands
// still behind that. 16-bit data travels in 32-bit host words, zero-extended, as the vendor's runtime does
// it. Named ports (send, receive) are beside that queue: each port is a stream of its own.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/host/device.h"

namespace cs {

// Order of a host array for a rectangle of w x h PEs with n elements each: row_major is A[h][w][n] in C order,
// column_major the same array in Fortran order (h fastest).
enum class HostOrder : uint8_t { row_major, column_major };

// One command of the queue. Rectangles are in coordinates of the user rectangle.
struct HostCommand {
  enum class Kind : uint8_t {
    copy_to,          // data: [h][w][n]
    copy_to_rows,     // data: [h][1][n], the same for every PE of a row
    copy_to_columns,  // data: [1][w][n], the same for every PE of a column
    copy_from,
    launch,           // data: the arguments, raw 32-bit values in declaration order; on the whole user rectangle
    stream_to,        // data: [h][w][n]; complete when the last wavelet has entered the fabric
    stream_from,      // complete when all wavelets have arrived
  };
  Kind kind = Kind::copy_to;
  std::string name;              // symbol or function
  uint8_t color = 0;             // of a stream
  Rect pes;
  uint32_t elements_per_pe = 0;
  HostOrder order = HostOrder::row_major;
  std::vector<uint32_t> data;    // what goes to the PEs
  int step_x = 1, step_y = 1;    // copy_to: only every so many columns and rows of `pes`, from its first ones on
};

class Session {
 public:
  using Ticket = uint32_t;
  explicit Session(Device& device) : device_(device) {}

  // Each call reports what is wrong with it and returns false; a fault, deadlock or timeout of the simulated program
  // is in status(), and no later command is started.
  bool copy_to(const std::string& symbol, Rect pes, uint32_t elements_per_pe, std::span<const uint32_t> data,
               HostOrder, Diag&);
  bool copy_to_rows(const std::string& symbol, Rect pes, uint32_t elements_per_pe, std::span<const uint32_t> data,
                    HostOrder, Diag&);
  bool copy_to_columns(const std::string& symbol, Rect pes, uint32_t elements_per_pe,
                       std::span<const uint32_t> data, HostOrder, Diag&);
  bool copy_from(const std::string& symbol, Rect pes, uint32_t elements_per_pe, std::vector<uint32_t>& data,
                 HostOrder, Diag&);
  // Starts an exported function on every PE of the user rectangle; does not wait for its end.
  bool launch(const std::string& function, std::span<const uint32_t> args, Diag&);
  // Queues the data and does not wait; see begin().
  bool stream_to(uint8_t color, Rect pes, uint32_t elements_per_pe, std::span<const uint32_t> data, HostOrder,
                 Diag&);
  bool stream_from(uint8_t color, Rect pes, uint32_t elements_per_pe, std::vector<uint32_t>& data, HostOrder,
                   Diag&);
  // Runs until the queue is empty and every PE has given its command stream back.
  bool wait(Diag&);

  // Lets what still runs on the fabric come to rest, for so many cycles at most.
  bool rest(Cycle at_most);

  // The queue itself. begin() checks the command; nullopt (reported) if it cannot be done.
  std::optional<Ticket> begin(HostCommand, Diag&);
  bool done(Ticket t) const { return t < completed_; }
  // Runs until this command (and so all before it) is complete; a launch: until its function has given the command
  // stream back on every PE. False: see status().
  bool wait(Ticket, Diag&);
  // What a completed copy_from or stream_from brought, once.
  std::vector<uint32_t> take(Ticket);

  // Streams of named ports.
  bool send(const std::string& port, std::span<const uint32_t> data, Diag&);
  bool receive(const std::string& port, size_t count, std::vector<uint32_t>& data, Diag&);

  // The host works for so long before its next command, while the fabric goes on. False: see status().
  bool work(Cycle cycles) { return run_for(cycles); }

  const RunStatus& status() const { return status_; }
  // Every launch so far, in order.
  std::vector<LaunchSpan> launches() const { return device_.launches(); }
  // The host's own time for the calls so far.
  double host_seconds() const { return host_seconds_; }
  void set_max_cycles(Cycle c) { max_cycles_ = c; }

 private:
  struct Entry {
    HostCommand command;
    std::vector<uint32_t> result;
  };

  bool check(const HostCommand&, Diag&) const;
  bool check_stream(const HostCommand&, Diag&) const;
  bool check_symbol(const HostCommand&, Diag&) const;
  bool run(HostCommand, std::vector<uint32_t>* result, Diag&);
  bool execute(Entry&, Diag&);
  bool start_launch(const HostCommand&, Diag&);
  bool run_stream_to(const HostCommand&, Diag&);
  bool run_stream_from(Entry&, Diag&);
  bool move_copy(HostCommand&, std::vector<uint32_t>& words, bool to, Diag&);
  bool follow_pointers(const std::string& name, std::span<const std::pair<size_t, uint16_t>> pointers,
                       std::vector<MemoryPiece>& pieces, Diag&);
  bool settle();
  bool complete(Ticket, Diag&);
  bool call();
  Cycle cycles_of(double seconds) const;
  Cycle transfer_cycles(const HostCommand&) const;
  bool run_for(Cycle);
  bool run_until(RunUntil, const char* what);
  bool judge(const RunStatus&);
  bool check_rect(Rect pes, const std::string& what, Diag& diag) const;
  // The exported symbol on a PE, or null (reported) if a PE of the rectangle has none or it is too small.
  const Symbol* symbol_at(const HostCommand&, Coord fabric, Diag&) const;
  bool may_read_beyond(const HostCommand&, const Symbol&) const;
  int port_index(const std::string& port, bool input, Diag&) const;

  Device& device_;
  RunStatus status_;
  Cycle max_cycles_ = kNever;
  std::deque<Entry> entries_;      // by ticket
  Ticket completed_ = 0;           // tickets below are complete
  bool failed_ = false;            // the simulated program is at an end
  bool launched_ = false;          // a function may hold the command stream
  bool waited_ = false;            // since the last command
  double host_seconds_ = 0;
  std::vector<size_t> received_;   // per port: wavelets handed out so far
};

}  // namespace cs
