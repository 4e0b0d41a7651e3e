// The sections of cs-objdump as text.
#include "tools/cs-objdump/sections.h"

#include <algorithm>

#include <fmt/format.h>

namespace cs::objdump {

std::vector<int64_t> pes_of_tiles(const Program& p) {
  std::vector<int64_t> pes(p.tiles.size());
  for (const TileRect& r : p.rects) pes[r.tile] += r.rect.area();
  return pes;
}

const TileProgram* tile_at(const Program& p, Coord pe) {
  for (const TileRect& r : p.rects) {
    if (r.rect.contains(pe)) return &p.tiles[r.tile];
  }
  return nullptr;
}

std::vector<ColorUse> color_uses(const Program& p, int colors) {
  std::vector<ColorUse> uses(static_cast<size_t>(colors));
  for (const RouteRun& r : p.routes) {
    ColorUse& use = uses[r.color];
    PortSet rx = 0, tx = 0;
    for (size_t i = 0; i < r.config.positions.size(); ++i) {
      const SwitchPosition& s = r.config.positions[i];
      if (!s.valid) continue;
      rx |= s.rx;
      tx |= s.tx;
      use.switches = use.switches || i > 0;
    }
    use.routers += r.rect.area();
    if (tx & port_bit(Port::ramp)) use.receivers += r.rect.area();
    if (rx & port_bit(Port::ramp)) use.senders += r.rect.area();
  }
  for (const HostPort& h : p.ports) uses[h.color].ports.push_back(h.name);
  return uses;
}

namespace {

std::string rect(const Rect& r) { return fmt::format("{}x{} at ({}, {})", r.w, r.h, r.x, r.y); }

std::string route_line(const RouteRun& r) {
  std::string text = fmt::format("color {:2}  {:<22}", r.color, rect(r.rect));
  size_t used = r.config.positions.size();
  while (used > 1 && !r.config.positions[used - 1].valid) --used;
  for (size_t i = 0; i < used; ++i) {
    text += i == r.config.current && i > 0 ? "  *" : "  ";
    text += switch_position_text(r.config.positions[i]);
  }
  if (r.config.ring_mode) text += "  ring";
  if (r.config.pop_mode != PopMode::no_pop) text += fmt::format("  {}", pop_mode_name(r.config.pop_mode));
  if (r.config.teardown) text += "  teardown";
  return text + "\n";
}

std::string memory_of(const TileProgram& t, const Machine& m) {
  uint64_t used = 0;
  std::string text;
  for (const Section& s : t.sections) {
    used += s.bytes;
    text += fmt::format("  {:5} .. {:5}  {:6}  {:<9}  {}\n", s.address, s.address + std::max(s.bytes, 1u) - 1, s.bytes,
                        section_kind_name(s.kind), s.name);
  }
  return text + fmt::format("  {} of {} bytes used, {} free\n", used, m.core.memory_bytes,
                            m.core.memory_bytes - int64_t(used));
}

std::string symbols_of(const TileProgram& t) {
  std::string text;
  for (const Symbol& s : t.symbols) {
    text += fmt::format("  {:5}  {:<24} [{}]{}{}\n", s.address, s.name, s.elements, data_type_name(s.type),
                        s.is_mutable ? "" : "  read-only");
  }
  for (const Function& f : t.functions) {
    std::string parameters;
    for (const Parameter& p : f.parameters) {
      parameters += fmt::format("{}{}", parameters.empty() ? "" : ", ", data_type_name(p.type));
    }
    text += fmt::format("  @{:<4}  {:<24} fn({})\n", f.entry, f.name, parameters);
  }
  return text;
}

std::string code_of(const TileProgram& t, Arch arch) {
  std::string text;
  uint32_t address = t.code_address;
  std::string last;
  for (size_t i = 0; i < t.code.size(); ++i) {
    for (const TaskBinding& k : t.tasks) {
      if (k.entry == i) text += fmt::format("{} task {} '{}':\n", task_kind_name(k.kind), k.id, k.name);
    }
    for (const Function& f : t.functions) {
      if (f.entry == i) text += fmt::format("fn {}:\n", f.name);
    }
    const std::string where = t.where(uint32_t(i));
    const std::string inst = isa::print(t.code[i]);
    text += fmt::format("  {:5}  {:4}: ", address, i);
    text += where == last || where.empty() ? inst + "\n" : fmt::format("{:<44}  ; {}\n", inst, where);
    last = where;
    address += uint32_t(isa::bytes(t.code[i].op, arch));
  }
  return text;
}

std::string host_text(const HostPart& h) {
  std::string text = fmt::format("model       {} (policy {}, {})\n", h.model, h.policy, h.dtype);
  for (const KernelRow& k : h.kernels) {
    text += fmt::format("kernel      {:<20} {:<24} {:<11} {}\n", k.name, k.op, origin_name(k.origin),
                        k.rect == Rect{} ? "host" : rect(k.rect));
  }
  return text;
}

}  // namespace

std::string summary_text(const Input& in) {
  const Program& p = in.program;
  int64_t pes = 0;
  for (const TileRect& r : p.rects) pes += r.rect.area();
  size_t instructions = 0;
  for (const TileProgram& t : p.tiles) instructions += t.code.size();
  std::string text = fmt::format("program     {}\nmachine     {} ({})\n", p.name, p.machine, arch_name(p.arch));
  text += fmt::format("fabric      {} x {}, user rectangle {}{}\n", p.fabric_width, p.fabric_height, rect(p.user),
                      p.memcpy ? ", memcpy" : "");
  text += fmt::format("PEs         {} with code, {} tile programs, {} instructions\n", pes, p.tiles.size(),
                      instructions);
  const auto uses = color_uses(p, in.machine.router.colors);
  const auto used = std::count_if(uses.begin(), uses.end(), [](const ColorUse& u) { return u.routers > 0; });
  text += fmt::format("routes      {} runs on {} colors\n", p.routes.size(), used);
  for (const HostPort& h : p.ports) {
    text += fmt::format("port        {:<20} {} {} {}, color {}\n", h.name, h.input ? "input" : "output",
                        port_name(h.side), h.position, h.color);
  }
  for (const ExportedName& e : p.exports) {
    text += fmt::format("export      {:<20} {}\n", e.name, e.is_function ? "function" : data_type_name(e.type));
  }
  text += fmt::format("weights     {} bytes\n", in.weights.size());
  return p.host ? text + host_text(*p.host) : text;
}

std::string colors_text(const Input& in) {
  std::string text = "color   routers     sends  receives  switches  ports\n";
  const auto uses = color_uses(in.program, in.machine.router.colors);
  for (size_t c = 0; c < uses.size(); ++c) {
    const ColorUse& u = uses[c];
    if (u.routers == 0) continue;
    text += fmt::format("{:5} {:9} {:9} {:9}  {:<8}  {}\n", c, u.routers, u.senders, u.receivers,
                        u.switches ? "yes" : "no", fmt::join(u.ports, ", "));
  }
  return text;
}

std::string memory_text(const Input& in) {
  const auto pes = pes_of_tiles(in.program);
  std::string text;
  for (size_t i = 0; i < in.program.tiles.size(); ++i) {
    const TileProgram& t = in.program.tiles[i];
    text += fmt::format("tile program {} '{}' on {} PEs\n{}", i, t.name, pes[i], memory_of(t, in.machine));
  }
  return text;
}

std::string symbols_text(const Input& in) {
  std::string text;
  for (size_t i = 0; i < in.program.tiles.size(); ++i) {
    const TileProgram& t = in.program.tiles[i];
    text += fmt::format("tile program {} '{}'\n{}", i, t.name, symbols_of(t));
  }
  return text;
}

std::string routes_text(const Input& in) {
  std::string text = "inputs > outputs of E, W, S, N, R (ramp); switch positions follow, * is the current one\n";
  for (const RouteRun& r : in.program.routes) text += route_line(r);
  return text;
}

std::string tile_text(const Input& in, Coord pe) {
  const Program& p = in.program;
  std::string text = fmt::format("PE ({}, {})", pe.x, pe.y);
  if (p.user.contains(pe)) text += fmt::format(", ({}, {}) in the user rectangle", pe.x - p.user.x, pe.y - p.user.y);
  const TileProgram* t = tile_at(p, pe);
  text += t == nullptr ? "\nno tile program: the PE only routes\n" : fmt::format("\ntile program '{}'\n", t->name);
  if (t != nullptr) {
    text += "\nmemory\n" + memory_of(*t, in.machine) + "\nsymbols\n" + symbols_of(*t) + "\nqueues\n";
    for (const QueueBinding& q : t->queues) {
      text += fmt::format("  {} queue {}: color {}\n", q.output ? "output" : "input", q.queue, q.color);
    }
    text += fmt::format("\ntasks  (blocked at start: {}; activated: {})\n", fmt::join(t->blocked, ", "),
                        fmt::join(t->activated, ", "));
    for (const TaskBinding& k : t->tasks) {
      text += fmt::format("  {} {:2}: {} at instruction {}\n", task_kind_name(k.kind), k.id, k.name, k.entry);
    }
    text += "\ncode\n" + code_of(*t, p.arch);
  }
  text += "\nroutes\n";
  for (const RouteRun& r : p.routes) {
    if (r.rect.contains(pe)) text += "  " + route_line(r);
  }
  return text;
}

}  // namespace cs::objdump
