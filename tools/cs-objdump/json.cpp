// The sections of cs-objdump as JSON.
#include <nlohmann/json.hpp>

#include "tools/cs-objdump/sections.h"

namespace cs::objdump {
namespace {

using Json = nlohmann::ordered_json;

Json rect_json(const Rect& r) { return Json::array({r.x, r.y, r.w, r.h}); }

Json route_json(const RouteRun& r) {
  Json positions = Json::array();
  for (const SwitchPosition& s : r.config.positions) positions.push_back(switch_position_text(s));
  return {{"rect", rect_json(r.rect)},           {"color", r.color},
          {"positions", positions},              {"current", r.config.current},
          {"ring", r.config.ring_mode},          {"pop", pop_mode_name(r.config.pop_mode)},
          {"teardown", r.config.teardown}};
}

Json sections_json(const TileProgram& t) {
  Json out = Json::array();
  for (const Section& s : t.sections) {
    out.push_back({{"name", s.name}, {"kind", section_kind_name(s.kind)}, {"address", s.address}, {"bytes", s.bytes}});
  }
  return out;
}

Json tile_symbols_json(const TileProgram& t) {
  Json variables = Json::array(), functions = Json::array();
  for (const Symbol& s : t.symbols) {
    variables.push_back({{"name", s.name}, {"type", data_type_name(s.type)}, {"address", s.address},
                         {"elements", s.elements}, {"mutable", s.is_mutable}});
  }
  for (const Function& f : t.functions) {
    Json parameters = Json::array();
    for (const Parameter& p : f.parameters) parameters.push_back(data_type_name(p.type));
    functions.push_back({{"name", f.name}, {"entry", f.entry}, {"parameters", parameters}});
  }
  return {{"variables", variables}, {"functions", functions}};
}

uint64_t used_bytes(const TileProgram& t) {
  uint64_t used = 0;
  for (const Section& s : t.sections) used += s.bytes;
  return used;
}

}  // namespace

Json summary_json(const Input& in) {
  const Program& p = in.program;
  int64_t pes = 0;
  for (const TileRect& r : p.rects) pes += r.rect.area();
  Json ports = Json::array(), exports = Json::array();
  for (const HostPort& h : p.ports) {
    ports.push_back({{"name", h.name}, {"input", h.input}, {"side", port_name(h.side)}, {"position", h.position},
                     {"color", h.color}});
  }
  for (const ExportedName& e : p.exports) {
    exports.push_back({{"name", e.name}, {"function", e.is_function}, {"type", data_type_name(e.type)}});
  }
  Json out = {{"name", p.name},
              {"machine", p.machine},
              {"arch", arch_name(p.arch)},
              {"fabric", {p.fabric_width, p.fabric_height}},
              {"user", rect_json(p.user)},
              {"memcpy", p.memcpy},
              {"pes", pes},
              {"tile_programs", p.tiles.size()},
              {"route_runs", p.routes.size()},
              {"ports", ports},
              {"exports", exports},
              {"weights_bytes", in.weights.size()}};
  if (!p.host) return out;
  Json kernels = Json::array();
  for (const KernelRow& k : p.host->kernels) {
    kernels.push_back({{"name", k.name}, {"op", k.op}, {"kernel", k.kernel}, {"origin", origin_name(k.origin)},
                       {"reason", k.reason}, {"rect", rect_json(k.rect)}, {"flops", k.flops},
                       {"ideal_cycles", k.ideal_cycles}, {"estimated_cycles", k.estimated_cycles},
                       {"bytes_per_pe", k.bytes_per_pe}, {"colors", k.colors}});
  }
  out["host"] = {{"model", p.host->model}, {"policy", p.host->policy}, {"dtype", p.host->dtype}, {"kernels", kernels}};
  return out;
}

Json colors_json(const Input& in) {
  Json out = Json::array();
  const auto uses = color_uses(in.program, in.machine.router.colors);
  for (size_t c = 0; c < uses.size(); ++c) {
    const ColorUse& u = uses[c];
    if (u.routers == 0) continue;
    out.push_back({{"color", c}, {"routers", u.routers}, {"senders", u.senders}, {"receivers", u.receivers},
                   {"switches", u.switches}, {"ports", u.ports}});
  }
  return out;
}

Json memory_json(const Input& in) {
  Json out = Json::array();
  const auto pes = pes_of_tiles(in.program);
  for (size_t i = 0; i < in.program.tiles.size(); ++i) {
    const TileProgram& t = in.program.tiles[i];
    out.push_back({{"tile", i}, {"name", t.name}, {"pes", pes[i]}, {"used_bytes", used_bytes(t)},
                   {"memory_bytes", in.machine.core.memory_bytes}, {"sections", sections_json(t)}});
  }
  return out;
}

Json symbols_json(const Input& in) {
  Json out = Json::array();
  for (size_t i = 0; i < in.program.tiles.size(); ++i) {
    Json row = {{"tile", i}, {"name", in.program.tiles[i].name}};
    row.update(tile_symbols_json(in.program.tiles[i]));
    out.push_back(std::move(row));
  }
  return out;
}

Json routes_json(const Input& in) {
  Json out = Json::array();
  for (const RouteRun& r : in.program.routes) out.push_back(route_json(r));
  return out;
}

Json tile_json(const Input& in, Coord pe) {
  Json out = {{"pe", {pe.x, pe.y}}, {"tile", nullptr}};
  if (const TileProgram* t = tile_at(in.program, pe); t != nullptr) {
    Json code = Json::array(), tasks = Json::array(), queues = Json::array();
    for (size_t i = 0; i < t->code.size(); ++i) {
      code.push_back({{"text", isa::print(t->code[i])}, {"where", t->where(uint32_t(i))}});
    }
    for (const TaskBinding& k : t->tasks) {
      tasks.push_back({{"kind", task_kind_name(k.kind)}, {"id", k.id}, {"name", k.name}, {"entry", k.entry}});
    }
    for (const QueueBinding& q : t->queues) {
      queues.push_back({{"output", q.output}, {"queue", q.queue}, {"color", q.color}});
    }
    out["tile"] = t->name;
    out["sections"] = sections_json(*t);
    out["symbols"] = tile_symbols_json(*t);
    out["tasks"] = tasks;
    out["queues"] = queues;
    out["code"] = code;
  }
  out["routes"] = Json::array();
  for (const RouteRun& r : in.program.routes) {
    if (r.rect.contains(pe)) out["routes"].push_back(route_json(r));
  }
  return out;
}

}  // namespace cs::objdump
