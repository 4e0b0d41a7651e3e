// Wafer: a program on a simulated wafer as a SystemC module, for models of what stands beside a wafer.
//
//   find_package(Wafersmith REQUIRED COMPONENTS systemc)
//   target_link_libraries(mine PRIVATE Wafersmith::systemc)      // C++20 and SC_CPLUSPLUS=201703L come with
//   it
//
//   int sc_main(int, char**) {
//     wafersmith::Wafer wafer("wafer", wafersmith::Program::load("net.csp"));
//     sc_core::sc_fifo<wafersmith::Wavelet> x("x", 4), y("y", 4);
//     wafer.in("x")(x);
//     wafer.out("y")(y);
//     ... modules of your own on the other ends ...
//     sc_core::sc_start();
//   }
//
// Time: a cycle takes 1 / clock_mhz of the machine. The wafer is passive, without clock signal and thread;
// idle, it costs nothing. What others do at time T it sees at its first edge after T, in whatever order
// processes run. Wavelets wait in the fabric while a fifo is full, and in the fifo while the edge of the
// fabric is.
//
// Reports: "/wafersmith/fault/NAME" (error) when the simulated program fails, "/wafersmith/deadlock"
// (warning) at sc_stop() if it waits for ever, "/wafersmith/elaboration" (error) for what is connected
// wrongly.
#pragma once

#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "wafersmith/array.h"
#include "wafersmith/program.h"
#include "wafersmith/session.h"

namespace wafersmith {

// What crosses a link in a cycle: 32 bits.
struct Wavelet {
  uint32_t data = 0;     // floats by their bits
  bool control = false;  // its data are commands for routers
  bool operator==(const Wavelet&) const = default;
};
std::ostream& operator<<(std::ostream&, const Wavelet&);

// A stream over the edge of the fabric that the program does not name itself, as streams to the host are: a
// color that is routed off the fabric, or comes in over its edge.
struct EdgeStream {
  enum class Side : uint8_t { west, east, north, south };
  std::string name;
  bool input = true;
  Side side = Side::west;
  int position = 0;  // row for west and east, column for north and south, in fabric coordinates
  int color = 0;
};

// How the wafer is simulated, and which streams cross its edge.
struct WaferOptions {
  int threads = 1;
  std::vector<EdgeStream> edges;
  // Only this rectangle of the fabric (of PEs, fabric coordinates): a block of the wafer. Its border is the
  // edge then, and `edges` are in coordinates of the block; coordinates that the program reads stay those of
  // the whole.
  Rectangle block;
  // Cycles at a time. More are faster where much happens; what others do is seen up to so many cycles late.
  uint64_t quantum_cycles = 1;
  std::vector<std::string> allow;  // faults that are counted and do not end the run
};

class Wafer : public sc_core::sc_module {
 public:
  using In = sc_core::sc_port<sc_core::sc_fifo_in_if<Wavelet>, 1, sc_core::SC_ZERO_OR_MORE_BOUND>;
  using Out = sc_core::sc_port<sc_core::sc_fifo_out_if<Wavelet>, 1, sc_core::SC_ZERO_OR_MORE_BOUND>;

  // Throws Error if the machine cannot hold the program.
  Wafer(sc_core::sc_module_name name, const Program& program, const WaferOptions& options = {});
  ~Wafer() override;

  // ---- streams, of the program and of the options
  std::vector<std::string> inputs() const;
  std::vector<std::string> outputs() const;
  // For elaboration; an error report if there is none of this name. Inputs that nobody binds stay empty,
  // outputs that nobody binds take everything.
  In& in(const std::string& stream);
  Out& out(const std::string& stream);

  // ---- memory of the PEs as a TLM-2.0 target: read, write and debug transport, no DMI
  tlm::tlm_target_socket<32, tlm::tlm_base_protocol_types, 1, sc_core::SC_ZERO_OR_MORE_BOUND> memory;
  // Address of a byte in a PE, in fabric coordinates: ((y * fabric width + x) << 16) + byte.
  uint64_t address(int x, int y, uint32_t byte = 0) const;
  struct Place {
    uint64_t address = 0;  // of its first element
    uint32_t bytes = 0;
  };
  // Of an exported variable on the PE at (x, y) of the program's rectangle. Throws Error if it is not there.
  Place place(const std::string& variable, int x, int y) const;

  // ---- functions and values, from processes or between two calls of sc_start
  void launch(const std::string& function, const std::vector<Session::Argument>& arguments = {});
  const sc_core::sc_event& launches_done() const;
  Array read(const std::string& variable) const;

  sc_core::sc_time cycle_time() const;  // rounded to the time resolution; edges do not drift
  uint64_t cycle() const;               // everything before it has happened
  Statistics statistics() const;

 private:
  void before_end_of_elaboration() override;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace wafersmith
