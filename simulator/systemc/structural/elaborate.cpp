// From a Program to modules and wires.
#include <algorithm>
#include <bit>

#include "runtime/host/port_rates.h"
#include "simulator/systemc/structural/fabric.h"

namespace cs::sim::structural {
namespace {

template <class F>
void for_pes(const Rect& r, F&& f) {
  for (int y = r.y; y < r.y + r.h; ++y)
    for (int x = r.x; x < r.x + r.w; ++x) f(Coord{x, y});
}

constexpr const char* kSides[] = {"east", "west", "south", "north"};

std::string place(const char* what, Coord c) {
  return std::string(what) + "_" + std::to_string(c.x) + "_" + std::to_string(c.y);
}

}  // namespace

// NOLINTNEXTLINE(performance-unnecessary-value-param)
Fabric::Fabric(sc_core::sc_module_name name, const Program& p, const Machine& m, std::span<const uint8_t> weights,
               Observer* observer)
    : sc_module(name), program_(p), machine_(m), observer_(observer) {
  for (const TileProgram& t : p.tiles) tiles_.push_back(std::make_unique<Tile>(t, m));
  make_elements(weights);
  add_colors();
  make_links();
  make_ports();
  add_streams();
  for (auto& [where, pe] : elements_) {
    in_order_.push_back(pe.get());
    for (Activity* a : pe->activities()) activities_.push_back(a);
  }
  for (const auto& l : links_) activities_.push_back(&l->activity);
  for (auto& [where, edge] : edges_) {
    activities_.push_back(&edge->activity);
    activities_.push_back(&edge->in_activity());
  }
}

void Fabric::make_elements(std::span<const uint8_t> weights) {
  for (const TileRect& t : program_.rects)
    for_pes(t.rect, [&](Coord c) { make_element(c, tiles_[t.tile].get()); });
  for (const RouteRun& run : program_.routes)
    for_pes(run.rect, [&](Coord c) {
      if (at(c) == nullptr) make_element(c, nullptr);
    });
  load_constants(weights);
}

void Fabric::make_element(Coord c, const Tile* tile) {
  Observer& listener = *this;
  elements_[{c.y, c.x}] = std::make_unique<ProcessingElement>(place("pe", c).c_str(), clocks_, machine_, c,
                                                              program_.user, tile, launches_, listener);
}

// In memory at cycle 0.
void Fabric::load_constants(std::span<const uint8_t> weights) {
  if (!program_.host) return;
  for (const Constant& k : program_.host->constants)
    for_pes(k.rect, [&](Coord c) {
      ProcessingElement* pe = at(c);
      const Symbol* symbol = pe && pe->tile ? pe->tile->program->symbol(k.symbol) : nullptr;
      const size_t number = size_t(c.y - k.rect.y) * size_t(k.rect.w) + size_t(c.x - k.rect.x);
      const size_t from = k.offset + number * k.bytes_per_pe;
      if (symbol == nullptr || from > weights.size() || k.bytes_per_pe > weights.size() - from) return;
      pe->memory.write(symbol->address, weights.subspan(from, k.bytes_per_pe));
    });
}

void Fabric::add_colors() {
  for (const RouteRun& run : program_.routes)
    for_pes(run.rect, [&](Coord c) { at(c)->router.add_color(run.color, run.config); });
  for (auto& [where, pe] : elements_)
    if (pe->tile)
      for (uint32_t rest = pe->tile->opens_colors; rest != 0; rest &= rest - 1)
        pe->router.open_color(std::countr_zero(rest));
}

void Fabric::make_links() {
  for (auto& [where, pe] : elements_)
    for (int p = 0; p < 4; ++p) {
      const Port out = Port(p);
      ProcessingElement* next = at(neighbour(pe->at, out));
      if (next && (out == Port::east || out == Port::south)) {
        make_link(*pe, *next, out);
        make_link(*next, *pe, opposite(out));
      }
    }
}

// The far end has a lane for the colors that it routes.
void Fabric::make_link(ProcessingElement& from, ProcessingElement& to, Port out) {
  links_.push_back(std::make_unique<Link>((place("link", from.at) + "_" + kSides[size_t(out)]).c_str(), clocks_,
                                          machine_.router.hop_cycles));
  Link& link = *links_.back();
  from.router.connect_out(out, &link);
  to.router.connect_in(opposite(out), &link);
  uint32_t colors = 0;
  for (int c = 0; c < machine_.router.colors; ++c) {
    const int within = to.router.color(c).swaps(opposite(out)) ? c ^ 1 : c;
    if (to.router.has_color(within)) colors |= 1u << c;
  }
  from.router.set_far_colors(out, colors);
}

EdgePort& Fabric::edge_port(Port side, int position) {
  auto& port = edges_[{side, position}];
  if (port) return *port;
  const Coord c = edge_of(program_, side, position);
  port = std::make_unique<EdgePort>((place("edge", c) + "_" + kSides[size_t(side)]).c_str(), clocks_, machine_);
  Router& router = at(c)->router;
  router.connect_in(side, &port->in());
  router.connect_out(side, &port->out());
  router.set_edge(side, &port->room);
  return *port;
}

void Fabric::make_ports() {
  const std::vector<double> periods = port_periods(program_, machine_);
  inputs_.resize(program_.ports.size());
  outputs_.resize(program_.ports.size());
  for (size_t i = 0; i < program_.ports.size(); ++i) {
    const HostPort& p = program_.ports[i];
    EdgePort& edge = edge_port(p.side, p.position);
    if (p.input)
      inputs_[i] = &edge.add_input(p.color, periods[i]);
    else
      outputs_[i] = &edge.add_output(p.color, periods[i]);
  }
}

void Fabric::add_streams() {
  for (const HostStream& s : program_.streams)
    for (auto& [where, pe] : elements_) {
      if (!pe->router.has_color(s.color)) continue;
      const ColorSwitch& color = pe->router.color(s.color);
      const PortSet ramp = port_bit(Port::ramp);
      if (color.rx(0) == ramp && color.tx() == ramp) pe->add_stream(s, clocks_, machine_);
    }
}

}  // namespace cs::sim::structural
