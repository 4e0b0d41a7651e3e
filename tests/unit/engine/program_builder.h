// Small Programs in assembly for tests of the engine, a recorder of what happens, and ways to run them.
//
//   Tile t("worker");
//   t.dsd(96, mem(256, 16)).code("start: lddds d0, [96], {}\n ... \n yield").task(TaskKind::local, 8,
//   "start"); Fabric f(wse2(), 2, 1); f.place({0, 0, 1, 1}, t); f.route({0, 0, 1, 1}, 3, "R", "E");
// Labels are names before a colon and after an @.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <sstream>
#include <string>

#include "runtime/isa/dsd.h"
#include "simulator/engine/engine.h"

namespace cs::sim::test {

inline Machine machine(const std::string& name) {
  Diag diag;
  auto m = load_machine(name, diag);
  EXPECT_TRUE(m.has_value()) << diag.to_string();
  return m.value_or(Machine{});
}
inline Machine wse2() { return machine("wse2"); }
inline Machine wse3() { return machine("wse3"); }

inline isa::Dsd mem(int base, int extent, int stride = 1) {
  isa::Dsd d;
  d.kind = isa::DsdKind::mem1d;
  d.base = uint16_t(base);
  d.extent[0] = uint16_t(extent);
  d.stride[0] = int16_t(stride);
  return d;
}
inline isa::Dsd fabric(isa::DsdKind kind, int queue, int color, int extent) {
  isa::Dsd d;
  d.kind = kind;
  d.queue = uint8_t(queue);
  d.color = uint8_t(color);
  d.extent[0] = uint16_t(extent);
  return d;
}
inline isa::Dsd fabin(int queue, int color, int extent) {
  return fabric(isa::DsdKind::fabin, queue, color, extent);
}
inline isa::Dsd fabout(int queue, int color, int extent) {
  return fabric(isa::DsdKind::fabout, queue, color, extent);
}

struct Tile {
  explicit Tile(const std::string& name) { t.name = name; }

  Tile& code(const std::string& text) {
    std::istringstream in(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(in, line);) {
      line.erase(0, line.find_first_not_of(" \t"));
      if (line.empty()) continue;
      if (size_t colon = line.find(": "); colon != std::string::npos && colon < line.find(' ')) {
        labels[line.substr(0, colon)] = uint32_t(lines.size());
        line = line.substr(colon + 2);
        line.erase(0, line.find_first_not_of(" \t"));
      }
      lines.push_back(line);
    }
    for (std::string line : lines) {
      if (size_t at = line.find('@'); at != std::string::npos && labels.count(line.substr(at + 1)))
        line = line.substr(0, at + 1) + std::to_string(labels[line.substr(at + 1)]);
      Diag diag;
      auto inst = isa::parse_inst(line, {}, diag);
      EXPECT_TRUE(inst.has_value()) << line << "\n" << diag.to_string();
      t.code.push_back(inst.value_or(isa::Inst{}));
    }
    return *this;
  }
  Tile& bytes(int address, const void* data, size_t n) {
    Segment s;
    s.address = uint16_t(address);
    s.bytes.assign(static_cast<const uint8_t*>(data), static_cast<const uint8_t*>(data) + n);
    t.segments.push_back(s);
    return *this;
  }
  Tile& dsd(int address, const isa::Dsd& d) {
    std::vector<uint16_t> words(size_t(d.bytes() / 2));
    isa::encode(d, words);
    return bytes(address, words.data(), words.size() * 2);
  }
  Tile& floats(int address, const std::vector<float>& v) { return bytes(address, v.data(), v.size() * 4); }
  Tile& words(int address, const std::vector<uint32_t>& v) { return bytes(address, v.data(), v.size() * 4); }
  Tile& task(TaskKind kind, int id, const std::string& label, TaskArgs args = TaskArgs::none) {
    t.tasks.push_back({kind, uint8_t(id), labels.at(label), args, label});
    return *this;
  }
  Tile& function(const std::string& label, std::vector<Parameter> parameters = {}) {
    t.functions.push_back({label, labels.at(label), std::move(parameters)});
    return *this;
  }
  Tile& input(int queue, int color) {
    return t.queues.push_back({false, uint8_t(queue), uint8_t(color), 0}), *this;
  }
  Tile& output(int queue, int color) {
    return t.queues.push_back({true, uint8_t(queue), uint8_t(color), 0}), *this;
  }
  Tile& activated(int id) { return t.activated.push_back(uint8_t(id)), *this; }
  Tile& blocked(int id) { return t.blocked.push_back(uint8_t(id)), *this; }

  TileProgram t;
  std::map<std::string, uint32_t> labels;
};

// Sends a literal through the fabout DSD at an address.
inline std::string send_word(int dsd_address, uint32_t word) {
  return "lddds d0, [" + std::to_string(dsd_address) + "], {}\nmov32 d0, " + std::to_string(int32_t(word)) +
         "\n";
}

inline PortSet ports(const std::string& names) {
  PortSet set = 0;
  for (char c : names) set |= port_bit(Port(std::string("EWSNR").find(c)));
  return set;
}

struct Fabric {
  Fabric(const Machine& m, int w, int h) : machine(m) {
    p.arch = m.arch;
    p.fabric_width = w;
    p.fabric_height = h;
    p.user = {0, 0, w, h};
  }
  Fabric& place(Rect r, const Tile& tile) {
    p.tiles.push_back(tile.t);
    p.rects.push_back({r, uint32_t(p.tiles.size() - 1)});
    return *this;
  }
  // Positions are "rx>tx"; further ones are switch positions.
  RouteConfig& route(Rect r, int color, const std::vector<std::string>& positions) {
    RouteRun run;
    run.rect = r;
    run.color = uint8_t(color);
    for (size_t i = 0; i < positions.size(); ++i) {
      size_t arrow = positions[i].find('>');
      run.config.positions[i] = {true, ports(positions[i].substr(0, arrow)),
                                 ports(positions[i].substr(arrow + 1))};
    }
    p.routes.push_back(run);
    return p.routes.back().config;
  }
  int port(const std::string& name, bool input, Port side, int position, int color) {
    p.ports.push_back({name, input, side, position, uint8_t(color)});
    return int(p.ports.size()) - 1;
  }

  Machine machine;
  Program p;
};

class Recorder : public TraceSink {
 public:
  void task(const TaskEvent& e) override { tasks.push_back(e); }
  void stall(const StallEvent& e) override { stalls.push_back(e); }
  void wavelet(const WaveletEvent& e) override { wavelets.push_back(e); }
  // Events of one PE.
  std::vector<TaskEvent> tasks_of(int x, int y = 0) const {
    std::vector<TaskEvent> found;
    for (const TaskEvent& e : tasks)
      if (e.pe == Coord{x, y}) found.push_back(e);
    return found;
  }
  std::vector<WaveletEvent> wavelets_of(int x, int y = 0, int color = -1) const {
    std::vector<WaveletEvent> found;
    for (const WaveletEvent& e : wavelets)
      if (e.pe == Coord{x, y} && (color < 0 || e.color == color)) found.push_back(e);
    return found;
  }
  std::vector<TaskEvent> tasks;
  std::vector<StallEvent> stalls;
  std::vector<WaveletEvent> wavelets;
};

struct Simulation {
  explicit Simulation(const Fabric& f, EngineOptions options = {}) : engine(f.machine, options) {
    engine.set_trace(&trace);
    Diag diag;
    EXPECT_TRUE(engine.load(f.p, {}, diag)) << diag.to_string();
  }
  Simulation& finish(Cycle limit = 1000000) {
    engine.step(limit);
    EXPECT_FALSE(engine.faulted()) << engine.fault().message;
    return *this;
  }
  uint32_t word(int x, int y, int address) const {
    uint8_t b[4];
    engine.read({x, y}, uint16_t(address), b);
    uint32_t v;
    std::memcpy(&v, b, 4);
    return v;
  }
  float value(int x, int y, int address) const {
    uint32_t w = word(x, y, address);
    float f;
    std::memcpy(&f, &w, 4);
    return f;
  }
  Recorder trace;
  Engine engine;
};

}  // namespace cs::sim::test
