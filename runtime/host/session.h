// Session: a host program's view of a Device, for programs that copy and launch (anyone's own CSL).
//
// Calls block: they return when the host would go on. A copy or launch takes host_call_us plus its bytes at
// link_gb_per_s, converted with clock_mhz, during which the fabric goes on. 16-bit data travels in 32-bit host words,
// zero-extended, as the vendor's runtime does it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "runtime/host/device.h"

namespace cs {

// Order of a host array for a rectangle of w x h PEs with n elements each: row_major is A[h][w][n] in C order,
// column_major the same array in Fortran order (h fastest).
enum class HostOrder : uint8_t { row_major, column_major };

class Session {
 public:
  explicit Session(Device& device) : device_(device) {}

  // Rectangles are in coordinates of the user rectangle. Each call reports what is wrong and returns false; a fault,
  // deadlock or timeout of the simulated program is in status().
  bool copy_to(const std::string& symbol, Rect pes, uint32_t elements_per_pe, std::span<const uint32_t> data,
               HostOrder, Diag&);
  bool copy_from(const std::string& symbol, Rect pes, uint32_t elements_per_pe, std::vector<uint32_t>& data,
                 HostOrder, Diag&);
  // Starts an exported function on every PE of the user rectangle.
  bool launch(const std::string& function, std::span<const uint32_t> args, Diag&);
  // Runs until every PE has given its command stream back.
  bool wait(Diag&);
  // Streams of named ports.
  bool send(const std::string& port, std::span<const uint32_t> data, Diag&);
  bool receive(const std::string& port, size_t count, std::vector<uint32_t>& data, Diag&);

  const RunStatus& status() const { return status_; }
  void set_max_cycles(Cycle c) { max_cycles_ = c; }

 private:
  bool run_for(double seconds, Diag&);
  bool judge(const RunStatus&, Diag&);
  bool check_rect(Rect pes, const std::string& what, Diag&) const;
  // The exported symbol on a PE, or null (reported) if a PE of the rectangle has none or it is too small.
  const Symbol* symbol_at(const std::string& name, Coord fabric, uint32_t elements, Diag&) const;
  int port_index(const std::string& port, bool input, Diag&) const;

  Device& device_;
  RunStatus status_;
  Cycle max_cycles_ = kNever;
  std::vector<size_t> received_;   // per port: wavelets handed out so far
};

}  // namespace cs
