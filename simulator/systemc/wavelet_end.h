// WaveletInput, WaveletOutput: what lies outside the wafer at a host port, as the wafer module sees it.
//
// Back-pressure works in both directions: the wafer takes from an input only what has room at its edge, and
// lets no more wavelets leave than the output has room for; what cannot leave waits in the fabric.
#pragma once

#include <cstdint>
#include <systemc>

namespace cs::sim {

struct EdgeWavelet {
  uint32_t data = 0;
  bool control = false;
};

class WaveletInput {
 public:
  virtual ~WaveletInput() = default;
  virtual bool take(EdgeWavelet&) = 0;  // false: there is none
  virtual const sc_core::sc_event& written() const = 0;
};

class WaveletOutput {
 public:
  virtual ~WaveletOutput() = default;
  virtual size_t room() const = 0;  // so many can be put now
  virtual void put(const EdgeWavelet&) = 0;
  virtual const sc_core::sc_event& taken() const = 0;
};

}  // namespace cs::sim
