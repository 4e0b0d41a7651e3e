// Writes PeState, and the variables of the tile program as they lie in memory.
#include "simulator/report/state_dump.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "runtime/numerics/numerics.h"

namespace cs::sim {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kSides[] = {"EAST", "WEST", "SOUTH", "NORTH", "RAMP"};
constexpr size_t kShownValues = 8;

const TileProgram* tile_at(const Engine& engine, Coord pe) {
  for (const TileRect& r : engine.program().rects)
    if (r.rect.contains(pe)) return &engine.program().tiles[r.tile];
  return nullptr;
}

struct Variable {
  std::string name;
  uint16_t address = 0;
  std::vector<uint8_t> bytes;
  const Symbol* symbol = nullptr;  // with a type, if it is exported
};

// Exported variables, then other data by the memory map.
std::vector<Variable> variables_of(const Engine& engine, Coord pe) {
  std::vector<Variable> out;
  const TileProgram* tile = tile_at(engine, pe);
  if (tile == nullptr) return out;
  const auto add = [&](const std::string& name, uint16_t address, uint32_t bytes, const Symbol* symbol) {
    for (const Variable& v : out)
      if (v.address == address && v.bytes.size() == bytes) return;
    Variable& v = out.emplace_back(Variable{name, address, std::vector<uint8_t>(bytes), symbol});
    engine.read(pe, address, v.bytes);
  };
  for (const Symbol& s : tile->symbols)
    add(s.name, s.address, s.elements * uint32_t(data_type_bytes(s.type)), &s);
  for (const Section& s : tile->sections)
    if (s.kind == SectionKind::data || s.kind == SectionKind::noinit)
      add(s.name, s.address, s.bytes, nullptr);
  return out;
}

std::string hex(const std::vector<uint8_t>& bytes) {
  std::string out;
  for (const uint8_t b : bytes) out += fmt::format("{:02x}", b);
  return out;
}

std::string value_text(DataType type, uint32_t bits, Fp16Format half) {
  switch (type) {
    case DataType::f32:
      return fmt::format("{}", std::bit_cast<float>(bits));
    case DataType::f16:
    case DataType::bf16:
      return fmt::format("{}", numerics::half_to_float(uint16_t(bits), half));
    case DataType::i8:
      return fmt::format("{}", int(int8_t(bits)));
    case DataType::i16:
      return fmt::format("{}", int(int16_t(bits)));
    case DataType::i32:
      return fmt::format("{}", int32_t(bits));
    default:
      return fmt::format("{}", bits);
  }
}

// "[1.5, 2, ...]" of a type that is known, else 32-bit words in hexadecimal.
std::string values(const Variable& v, Fp16Format half) {
  std::string out;
  const size_t width = v.symbol != nullptr ? size_t(data_type_bytes(v.symbol->type)) : 4;
  const size_t count = (v.bytes.size() + width - 1) / width;
  for (size_t i = 0; i < std::min(count, kShownValues); ++i) {
    uint32_t bits = 0;
    std::memcpy(&bits, &v.bytes[i * width], std::min({width, v.bytes.size() - i * width, sizeof bits}));
    if (i > 0) out += ", ";
    out += v.symbol != nullptr ? value_text(v.symbol->type, bits, half) : fmt::format("0x{:08x}", bits);
  }
  return "[" + out + (count > kShownValues ? fmt::format(", ... {} in all]", count) : "]");
}

std::string one_text(const Engine& engine, Coord pe) {
  const PeState s = engine.state(pe);
  std::string out = fmt::format("PE ({}, {}): {}\n", pe.x, pe.y, s.tile.empty() ? "routes only" : s.tile);
  if (!s.running.empty())
    out += fmt::format("  runs {} at {} (instruction {})\n", s.running, s.source, s.inst);
  for (const OperationState& o : s.operations)
    out += fmt::format("  {}{}{}: {} of {} elements done{}\n", o.thread, o.source.empty() ? "" : " at ",
                       o.source, o.done, o.total, o.waits.empty() ? "" : ", waits for " + o.waits);
  if (!s.command_ready) out += "  the command stream is taken\n";
  if (s.commands > 0) out += fmt::format("  {} launches wait for the command stream\n", s.commands);
  for (const TaskState& t : s.tasks)
    if (t.active || t.blocked)
      out += fmt::format("  task '{}' ({} {}):{}{}\n", t.name, t.kind, t.id, t.active ? " active" : "",
                         t.blocked ? " blocked" : "");
  for (const QueueState& q : s.queues) {
    if (q.words.empty()) continue;
    out += fmt::format(
        "  {}, color {}: {} of {} words:", q.id < 0 ? "no queue" : fmt::format("input queue {}", q.id),
        q.color, q.words.size(), q.depth);
    for (const QueueState::Word& w : q.words)
      out += fmt::format(" {}0x{:08x}", w.control ? "control " : "", w.data);
    out += "\n";
  }
  for (const LaneState& l : s.lanes)
    out += fmt::format("  router, color {} from {}: {} of {} wavelets\n", l.color, kSides[size_t(l.from)],
                       l.wavelets, l.capacity);
  std::string registers;
  for (size_t i = 0; i < s.registers.size(); ++i)
    if (s.registers[i] != 0) registers += fmt::format(" r{} 0x{:04x}", i, s.registers[i]);
  if (!registers.empty() || s.carry)
    out += fmt::format("  registers{}{}; others 0\n", registers, s.carry ? " carry" : "");
  for (const Variable& v : variables_of(engine, pe))
    out += fmt::format("  {} at {}: {}\n", v.name, v.address, values(v, tile_at(engine, pe)->fp16));
  return out;
}

Json one_json(const Engine& engine, Coord pe) {
  const PeState s = engine.state(pe);
  Json j{{"pe", {pe.x, pe.y}},
         {"tile", s.tile},
         {"running", s.running},
         {"source", s.source},
         {"instruction", s.inst}};
  j["registers"] = s.registers;
  j["carry"] = s.carry;
  j["command_stream_ready"] = s.command_ready;
  j["launches_waiting"] = s.commands;
  j["operations"] = Json::array();
  for (const OperationState& o : s.operations)
    j["operations"].push_back({{"thread", o.thread},
                               {"source", o.source},
                               {"instruction", o.inst},
                               {"done", o.done},
                               {"total", o.total},
                               {"waits_for", o.waits}});
  j["tasks"] = Json::array();
  for (const TaskState& t : s.tasks)
    j["tasks"].push_back(
        {{"name", t.name}, {"kind", t.kind}, {"id", t.id}, {"active", t.active}, {"blocked", t.blocked}});
  j["queues"] = Json::array();
  for (const QueueState& q : s.queues) {
    Json words = Json::array();
    for (const QueueState::Word& w : q.words) words.push_back({{"data", w.data}, {"control", w.control}});
    j["queues"].push_back({{"queue", q.id}, {"color", q.color}, {"depth", q.depth}, {"words", words}});
  }
  j["lanes"] = Json::array();
  for (const LaneState& l : s.lanes)
    j["lanes"].push_back({{"color", l.color},
                          {"from", kSides[size_t(l.from)]},
                          {"wavelets", l.wavelets},
                          {"capacity", l.capacity}});
  j["variables"] = Json::array();
  for (const Variable& v : variables_of(engine, pe)) {
    Json e{{"name", v.name}, {"address", v.address}, {"bytes", hex(v.bytes)}};
    if (v.symbol != nullptr) e["type"] = data_type_name(v.symbol->type);
    j["variables"].push_back(e);
  }
  return j;
}

}  // namespace

std::string state_text(const Engine& engine, const std::vector<Coord>& pes) {
  std::string out = fmt::format("cycle {}\n", engine.now());
  for (const Coord pe : pes) out += one_text(engine, pe);
  return out;
}

std::string state_json(const Engine& engine, const std::vector<Coord>& pes) {
  Json j{{"schema", "wafersmith-state/1"}, {"cycle", engine.now()}, {"pes", Json::array()}};
  for (const Coord pe : pes) j["pes"].push_back(one_json(engine, pe));
  return j.dump(1) + "\n";
}

}  // namespace cs::sim
