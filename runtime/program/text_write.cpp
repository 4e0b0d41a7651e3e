// A Program as text (.csptext): YAML with tile code as assembly in a block, host part as in host.yaml.
//
// Every list has one item per line, so that two Programs can be compared with diff.
#include <fmt/format.h>

#include "runtime/numerics/numerics.h"
#include "runtime/program/host_yaml.h"
#include "runtime/program/names.h"

namespace cs {
namespace {

constexpr size_t kBytesPerLine = 48;

class TextWriter {
 public:
  std::string out;

  void line(const std::string& indent, const std::string& text) { out += indent + text + "\n"; }
  template <typename Items, typename Text>
  void list(const std::string& indent, const char* key, const Items& items, Text text) {
    if (items.empty()) return;
    line(indent, fmt::format("{}:", key));
    for (const auto& item : items) line(indent + "  ", "- " + text(item));
  }
};

std::string segment_text(const Segment& s) {
  std::string text = fmt::format("{{address: {}, bytes: [", s.address);
  for (size_t i = 0; i < s.bytes.size(); ++i) {
    if (i % kBytesPerLine == 0) text += i == 0 ? "\"" : "\",\n        \"";
    text += fmt::format("{:02x}", s.bytes[i]);
  }
  return text + (s.bytes.empty() ? "]}" : "\"]}");
}

std::string route_text(const RouteRun& r) {
  size_t used = 4;
  while (used > 1 && !r.config.positions[used - 1].valid) --used;
  std::string positions;
  for (size_t i = 0; i < used; ++i) {
    positions += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", switch_position_text(r.config.positions[i]));
  }
  std::string text = fmt::format("{{rect: {}, color: {}, positions: [{}], current: {}, ring: {}, pop: {}, "
                                 "teardown: {}",
                                 rect_text(r.rect), r.color, positions, r.config.current, r.config.ring_mode,
                                 pop_mode_name(r.config.pop_mode), r.config.teardown);
  if (r.config.swap_x) text += ", swap_x: true";
  if (r.config.swap_y) text += ", swap_y: true";
  if (const FilterConfig& f = r.config.filter; f.kind != FilterKind::none) {
    text += fmt::format(", filter: {{kind: {}, count_data: {}, count_control: {}, filter_control: {}, "
                        "init_counter: {}, max_counter: {}, limit1: {}, limit2: {}, min_index: {}, max_index: {}}}",
                        filter_kind_name(f.kind), f.count_data, f.count_control, f.filter_control, f.init_counter,
                        f.max_counter, f.limit1, f.limit2, f.min_index, f.max_index);
  }
  return text + "}";
}

void write_registers(TextWriter& w, const TileProgram& t) {
  const std::string in = "    ";
  w.list(in, "fifos", t.fifos, [](const FifoBinding& f) {
    return fmt::format("{{address: {}, bytes: {}, push: {}, pop: {}, full: {}, empty: {}, priority: {}, simd: {}}}",
                       f.address, f.bytes, f.activate_push, f.activate_pop, fifo_action_name(f.full),
                       fifo_action_name(f.empty), f.priority, names::name(names::kSimdModes, size_t(f.simd)));
  });
  w.list(in, "dsrs", t.dsrs, [](const DsrInit& d) {
    return fmt::format("{{file: {}, index: {}, words: [{}], config: {}}}", d.file, d.index, fmt::join(d.words, ", "),
                       d.config);
  });
  w.list(in, "config", t.config,
         [](const ConfigInit& c) { return fmt::format("{{address: {}, value: {}}}", c.address, c.value); });
}

std::string function_text(const Function& f) {
  std::string parameters;
  for (const Parameter& p : f.parameters) {
    parameters += fmt::format("{}{{type: {}, address: {}}}", parameters.empty() ? "" : ", ", data_type_name(p.type),
                              p.address);
  }
  return fmt::format("{{name: {}, entry: {}, parameters: [{}]}}", yaml_quote(f.name), f.entry, parameters);
}

void write_code(TextWriter& w, const TileProgram& t) {
  if (t.code.empty()) return;
  w.line("    ", "code: |");
  for (size_t i = 0; i < t.code.size(); ++i) {
    std::string where = t.where(uint32_t(i));
    const bool first_of_line = i == 0 || where != t.where(uint32_t(i - 1));
    for (char& c : where) {  // a file name may hold anything; in a comment only printable ASCII is safe
      if (c < 0x20 || c > 0x7e) c = '?';
    }
    w.line("      ", fmt::format("{}: {}{}", i, isa::print(t.code[i]),
                                 first_of_line && !where.empty() ? "  ; " + where : std::string()));
  }
}

void write_tile(TextWriter& w, const TileProgram& t, size_t index) {
  const std::string in = "    ";
  w.line("  ", fmt::format("- name: {}  # tile {}", yaml_quote(t.name), index));
  w.line(in, fmt::format("fp16: {}", numerics::fp16_name(t.fp16)));
  w.line(in, fmt::format("code_address: {}", t.code_address));
  write_code(w, t);
  w.list(in, "segments", t.segments, segment_text);
  w.list(in, "sections", t.sections, [](const Section& s) {
    return fmt::format("{{name: {}, kind: {}, address: {}, bytes: {}}}", yaml_quote(s.name), section_kind_name(s.kind),
                       s.address, s.bytes);
  });
  w.list(in, "tasks", t.tasks, [](const TaskBinding& k) {
    return fmt::format("{{kind: {}, id: {}, entry: {}, args: {}, name: {}}}", task_kind_name(k.kind), k.id, k.entry,
                       task_args_name(k.args), yaml_quote(k.name));
  });
  w.list(in, "queues", t.queues, [](const QueueBinding& q) {
    return fmt::format("{{direction: {}, queue: {}, color: {}, priority: {}}}", q.output ? "output" : "input", q.queue,
                       q.color, q.priority);
  });
  write_registers(w, t);
  if (!t.blocked.empty()) w.line(in, fmt::format("blocked: [{}]", fmt::join(t.blocked, ", ")));
  if (!t.unblocked.empty()) w.line(in, fmt::format("unblocked: [{}]", fmt::join(t.unblocked, ", ")));
  if (!t.blocked_threads.empty())
    w.line(in, fmt::format("blocked_threads: [{}]", fmt::join(t.blocked_threads, ", ")));
  if (!t.activated.empty()) w.line(in, fmt::format("activated: [{}]", fmt::join(t.activated, ", ")));
  w.list(in, "symbols", t.symbols, [](const Symbol& s) {
    return fmt::format("{{name: {}, type: {}, address: {}, elements: {}, mutable: {}{}}}", yaml_quote(s.name),
                       data_type_name(s.type), s.address, s.elements, s.is_mutable,
                       s.pointer < 0 ? "" : fmt::format(", pointer: {}", s.pointer));
  });
  w.list(in, "functions", t.functions, function_text);
  w.list(in, "files", t.files, [](const std::string& f) { return yaml_quote(f); });
  w.list(in, "lines", t.lines, [](const LineEntry& l) {
    return fmt::format("[{}, {}, {}, {}]", l.first, l.file, l.line, l.column);
  });
}

// One line per value, so that two machines can be compared with diff. A block must end in exactly one line break.
void write_machine(TextWriter& w, const std::string& text) {
  const bool lines = text.size() > 1 && text.back() == '\n' && text[text.size() - 2] != '\n' && text[0] != ' ';
  if (!lines || text.find('\r') != std::string::npos) {
    w.line("", fmt::format("machine_text: {}", yaml_quote(text)));
    return;
  }
  w.line("", "machine_text: |");
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    w.line(end > at ? "  " : "", text.substr(at, end - at));
    at = end + 1;
  }
}

}  // namespace

std::string program_text(const Program& p) {
  TextWriter w;
  w.line("", "# A compiled program as text; cs-compile reads it back.");
  w.line("", "# Routes: inputs > outputs, of the ports E, W, S, N and R (ramp).");
  w.line("", fmt::format("version: {}", Program::kFormatVersion));
  w.line("", fmt::format("program: {}", yaml_quote(p.name)));
  w.line("", fmt::format("machine: {}", yaml_quote(p.machine)));
  write_machine(w, p.machine_text);
  w.line("", fmt::format("arch: {}", arch_name(p.arch)));
  w.line("", fmt::format("fabric: [{}, {}]", p.fabric_width, p.fabric_height));
  w.line("", fmt::format("user: {}", rect_text(p.user)));
  w.line("", fmt::format("memcpy: {}", p.memcpy));
  w.list("", "exports", p.exports, [](const ExportedName& e) {
    return fmt::format("{{name: {}, function: {}, type: {}, mutable: {}}}", yaml_quote(e.name), e.is_function,
                       data_type_name(e.type), e.is_mutable);
  });
  w.list("", "ports", p.ports, port_line);
  w.list("", "streams", p.streams, [](const HostStream& s) {
    return fmt::format("{{color: {}, input: {}}}", s.color, s.input);
  });
  w.list("", "rects", p.rects,
         [](const TileRect& r) { return fmt::format("{{rect: {}, tile: {}}}", rect_text(r.rect), r.tile); });
  w.list("", "routes", p.routes, route_text);
  if (!p.tiles.empty()) w.line("", "tiles:");
  for (size_t i = 0; i < p.tiles.size(); ++i) write_tile(w, p.tiles[i], i);
  if (p.host) {
    w.line("", "host:");
    w.out += host_part_lines(*p.host, {}, false, "  ");
  }
  return w.out;
}

}  // namespace cs
