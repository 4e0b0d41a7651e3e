// Positions and commands. A position changes the side that it names and keeps the other one of the valid position
// before it, so writing one may change those behind it.
#include "simulator/systemc/structural/color_switch.h"

namespace cs::sim::structural {
namespace {

constexpr int kAllPorts = 31;

uint16_t word_of(const SwitchPosition& p, const SwitchPosition& before) {
  if (!p.valid) return 0;
  int word = isa::kPositionValid | (p.tx & kAllPorts) | (p.rx & kAllPorts) << 5;
  if (p.tx != before.tx) word |= isa::kPositionTx;
  if (p.rx != before.rx || p.tx == before.tx) word |= isa::kPositionRx;
  return uint16_t(word);
}

}  // namespace

ColorSwitch::ColorSwitch(const RouteConfig& c, int advance_cycles, int positions)
    : config_(c),
      current_(c.current & 3),
      advance_cycles_(advance_cycles),
      positions_(positions),
      teardown_(c.teardown) {
  const auto& p = config_.positions;
  words_[0] = uint16_t((p[0].tx & kAllPorts) | (p[0].rx & kAllPorts) << 5);
  for (size_t k = 1, before = 0; k < 4; ++k) {
    words_[k] = word_of(p[k], p[before]);
    if (p[k].valid) before = k;
  }
}

PortSet ColorSwitch::all_tx() const {
  PortSet all = 0;
  for (const SwitchPosition& p : config_.positions)
    if (p.valid) all |= p.tx;
  return all & kAllPorts;
}

PortSet ColorSwitch::all_rx() const {
  PortSet all = 0;
  for (const SwitchPosition& p : config_.positions)
    if (p.valid) all |= p.rx;
  return all & kAllPorts;
}

bool ColorSwitch::swaps(Port in) const {
  if (in == Port::ramp) return false;
  return in == Port::east || in == Port::west ? config_.swap_x : config_.swap_y;
}

int ColorSwitch::after(Command c) const {
  if (c == Command::reset) return 0;
  if (c != Command::advance) return current_;
  for (int p = current_ + 1; p < 4; ++p)
    if (config_.positions[size_t(p)].valid) return p;
  return config_.ring_mode ? 0 : current_;
}

bool ColorSwitch::run(Command c, Cycle now) {
  if (c == Command::teardown) {
    const bool begins = !teardown_;
    teardown_ = true;
    return begins;
  }
  const int next = after(c);
  if (next != current_ && advance_cycles_ > 0) closed_until_ = now + 1 + Cycle(advance_cycles_);
  current_ = next;
  return false;
}

uint32_t ColorSwitch::onward(ControlWord word) const {
  const bool moves = after(word.first()) != current_;
  bool drop = config_.pop_mode == PopMode::always_pop;
  if (config_.pop_mode == PopMode::pop_on_advance) drop = moves;
  if (config_.pop_mode == PopMode::pop_on_advance_nop) drop = moves || word.first() == Command::nop;
  return drop ? word.without_first() : word.payload;
}

uint16_t ColorSwitch::read(isa::ColorReg reg) const {
  switch (reg) {
    case isa::ColorReg::mode:
      return uint16_t(current_ | config_.ring_mode << 2 | int(config_.pop_mode) << 3);
    case isa::ColorReg::teardown:
      return teardown_;
    case isa::ColorReg::messages:
      return messages_;
    default:
      return size_t(reg) < words_.size() ? words_[size_t(reg)] : uint16_t(0);
  }
}

bool ColorSwitch::write(isa::ColorReg reg, uint16_t value) {
  closed_until_ = 0;
  switch (reg) {
    case isa::ColorReg::mode:
      config_.ring_mode = value >> 2 & 1;
      config_.pop_mode = PopMode(value >> 3 & 3);
      current_ = value & 3;
      return true;
    case isa::ColorReg::teardown:
      teardown_ = value != 0;
      return true;
    case isa::ColorReg::messages:
      messages_ = value != 0;
      teardown_ = !messages_;
      config_.positions[0] = {true, PortSet(kAllPorts), PortSet(kAllPorts)};
      return true;
    case isa::ColorReg::pos1:
    case isa::ColorReg::pos2:
    case isa::ColorReg::pos3:
      if ((value & isa::kPositionValid) && int(reg) >= positions_) return false;
      [[fallthrough]];
    case isa::ColorReg::routes:
      words_[size_t(reg)] = value;
      read_words();
      return true;
  }
  return false;
}

void ColorSwitch::read_words() {
  auto& p = config_.positions;
  p[0] = {true, PortSet(words_[0] >> 5 & kAllPorts), PortSet(words_[0] & kAllPorts)};
  for (size_t k = 1, before = 0; k < 4; ++k) {
    p[k] = {};
    if (!(words_[k] & isa::kPositionValid)) continue;
    p[k].valid = true;
    p[k].tx = words_[k] & isa::kPositionTx ? PortSet(words_[k] & kAllPorts) : p[before].tx;
    p[k].rx = words_[k] & isa::kPositionRx ? PortSet(words_[k] >> 5 & kAllPorts) : p[before].rx;
    before = k;
  }
}

}  // namespace cs::sim::structural
