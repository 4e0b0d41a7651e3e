// Random programs that use much of what docs/timing.md speaks of: streams with branches, switches and filters between
// cores and ports of the host; operations of all kinds, tasks, FIFOs, registers; machines with other latencies. Many
// of them end in a deadlock, some in a fault: that is compared too.
#pragma once

#include <random>

#include "tests/unit/engine/program_builder.h"
#include "tests/unit/structural/outcome.h"

namespace cs::sim::test {

class RandomProgram {
 public:
  explicit RandomProgram(uint32_t seed);
  Experiment experiment() const;

 private:
  struct Flow {
    int color = 0, n = 0;
    Coord from;
    std::vector<Coord> to;     // cores that get it
    bool by_host = false;      // a port is its source
    bool to_host = false;      // a port is one of its ends
    bool half = false;         // 16-bit elements
    isa::SimdMode simd = isa::SimdMode::automatic;
    int commands = 0;          // control wavelets behind the data
    bool float_sum = false;    // what is sent was computed
    int in_port = -1;
  };
  struct Writer;  // of one PE's program

  uint32_t pick(uint32_t n) { return uint32_t(rng_() % n); }
  bool chance(int percent) { return int(rng_() % 100) < percent; }
  void vary_machine();
  void add_flow(int color);
  bool walk(Flow&, std::vector<std::vector<Port>>& entered, std::vector<PortSet>& leaves);
  void route(const Flow&, int color, const std::vector<std::vector<Port>>& entered, const std::vector<PortSet>& leaves);
  Tile tile(Coord);
  void add_send(Writer&, const Flow&);
  void add_receive(Writer&, const Flow&);
  void add_vector(Writer&);
  void add_scalars(Writer&);
  void add_registers(Writer&);
  void add_fifo(Writer&);

  std::mt19937 rng_;
  Fabric f_;
  int width_ = 1, height_ = 1;
  std::vector<Flow> flows_;
};

}  // namespace cs::sim::test
