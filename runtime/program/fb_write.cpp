// Program -> program.fb. The builder writes in a fixed order, so equal Programs give equal bytes.
//
// 1. Collect the mnemonics in use, in the order of the instruction table.
// 2. Write leaves first (strings, vectors of structs), then tables that point to them, then the root.
#include <map>

#include "program_generated.h"

#include "runtime/program/program.h"

namespace cs {
namespace {

using Builder = flatbuffers::FlatBufferBuilder;
template <typename T>
using Offset = flatbuffers::Offset<T>;
using Mnemonics = std::map<isa::Op, uint16_t>;

fb::Rect pack(const Rect& r) { return fb::Rect(r.x, r.y, r.w, r.h); }
fb::Position pack(const SwitchPosition& p) { return fb::Position(p.valid, p.rx, p.tx); }
fb::Operand pack(const isa::Operand& a) { return fb::Operand(a.value, uint8_t(a.kind)); }

fb::Filter pack(const FilterConfig& f) {
  return fb::Filter(uint8_t(f.kind), f.count_data, f.count_control, f.filter_control, f.init_counter, f.max_counter,
                    f.limit1, f.limit2, f.min_index, f.max_index);
}

fb::RouteConfig pack(const RouteConfig& c) {
  return fb::RouteConfig(pack(c.positions[0]), pack(c.positions[1]), pack(c.positions[2]), pack(c.positions[3]),
                         c.current, c.ring_mode, uint8_t(c.pop_mode), c.teardown, c.swap_x, c.swap_y, pack(c.filter));
}

Mnemonics collect_mnemonics(const Program& p) {
  Mnemonics used;
  for (const TileProgram& t : p.tiles) {
    for (const isa::Inst& inst : t.code) used.emplace(inst.op, 0);
  }
  uint16_t next = 0;
  for (auto& [op, index] : used) index = next++;
  return used;
}

// A vector of tables, one per item, in order.
template <typename Table, typename Item, typename Make>
Offset<flatbuffers::Vector<Offset<Table>>> tables(Builder& b, const std::vector<Item>& items, Make make) {
  std::vector<Offset<Table>> offsets;
  offsets.reserve(items.size());
  for (const Item& item : items) offsets.push_back(make(item));
  return b.CreateVector(offsets);
}

template <typename Packed, typename Item, typename Make>
Offset<flatbuffers::Vector<const Packed*>> structs(Builder& b, const std::vector<Item>& items, Make make) {
  // In the buffer itself: a wafer has hundreds of thousands of routes.
  return b.CreateVectorOfStructs<Packed>(items.size(), [&](size_t i, Packed* to) { *to = make(items[i]); });
}

Offset<fb::Tile> write_tile(Builder& b, const TileProgram& t, const Mnemonics& mnemonics) {
  const auto name = b.CreateString(t.name);
  const auto code = structs<fb::Inst>(b, t.code, [&](const isa::Inst& i) {
    return fb::Inst(mnemonics.at(i.op), pack(i.args[0]), pack(i.args[1]), pack(i.args[2]), pack(i.args[3]));
  });
  const auto segments = tables<fb::Segment>(b, t.segments, [&](const Segment& s) {
    return fb::CreateSegment(b, s.address, b.CreateVector(s.bytes));
  });
  const auto sections = tables<fb::Section>(b, t.sections, [&](const Section& s) {
    return fb::CreateSection(b, b.CreateString(s.name), uint8_t(s.kind), s.address, s.bytes);
  });
  const auto tasks = tables<fb::TaskBinding>(b, t.tasks, [&](const TaskBinding& k) {
    return fb::CreateTaskBinding(b, uint8_t(k.kind), k.id, k.entry, uint8_t(k.args), b.CreateString(k.name));
  });
  const auto queues = structs<fb::QueueBinding>(b, t.queues, [](const QueueBinding& q) {
    return fb::QueueBinding(q.output, q.queue, q.color, q.priority);
  });
  const auto blocked = b.CreateVector(t.blocked);
  const auto unblocked = b.CreateVector(t.unblocked);
  const auto blocked_threads = b.CreateVector(t.blocked_threads);
  const auto activated = b.CreateVector(t.activated);
  const auto symbols = tables<fb::Symbol>(b, t.symbols, [&](const Symbol& s) {
    return fb::CreateSymbol(b, b.CreateString(s.name), uint8_t(s.type), s.address, s.elements, s.is_mutable, s.pointer);
  });
  const auto functions = tables<fb::Function>(b, t.functions, [&](const Function& f) {
    const auto parameters = structs<fb::Parameter>(
        b, f.parameters, [](const Parameter& p) { return fb::Parameter(uint8_t(p.type), p.address); });
    return fb::CreateFunction(b, b.CreateString(f.name), f.entry, parameters);
  });
  const auto files = tables<flatbuffers::String>(b, t.files, [&](const std::string& f) { return b.CreateString(f); });
  const auto lines = structs<fb::LineEntry>(
      b, t.lines, [](const LineEntry& l) { return fb::LineEntry(l.first, l.file, l.line, l.column); });
  const auto fifos = structs<fb::Fifo>(b, t.fifos, [](const FifoBinding& f) {
    return fb::Fifo(f.address, f.bytes, f.activate_push, f.activate_pop, uint8_t(f.full), uint8_t(f.empty), f.priority,
                    uint8_t(f.simd));
  });
  const auto dsrs = structs<fb::Dsr>(b, t.dsrs, [](const DsrInit& d) {
    return fb::Dsr(d.file, d.index, flatbuffers::span<const uint16_t, isa::kDsdWords>(d.words.data(), d.words.size()),
                   d.config);
  });
  const auto config = structs<fb::ConfigRegister>(
      b, t.config, [](const ConfigInit& c) { return fb::ConfigRegister(c.address, c.value); });
  return fb::CreateTile(b, name, uint8_t(t.fp16), code, t.code_address, segments, sections, tasks, queues, blocked,
                        activated, symbols, functions, files, lines, unblocked, blocked_threads, fifos, dsrs,
                        config);
}

}  // namespace

std::string program_bytes(const Program& p) {
  const std::string host_text = p.host ? host_part_to_yaml(*p.host, {}) : std::string();
  Builder b((1 << 16) + p.routes.size() * sizeof(fb::RouteRun) + host_text.size());
  const Mnemonics used = collect_mnemonics(p);
  std::vector<Offset<flatbuffers::String>> mnemonic_names;
  for (const auto& [op, index] : used) mnemonic_names.push_back(b.CreateString(isa::row(op).mnemonic));
  const auto mnemonics = b.CreateVector(mnemonic_names);
  const auto tiles = tables<fb::Tile>(b, p.tiles, [&](const TileProgram& t) { return write_tile(b, t, used); });
  const auto rects =
      structs<fb::TileRect>(b, p.rects, [](const TileRect& r) { return fb::TileRect(pack(r.rect), r.tile); });
  const auto routes = structs<fb::RouteRun>(
      b, p.routes, [](const RouteRun& r) { return fb::RouteRun(pack(r.rect), r.color, pack(r.config)); });
  const auto ports = tables<fb::HostPort>(b, p.ports, [&](const HostPort& h) {
    return fb::CreateHostPort(b, b.CreateString(h.name), h.input, uint8_t(h.side), h.position, h.color);
  });
  const auto streams = structs<fb::HostStream>(
      b, p.streams, [](const HostStream& s) { return fb::HostStream(s.color, s.input); });
  const auto exports = tables<fb::ExportedName>(b, p.exports, [&](const ExportedName& e) {
    return fb::CreateExportedName(b, b.CreateString(e.name), e.is_function, uint8_t(e.type), e.is_mutable);
  });
  const auto name = b.CreateString(p.name), machine = b.CreateString(p.machine);
  const auto machine_text = b.CreateString(p.machine_text);
  const auto host = b.CreateString(host_text);
  const fb::Rect user = pack(p.user);
  const auto root = fb::CreateProgram(b, Program::kFormatVersion, name, machine, machine_text, uint8_t(p.arch),
                                      p.fabric_width, p.fabric_height, &user, p.memcpy, mnemonics, tiles, rects, routes,
                                      ports, exports, p.host.has_value(), host, streams);
  fb::FinishProgramBuffer(b, root);
  return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
}

}  // namespace cs
