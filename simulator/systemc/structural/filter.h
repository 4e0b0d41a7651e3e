// Filter: between a router's output to the ramp and the input queue (docs/timing.md §4, filters).
#pragma once

#include <optional>

#include "runtime/isa/config_space.h"
#include "runtime/program/program.h"
#include "simulator/systemc/structural/wavelet.h"

namespace cs::sim::structural {

class Filter {
 public:
  Filter() = default;
  explicit Filter(const FilterConfig& c);
  bool exists() const { return config_.kind != FilterKind::none; }
  bool rejects(const Wavelet&) const;
  void count(const Wavelet&);
  std::optional<uint16_t> read(isa::FilterReg) const;
  void write(isa::FilterReg, uint16_t value);

 private:
  FilterConfig config_;
  uint16_t counter_ = 0;
  bool passes_all_ = false;  // a sparse counter after its last period
};

}  // namespace cs::sim::structural
