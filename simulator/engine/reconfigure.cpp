// What a program changes in its own router while it runs: routes and switches of a color in teardown, filters.
//
//   own      the first write to a color gives its node a RouteConfig of its own (the Program's are shared)
//   write    the word is kept as written; positions 1 to 3 take the side that they do not set from the one before
//   filter   counts what comes down the ramp and says what of it reaches the core (docs/timing.md, filters)

#include <algorithm>

#include "simulator/engine/core.h"

namespace cs::sim {
namespace {

constexpr int kPorts5 = 31;

uint16_t position_word(const SwitchPosition& p, const SwitchPosition& before) {
  if (!p.valid) return 0;
  uint16_t word = uint16_t(isa::kPositionValid | (p.tx & kPorts5) | (p.rx & kPorts5) << 5);
  if (p.tx != before.tx) word |= isa::kPositionTx;
  if (p.rx != before.rx || p.tx == before.tx) word |= isa::kPositionRx;
  return word;
}

SwitchPosition position_of(uint16_t word, const SwitchPosition& before) {
  SwitchPosition p;
  if (!(word & isa::kPositionValid)) return p;
  p.valid = true;
  p.tx = word & isa::kPositionTx ? PortSet(word & kPorts5) : before.tx;
  p.rx = word & isa::kPositionRx ? PortSet(word >> 5 & kPorts5) : before.rx;
  return p;
}

}  // namespace

OwnRoute& Block::own_route(ColorNode& n) {
  const size_t shared = world.program.routes.size();
  if (n.config >= shared) return own_routes[n.config - shared];
  OwnRoute own;
  own.config = world.program.routes[n.config].config;
  const auto& positions = own.config.positions;
  own.words[0] = uint16_t((positions[0].tx & kPorts5) | (positions[0].rx & kPorts5) << 5);
  for (size_t k = 1, before = 0; k < 4; ++k) {
    own.words[k] = position_word(positions[k], positions[before]);
    if (positions[k].valid) before = k;
  }
  n.config = uint32_t(shared + own_routes.size());
  own_routes.push_back(own);
  return own_routes.back();
}

uint16_t Block::read_color(uint32_t pe_index, int color, isa::ColorReg reg) {
  ColorNode* n = find_node(pe_index, color);
  if (n == nullptr) return 0;
  const OwnRoute& own = own_route(*n);
  switch (reg) {
    case isa::ColorReg::mode:
      return uint16_t(n->position | own.config.ring_mode << 2 | int(own.config.pop_mode) << 3);
    case isa::ColorReg::teardown:
      return n->teardown;
    case isa::ColorReg::messages:
      return n->messages;
    default:
      return int(reg) < 4 ? own.words[size_t(reg)] : uint16_t(0);
  }
}

bool Block::write_color(uint32_t pe_index, int color, isa::ColorReg reg, uint16_t value, Cycle now) {
  ColorNode* n = find_node(pe_index, color);
  if (n == nullptr || int(reg) > int(isa::ColorReg::messages)) return false;
  const bool position = reg >= isa::ColorReg::pos1 && reg <= isa::ColorReg::pos3 && (value & isa::kPositionValid);
  if (position && int(reg) >= world.machine.router.switch_positions) return false;
  OwnRoute& own = own_route(*n);
  auto& positions = own.config.positions;
  switch (reg) {
    case isa::ColorReg::mode:
      own.config.ring_mode = value >> 2 & 1;
      own.config.pop_mode = PopMode(value >> 3 & 3);
      n->position = value & 3;
      break;
    case isa::ColorReg::teardown:
      n->teardown = value != 0;
      break;
    case isa::ColorReg::messages:
      n->messages = value != 0;
      n->teardown = !n->messages;
      positions[0] = {true, PortSet(kPorts5), PortSet(kPorts5)};
      break;
    default:
      own.words[size_t(reg)] = value;
      positions[0] = {true, PortSet(own.words[0] >> 5 & kPorts5), PortSet(own.words[0] & kPorts5)};
      for (size_t k = 1, before = 0; k < 4; ++k) {
        positions[k] = position_of(own.words[k], positions[before]);
        if (positions[k].valid) before = k;
      }
  }
  apply_position(uint32_t(n - nodes.data()), now);
  return true;
}

// ---- filters

bool Block::filter_rejects(const ColorNode& n, Entry e) const {
  const FilterState& f = filters[n.filter - 1u];
  const FilterConfig& c = f.config;
  const bool control = (e & kEntryControl) != 0;
  switch (c.kind) {
    case FilterKind::range: {
      const uint32_t index = entry_data(e) >> 16;
      return !control && (index < c.min_index || index > c.max_index);
    }
    case FilterKind::counter:
      if (c.filter_control) return !control || f.counter != c.max_counter;
      return f.counter > c.max_counter;
    case FilterKind::sparse_counter:
      return !f.off && f.counter > c.max_counter;
    case FilterKind::none:
      break;
  }
  return false;
}

void Block::count_filter(ColorNode& n, Entry e) {
  FilterState& f = filters[n.filter - 1u];
  FilterConfig& c = f.config;
  if (!((e & kEntryControl) ? c.count_control : c.count_data)) return;
  if (f.counter < c.limit1) {
    ++f.counter;
    return;
  }
  f.counter = 0;
  if (c.kind != FilterKind::sparse_counter) return;
  if (c.limit2 == 0) f.off = true;
  c.limit1 = c.limit2;
  c.limit2 = 0;
}

// The filter of that number at the PE: they are numbered by color.
FilterState* Block::find_filter(uint32_t pe_index, int number) {
  const Router& r = routers[pe_index];
  for (uint32_t i = r.first_node; i < r.first_node + r.nodes; ++i)
    if (nodes[i].filter != 0 && number-- == 0) return &filters[nodes[i].filter - 1u];
  return nullptr;
}

// ---- teardown

void Block::signal_teardown(const ColorNode& n, Cycle now) {
  if (tile_of[n.pe] < 0) return;
  Core(*this, pe(n.pe), now).enter_teardown(n.color);
}

}  // namespace cs::sim
