// A Program from its text (.csptext), strictly: every key known, every number in its range, every instruction read.
// Relations between the parts are verify()'s business.
#include <charconv>

#include <fmt/format.h>

#include "runtime/program/host_yaml.h"

namespace cs {
namespace {

constexpr int64_t kMaxIndex = 0xFFFFFFFF;
constexpr int64_t kMaxAddress = 0xFFFF;
constexpr int kMaxFabric = 1 << 20;

// One "12: fadds ..." line per instruction; the number must be the instruction's index. "; ..." is a comment.
void read_code(const YamlNode& node, std::vector<isa::Inst>& code, Diag& diag) {
  if (!node.is_scalar()) {
    diag.error(node.loc(), "'code' must be a block of lines");
    return;
  }
  std::string_view rest = node.text();
  SourceLoc loc = node.loc();
  while (!rest.empty() && !diag.full()) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    ++loc.line;  // the block begins in the line after "code: |"
    line = line.substr(0, line.find(';'));
    const size_t first = line.find_first_not_of(" \t");
    if (first == std::string_view::npos) continue;
    size_t number = 0;
    const auto [after, ec] = std::from_chars(line.data() + first, line.data() + line.size(), number);
    const size_t colon = size_t(after - line.data());
    if (ec != std::errc() || colon >= line.size() || line[colon] != ':' || number != code.size()) {
      diag.error(loc, fmt::format("an instruction line begins with its number, here '{}:'", code.size()),
                 "labels are instruction numbers, so they must be right");
      return;
    }
    const size_t begin = line.find_first_not_of(" \t", colon + 1);
    if (begin == std::string_view::npos) {
      diag.error(loc, "an instruction is missing behind the number");
      return;
    }
    const size_t last = line.find_last_not_of(" \t");
    if (const auto inst = isa::parse_inst(line.substr(begin, last - begin + 1), loc, diag)) code.push_back(*inst);
    else return;
  }
}

void read_segment(YamlMap& map, Segment& s, Diag& diag) {
  read_number(map, "address", s.address, 0, kMaxAddress, diag);
  std::vector<std::string> pieces;
  if (!map.required("bytes", pieces)) return;
  for (const std::string& hex : pieces) {
    for (size_t i = 0; i < hex.size(); i += 2) {
      uint8_t byte = 0;
      const char* end = hex.data() + std::min(i + 2, hex.size());
      const auto [after, ec] = std::from_chars(hex.data() + i, end, byte, 16);
      if (ec != std::errc() || after != hex.data() + i + 2) {
        diag.error(map.child("bytes")->loc(), "bytes are written as pairs of hexadecimal digits");
        return;
      }
      s.bytes.push_back(byte);
    }
  }
}

bool read_position(const std::string& text, SwitchPosition& position) {
  if (text == "-") return true;
  position.valid = true;
  bool tx = false;
  for (const char c : text) {
    if (c == '>' && !tx) {
      tx = true;
      continue;
    }
    const size_t port = names::kPortLetters.find(c);
    if (port == std::string_view::npos) return false;
    (tx ? position.tx : position.rx) |= PortSet(1u << port);
  }
  return tx;
}

void read_route(YamlMap& map, RouteRun& r, Diag& diag) {
  read_rect(map.child("rect"), r.rect, map.loc(), diag);
  read_number(map, "color", r.color, 0, 255, diag);
  std::vector<std::string> positions;
  if (map.required("positions", positions)) {
    if (positions.size() > 4) diag.error(map.loc(), fmt::format("{} switch positions, at most 4", positions.size()));
    for (size_t i = 0; i < std::min<size_t>(positions.size(), 4); ++i) {
      if (!read_position(positions[i], r.config.positions[i])) {
        diag.error(map.child("positions")->loc(), fmt::format("'{}' is no switch position", positions[i]),
                   "write inputs > outputs with the letters E, W, S, N, R, such as \"W>ER\", or \"-\"");
      }
    }
  }
  read_number(map, "current", r.config.current, 0, 3, diag);
  map.required("ring", r.config.ring_mode);
  read_word(map, "pop", r.config.pop_mode, names::kPopModes, diag);
  map.required("teardown", r.config.teardown);
  map.optional("swap_x", r.config.swap_x);
  map.optional("swap_y", r.config.swap_y);
  const YamlNode* filter = map.child("filter");
  if (filter == nullptr) return;
  YamlMap m(*filter, "filter", diag);
  FilterConfig& f = r.config.filter;
  read_word(m, "kind", f.kind, names::kFilterKinds, diag);
  m.required("count_data", f.count_data);
  m.required("count_control", f.count_control);
  m.required("filter_control", f.filter_control);
  for (auto [key, field] : {std::pair{"init_counter", &f.init_counter}, {"max_counter", &f.max_counter},
                            {"limit1", &f.limit1}, {"limit2", &f.limit2}, {"min_index", &f.min_index},
                            {"max_index", &f.max_index}}) {
    read_number(m, key, *field, 0, kMaxAddress, diag);
  }
  m.finish();
}

void read_registers(YamlMap& map, TileProgram& t, Diag& diag) {
  read_list(map, "fifos", t.fifos, diag, [&](YamlMap& m, FifoBinding& f) {
    read_number(m, "address", f.address, 0, kMaxAddress, diag);
    read_number(m, "bytes", f.bytes, 0, kMaxAddress, diag);
    read_number(m, "push", f.activate_push, -1, widths::kLocalTaskIds - 1, diag);
    read_number(m, "pop", f.activate_pop, -1, widths::kLocalTaskIds - 1, diag);
    read_word(m, "full", f.full, names::kFifoActions, diag);
    read_word(m, "empty", f.empty, names::kFifoActions, diag);
    read_number(m, "priority", f.priority, 0, 3, diag);
    read_word(m, "simd", f.simd, names::kSimdModes, diag);
  });
  read_list(map, "dsrs", t.dsrs, diag, [&](YamlMap& m, DsrInit& d) {
    read_number(m, "file", d.file, 0, 2, diag);
    read_number(m, "index", d.index, 0, 255, diag);
    std::vector<int64_t> words;
    if (m.required("words", words)) {
      if (words.size() != d.words.size()) {
        return diag.error(m.loc(), fmt::format("a descriptor has {} words, here are {}", d.words.size(), words.size()));
      }
      for (size_t i = 0; i < words.size(); ++i) d.words[i] = uint16_t(words[i]);
    }
    read_number(m, "config", d.config, INT32_MIN, INT32_MAX, diag);
  });
  read_list(map, "config", t.config, diag, [&](YamlMap& m, ConfigInit& c) {
    read_number(m, "address", c.address, 0, kMaxAddress, diag);
    read_number(m, "value", c.value, 0, kMaxAddress, diag);
  });
}

void read_bytes(YamlMap& map, const std::string& key, std::vector<uint8_t>& out, Diag& diag) {
  std::vector<int> ids;
  if (!map.optional(key, ids)) return;
  for (const int id : ids) {
    if (id < 0 || id > 255) diag.error(map.child(key)->loc(), fmt::format("'{}': {} is no id", key, id));
    out.push_back(uint8_t(id));
  }
}

void read_lines(YamlMap& map, std::vector<LineEntry>& out, Diag& diag) {
  const YamlNode* list = map.child("lines");
  if (list == nullptr) return;
  if (!list->is_sequence()) return diag.error(list->loc(), "'lines' must be a list");
  for (const YamlNode& node : list->items()) {
    std::vector<int64_t> v;
    if (!node.read(v, "lines", diag)) return;
    bool ok = v.size() == 4;
    for (const int64_t n : v) ok = ok && n >= 0 && n <= kMaxIndex;
    if (!ok) return diag.error(node.loc(), "a line entry is [first instruction, file, line, column]");
    out.push_back({uint32_t(v[0]), uint32_t(v[1]), uint32_t(v[2]), uint32_t(v[3])});
  }
}

void read_tables(YamlMap& map, TileProgram& t, Diag& diag) {
  read_list(map, "segments", t.segments, diag, [&](YamlMap& m, Segment& s) { read_segment(m, s, diag); });
  read_list(map, "sections", t.sections, diag, [&](YamlMap& m, Section& s) {
    m.required("name", s.name);
    read_word(m, "kind", s.kind, names::kSectionKinds, diag);
    read_number(m, "address", s.address, 0, kMaxAddress, diag);
    read_number(m, "bytes", s.bytes, 0, kMaxIndex, diag);
  });
  read_list(map, "tasks", t.tasks, diag, [&](YamlMap& m, TaskBinding& k) {
    read_word(m, "kind", k.kind, names::kTaskKinds, diag);
    read_number(m, "id", k.id, 0, 255, diag);
    read_number(m, "entry", k.entry, 0, kMaxIndex, diag);
    read_word(m, "args", k.args, names::kTaskArgs, diag);
    m.required("name", k.name);
  });
  read_list(map, "queues", t.queues, diag, [&](YamlMap& m, QueueBinding& q) {
    bool input = false;
    if (read_word(m, "direction", input, names::kDirections, diag)) q.output = !input;
    read_number(m, "queue", q.queue, 0, 255, diag);
    read_number(m, "color", q.color, 0, 255, diag);
    read_number(m, "priority", q.priority, 0, 255, diag);
  });
  read_list(map, "symbols", t.symbols, diag, [&](YamlMap& m, Symbol& s) {
    m.required("name", s.name);
    read_word(m, "type", s.type, names::kSymbolTypes, diag);
    read_number(m, "address", s.address, 0, kMaxAddress, diag);
    read_number(m, "elements", s.elements, 0, kMaxIndex, diag);
    m.required("mutable", s.is_mutable);
    if (m.child("pointer") != nullptr) read_number(m, "pointer", s.pointer, 0, kMaxAddress, diag);
  });
  read_list(map, "functions", t.functions, diag, [&](YamlMap& m, Function& f) {
    m.required("name", f.name);
    read_number(m, "entry", f.entry, 0, kMaxIndex, diag);
    read_list(m, "parameters", f.parameters, diag, [&](YamlMap& pm, Parameter& p) {
      read_word(pm, "type", p.type, names::kSymbolTypes, diag);
      read_number(pm, "address", p.address, 0, kMaxAddress, diag);
    });
  });
}

void read_tile(YamlMap& map, TileProgram& t, Diag& diag) {
  map.required("name", t.name);
  read_word(map, "fp16", t.fp16, names::kFp16Formats, diag);
  read_number(map, "code_address", t.code_address, 0, kMaxAddress, diag);
  if (const YamlNode* code = map.child("code"); code != nullptr) read_code(*code, t.code, diag);
  read_tables(map, t, diag);
  read_registers(map, t, diag);
  read_bytes(map, "blocked", t.blocked, diag);
  read_bytes(map, "unblocked", t.unblocked, diag);
  read_bytes(map, "blocked_threads", t.blocked_threads, diag);
  read_bytes(map, "activated", t.activated, diag);
  map.optional("files", t.files);
  read_lines(map, t.lines, diag);
}

void read_head(YamlMap& map, Program& p, Diag& diag) {
  int version = 0;
  if (map.required("version", version) && version != Program::kFormatVersion) {
    diag.error(map.child("version")->loc(),
               fmt::format("version {}, these tools read version {}", version, Program::kFormatVersion));
  }
  map.required("program", p.name);
  map.required("machine", p.machine);
  map.optional("machine_text", p.machine_text);
  read_word(map, "arch", p.arch, names::kArchs, diag);
  std::vector<int> fabric;
  if (map.required("fabric", fabric)) {
    if (fabric.size() == 2 && fabric[0] >= 0 && fabric[1] >= 0 && fabric[0] <= kMaxFabric && fabric[1] <= kMaxFabric) {
      p.fabric_width = fabric[0];
      p.fabric_height = fabric[1];
    } else {
      diag.error(map.child("fabric")->loc(), "the fabric is [width, height]");
    }
  }
  read_rect(map.child("user"), p.user, map.loc(), diag);
  map.required("memcpy", p.memcpy);
}

}  // namespace

std::optional<Program> parse_program_text(std::string text, const std::string& name, Diag& diag) {
  const size_t errors = diag.errors();
  const auto doc = YamlDoc::parse_text(std::move(text), name, diag);
  if (!doc) return std::nullopt;
  YamlMap map(doc->root(), "program", diag);
  if (!map.valid()) return std::nullopt;
  Program p;
  read_head(map, p, diag);
  read_list(map, "exports", p.exports, diag, [&](YamlMap& m, ExportedName& e) {
    m.required("name", e.name);
    m.required("function", e.is_function);
    read_word(m, "type", e.type, names::kSymbolTypes, diag);
    m.required("mutable", e.is_mutable);
  });
  if (const YamlNode* ports = map.child("ports"); ports != nullptr) {
    for (const YamlNode& node : ports->items()) {
      if (HostPort port; read_port(node, port, diag)) p.ports.push_back(port);
    }
    if (!ports->is_sequence()) diag.error(ports->loc(), "'ports' must be a list");
  }
  read_list(map, "streams", p.streams, diag, [&](YamlMap& m, HostStream& s) {
    read_number(m, "color", s.color, 0, 255, diag);
    m.required("input", s.input);
  });
  read_list(map, "rects", p.rects, diag, [&](YamlMap& m, TileRect& r) {
    read_rect(m.child("rect"), r.rect, m.loc(), diag);
    read_number(m, "tile", r.tile, 0, kMaxIndex, diag);
  });
  read_list(map, "routes", p.routes, diag, [&](YamlMap& m, RouteRun& r) { read_route(m, r, diag); });
  read_list(map, "tiles", p.tiles, diag, [&](YamlMap& m, TileProgram& t) { read_tile(m, t, diag); });
  if (const YamlNode* host = map.child("host"); host != nullptr) {
    std::vector<HostPort> none;
    p.host.emplace();
    read_host_part(*host, *p.host, none, false, diag);
  }
  map.finish();
  if (diag.errors() != errors) return std::nullopt;
  return p;
}

}  // namespace cs
