// BlockModule: one block of PEs as a SystemC module. Its state lives in the engine; it owns the border
// channels.
#pragma once

#include <array>
#include <memory>
#include <systemc>

#include "runtime/support/geometry.h"
#include "simulator/engine/engine.h"
#include "simulator/systemc/border_channel.h"

namespace cs::sim {

class BlockModule : public sc_core::sc_module {
 public:
  BlockModule(sc_core::sc_module_name name, Rect rect);

  const Rect& rect() const { return rect_; }
  BorderChannel& border(Port side) { return *borders_[size_t(side)]; }
  bool observed() const;
  // Publishes the observed sides after the engine has simulated `cycle`.
  void publish(const Engine& engine, Cycle cycle);

 private:
  uint64_t crossed(const Engine& engine, Port side) const;

  Rect rect_;
  std::array<std::unique_ptr<BorderChannel>, 4> borders_;  // by Port: east, west, south, north
};

}  // namespace cs::sim
