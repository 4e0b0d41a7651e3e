// What signals between modules carry: one wavelet, or those of one cycle of a ramp.
#pragma once

#include <array>
#include <cstdint>
#include <ostream>
#include <string>
#include <systemc>

#include "runtime/machine/field_widths.h"

namespace cs::sim::structural {

struct Wavelet {
  bool valid = false;
  uint8_t color = 0;
  bool control = false;
  bool advance = false;  // last one of a send that advances the sender's own switch (docs/timing.md §4)
  bool message = false;  // down the ramp: of a color that routes messages
  uint32_t data = 0;
  bool operator==(const Wavelet&) const = default;
};

// Beside the ramp's rate, two of 16 bits share a wavelet of a wide group, and what arithmetic has computed may land
// together with what was copied later (§5).
struct Wavelets {
  std::array<Wavelet, 4 * widths::kRampWavelets> all{};
  uint8_t count = 0;
  void add(const Wavelet& w) { all.at(count++) = w; }
  const Wavelet* begin() const { return all.data(); }
  const Wavelet* end() const { return all.data() + count; }
  bool operator==(const Wavelets&) const = default;
};

inline std::ostream& operator<<(std::ostream& out, const Wavelet& w) {
  if (!w.valid) return out << "-";
  return out << "color " << int(w.color) << (w.control ? " control " : " data ") << w.data;
}

inline std::ostream& operator<<(std::ostream& out, const Wavelets& w) {
  for (const Wavelet& one : w) out << one << "; ";
  return out;
}

inline void sc_trace(sc_core::sc_trace_file* file, const Wavelet& w, const std::string& name) {
  sc_core::sc_trace(file, w.valid, name + ".valid");
  sc_core::sc_trace(file, w.color, name + ".color");
  sc_core::sc_trace(file, w.control, name + ".control");
  sc_core::sc_trace(file, w.data, name + ".data");
}

inline void sc_trace(sc_core::sc_trace_file* file, const Wavelets& w, const std::string& name) {
  sc_core::sc_trace(file, w.count, name + ".count");
  sc_trace(file, w.all[0], name);
}

}  // namespace cs::sim::structural
