// Wavelets between the host and one lane or output of the fabric, at the host's rate (docs/timing.md §11). What lies
// behind an edge (EdgePort) or in the bend of a streaming color at a PE's ramp (RampStreams) is made of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/host/port_rates.h"
#include "simulator/systemc/structural/clocks.h"
#include "simulator/systemc/structural/wavelet.h"

namespace cs::sim::structural {

// A link to the host: at most a wavelet in `period` cycles.
struct HostRate {
  double period = 1, next_free = 0;
  bool free(Cycle now) const { return next_free <= double(now); }
  void use(Cycle now) { next_free = next_turn(next_free, double(now), period); }
  Cycle free_at() const { return Cycle(std::ceil(next_free)); }
};

struct HostInput {
  struct Chunk {
    std::vector<uint32_t> data;
    Cycle not_before = 0;
  };
  int color = 0;
  std::vector<Chunk> chunks;
  size_t chunk = 0, offset = 0;  // what is sent next
  std::vector<Cycle> entered;
  int taken = 0;  // of the lane that it feeds, flight included

  bool pending() {
    while (chunk < chunks.size() && offset == chunks[chunk].data.size()) ++chunk, offset = 0;
    return chunk < chunks.size();
  }
  Cycle not_before() const { return chunks[chunk].not_before; }
  size_t words_left() const {
    size_t n = 0;
    for (size_t i = chunk; i < chunks.size(); ++i) n += chunks[i].data.size() - (i == chunk ? offset : 0);
    return n;
  }
  Wavelet take(Cycle now) {
    entered.push_back(now);
    return {.valid = true, .color = uint8_t(color), .data = chunks[chunk].data[offset++]};
  }
};

struct HostOutput {
  int color = 0;
  size_t limit = SIZE_MAX;  // that the host has asked for
  size_t handed = 0;        // of `received`, to the host
  std::vector<PortEvent> received;
};

}  // namespace cs::sim::structural
