// ColorSwitch: how one router routes one color: positions, the one in force, teardown, and the registers by which
// programs change all that (docs/timing.md §4, runtime/isa/config_space.h).
#pragma once

#include <array>

#include "runtime/host/device.h"
#include "simulator/systemc/structural/control_word.h"

namespace cs::sim::structural {

class ColorSwitch {
 public:
  ColorSwitch() = default;
  ColorSwitch(const RouteConfig&, int advance_cycles, int positions);

  // The sides of the position in force; nothing is taken in teardown and while the switch moves.
  PortSet rx(Cycle now) const { return teardown_ || now < closed_until_ ? PortSet(0) : position().rx; }
  PortSet tx() const { return position().tx; }
  PortSet all_tx() const;  // of any position
  PortSet all_rx() const;
  bool swaps(Port in) const;
  bool swaps_both() const { return config_.swap_x && config_.swap_y; }
  bool messages() const { return messages_; }
  bool teardown() const { return teardown_; }
  int current() const { return current_; }

  // A command departs at `now`; true if the color went into teardown.
  bool run(Command, Cycle now);
  void advance(Cycle now) { run(Command::advance, now); }
  // What the next router gets of the payload whose first command runs here.
  uint32_t onward(ControlWord) const;

  uint16_t read(isa::ColorReg) const;
  bool write(isa::ColorReg, uint16_t value);

  Cycle closed_until() const { return closed_until_; }
  bool swap_x() const { return config_.swap_x; }
  bool swap_y() const { return config_.swap_y; }

 private:
  const SwitchPosition& position() const { return config_.positions[size_t(current_)]; }
  int after(Command) const;
  void read_words();

  RouteConfig config_;
  std::array<uint16_t, 4> words_{};  // positions as the program wrote them
  int current_ = 0, advance_cycles_ = 0, positions_ = 4;
  bool teardown_ = false, messages_ = false;
  Cycle closed_until_ = 0;
};

}  // namespace cs::sim::structural
