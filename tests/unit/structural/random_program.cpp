// The streams of a random program: ways with branches, switches, filters; then a program for every PE.
#include "tests/unit/structural/random_program.h"

#include <fmt/format.h>

#include <algorithm>

namespace cs::sim::test {

RandomProgram::RandomProgram(uint32_t seed) : rng_(seed), f_(machine(seed % 2 ? "wse2" : "wse3"), 1, 1) {
  width_ = 1 + int(pick(6));
  height_ = 1 + int(pick(4));
  f_.p.fabric_width = width_;
  f_.p.fabric_height = height_;
  f_.p.user = {0, 0, width_, height_};
  if (chance(60)) vary_machine();
  const int colors = 1 + int(pick(8));
  for (int color = 0; color < colors; ++color)
    for (int tries = 0; tries < 3; ++tries) add_flow(color);
  for (int y = 0; y < height_; ++y)
    for (int x = 0; x < width_; ++x)
      if (x + y == 0 || chance(90)) f_.place({x, y, 1, 1}, tile({x, y}));
}

Experiment RandomProgram::experiment() const {
  std::vector<std::pair<int, int>> inputs;  // port, words
  for (const Flow& w : flows_)
    if (w.in_port >= 0) inputs.emplace_back(w.in_port, w.n);
  return {f_.machine, f_.p, {}, [inputs](Device& device, std::vector<std::string>& out) {
            for (const auto& [port, n] : inputs) {
              std::vector<uint32_t> words;
              for (int i = 0; i < n; ++i) words.push_back(uint32_t(1000 * port + i));
              device.send(port, words, Cycle(7 * port));
            }
            describe(device.run({.cycle = 6000, .while_active = true}), out, false);
          }};
}

void RandomProgram::vary_machine() {
  Machine& m = f_.machine;
  const auto maybe = [&](int& value, int low, int high) {
    if (chance(30)) value = low + int(pick(uint32_t(high - low + 1)));
  };
  maybe(m.router.hop_cycles, 1, 4);
  maybe(m.router.lane_depth_wavelets, 1, 5);
  maybe(m.router.switch_advance_cycles, 0, 5);
  maybe(m.ramp.up_cycles, 0, 4);
  maybe(m.ramp.fp_cycles, 0, 4);
  maybe(m.ramp.down_cycles, 0, 4);
  maybe(m.ramp.wavelets_per_cycle, 1, 3);
  maybe(m.core.dsd_start_cycles, 1, 6);
  maybe(m.core.task_start_cycles, 0, 5);
  maybe(m.core.task_switch_cycles, 0, 3);
  maybe(m.core.reduction_cycles_per_element, 1, 3);
  maybe(m.core.read_bytes_per_cycle, 4, 16);
  maybe(m.core.jump_taken_cycles, 1, 6);
  for (int& words : m.queues.output_words) maybe(words, 1, 8);
  for (int& words : m.queues.input_words) maybe(words, 1, 8);
  if (chance(10)) m.calibration.silicon_calibration = true;
}

// ---- streams

// A way from the source with branches, each PE entered once; false if it is too short to be one.
bool RandomProgram::walk(Flow& w, std::vector<std::vector<Port>>& entered, std::vector<PortSet>& leaves) {
  const auto index = [&](Coord c) { return size_t(c.y * width_ + c.x); };
  std::vector<Coord> ends{w.from};
  const int steps = 1 + int(pick(uint32_t(width_ + height_)));
  for (int step = 0; step < steps && !ends.empty(); ++step) {
    const Coord at = ends[pick(uint32_t(ends.size()))];
    const Port out = Port(pick(4));
    const Coord next = neighbour(at, out);
    const bool inside = next.x >= 0 && next.y >= 0 && next.x < width_ && next.y < height_;
    if (!inside || !entered[index(next)].empty()) continue;
    for (const Flow& other : flows_)  // one color, one tree at a PE
      if (other.color == w.color && (other.from == next || std::count(other.to.begin(), other.to.end(), next)))
        return false;
    leaves[index(at)] |= port_bit(out);
    entered[index(next)].push_back(opposite(out));
    if (chance(75)) std::erase(ends, at);
    ends.push_back(next);
  }
  for (int y = 0; y < height_; ++y)
    for (int x = 0; x < width_; ++x) {
      const Coord c{x, y};
      const bool on_it = !entered[index(c)].empty();
      if (!on_it || (leaves[index(c)] != 0 && !chance(25))) continue;
      if (leaves[index(c)] == 0 && chance(15) && (x == 0 || x == width_ - 1) && !w.to_host) {
        const Port side = x == 0 ? Port::west : Port::east;
        if (entered[index(c)][0] != side) {
          leaves[index(c)] |= port_bit(side);
          w.to_host = true;
          f_.port(fmt::format("out{}", f_.p.ports.size()), false, side, y, w.color);
          continue;
        }
      }
      leaves[index(c)] |= port_bit(Port::ramp);
      w.to.push_back(c);
    }
  return !w.to.empty() || w.to_host;
}

void RandomProgram::add_flow(int color) {
  Flow w;
  w.color = color;
  w.n = 1 + int(pick(chance(20) ? 60 : 14));
  w.from = {int(pick(uint32_t(width_))), int(pick(uint32_t(height_)))};
  for (const RouteRun& run : f_.p.routes)
    if (run.color == color) return;
  w.half = chance(40);
  if (w.half && chance(60)) w.simd = chance(50) ? isa::SimdMode::simd_32 : isa::SimdMode::simd_64;
  w.float_sum = chance(30);
  if (chance(25)) w.commands = 1 + int(pick(3));
  std::vector<std::vector<Port>> entered(size_t(width_ * height_));
  std::vector<PortSet> leaves(size_t(width_ * height_));
  const size_t source = size_t(w.from.y * width_ + w.from.x);
  w.by_host = w.from.x == 0 && chance(40);
  entered[source].push_back(w.by_host ? Port::west : Port::ramp);
  const size_t ports = f_.p.ports.size();
  if (!walk(w, entered, leaves)) {
    f_.p.ports.resize(ports);
    return;
  }
  if (w.by_host) {
    w.commands = 0;
    w.in_port = f_.port(fmt::format("in{}", f_.p.ports.size()), true, Port::west, w.from.y, color);
  }
  route(w, color, entered, leaves);
  flows_.push_back(w);
}

void RandomProgram::route(const Flow& w, int color, const std::vector<std::vector<Port>>& entered,
                          const std::vector<PortSet>& leaves) {
  for (size_t i = 0; i < entered.size(); ++i) {
    if (entered[i].empty()) continue;
    RouteRun run;
    run.rect = {int(i) % width_, int(i) / width_, 1, 1};
    run.color = uint8_t(color);
    const PortSet rx = port_bit(entered[i][0]), tx = leaves[i];
    if (tx == 0) continue;
    run.config.positions[0] = {true, rx, tx};
    if (chance(w.commands > 0 ? 60 : 5)) {  // a switch
      run.config.positions[1] = {true, rx, chance(50) ? tx : port_bit(Port(pick(5)))};
      if (chance(30)) run.config.positions[2] = {true, chance(70) ? rx : port_bit(Port(pick(5))), tx};
      run.config.ring_mode = chance(60);
      run.config.pop_mode = PopMode(pick(4));
    }
    if ((tx & port_bit(Port::ramp)) && chance(10)) {
      FilterConfig& filter = run.config.filter;
      filter.kind = FilterKind(1 + pick(3));
      filter.count_data = chance(90);
      filter.count_control = chance(40);
      filter.filter_control = chance(15);
      filter.init_counter = uint16_t(pick(3));
      filter.max_counter = uint16_t(pick(4));
      filter.limit1 = uint16_t(filter.max_counter + pick(4));
      filter.limit2 = uint16_t(pick(5));
      filter.max_index = uint16_t(pick(2000));
    }
    f_.p.routes.push_back(run);
  }
}

}  // namespace cs::sim::test
