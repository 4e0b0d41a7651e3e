// The host part from YAML: strict reading of what host_yaml_write.cpp wrote. Relations between the parts are verified
// with the Program.
#include <fmt/format.h>

#include "runtime/program/host_yaml.h"

namespace cs {
namespace {

constexpr int64_t kMaxInt = 0x7fffffff;
constexpr int64_t kMaxTile = 0xffff;  // beyond any PE's memory
constexpr int64_t kMaxBytes = int64_t(1) << 48;
constexpr names::Table<6> kStepKinds = {"send", "receive", "op", "copy_in", "launch", "copy_out"};

void read_tensor(YamlMap& map, HostTensor& t, Diag& diag) {
  map.required("name", t.name);
  read_word(map, "type", t.type, names::kTensorTypes, diag);
  map.required("shape", t.shape);
  read_number(map, "sample_dim", t.sample_dim, kStackedSamples, 63, diag);
  map.optional("static", t.is_static);
  if (map.child("align") != nullptr) {
    int align = 0;
    read_number(map, "align", align, 1, 255, diag);
    t.align = uint8_t(align);
    map.required("clones", t.clones);
  }
  if (map.child("pieces") == nullptr) return;
  read_number(map, "stride", t.stride, 1, kMaxInt, diag);
  read_list(map, "pieces", t.pieces, diag, [&](YamlMap& m, Piece& p) {
    m.required("tensor", p.tensor);
    read_number(m, "first", p.first, 0, kMaxInt, diag);
    read_number(m, "length", p.length, 1, kMaxInt, diag);
  });
  if (t.pieces.empty()) diag.error(map.child("pieces")->loc(), "a tensor in pieces has at least one");
}

void read_attrs(YamlMap& map, Attrs& attrs, Diag& diag) {
  using Attr = std::pair<std::string, AttrValue>;
  read_list(map, "attrs", attrs, diag, [&](YamlMap& entry, Attr& attr) {
    entry.required("name", attr.first);
    int kinds = 0;
    const auto kind = [&]<typename T>(const char* key, T value) {
      if (entry.child(key) == nullptr) return;
      ++kinds;
      entry.required(key, value);
      attr.second = std::move(value);
    };
    kind("int", int64_t(0));
    kind("real", 0.0);
    kind("text", std::string());
    kind("ints", std::vector<int64_t>());
    kind("reals", std::vector<double>());
    if (kinds != 1) diag.error(entry.loc(), "an attribute has exactly one of int, real, text, ints, reals");
  });
}

void read_tiling(YamlMap& map, Tiling& t, Diag& diag) {
  read_rect(map.child("rect"), t.rect, map.loc(), diag);
  read_number(map, "columns", t.columns, 1, kMaxInt, diag);
  read_number(map, "tile_rows", t.tile_rows, 1, kMaxTile, diag);
  read_number(map, "tile_columns", t.tile_columns, 1, kMaxTile, diag);
  if (map.child("order") != nullptr) read_word(map, "order", t.order, kTileOrders, diag);
  if (map.child("planes") == nullptr) return;
  read_number(map, "planes", t.windows.planes, 1, kMaxTile, diag);
  read_number(map, "plane_rows", t.windows.plane_rows, 1, kMaxInt, diag);
  read_number(map, "first_row", t.windows.first_row, -kMaxTile, kMaxInt, diag);
  read_number(map, "first_column", t.windows.first_column, -kMaxTile, kMaxInt, diag);
  read_number(map, "row_step", t.windows.row_step, 0, kMaxTile, diag);
  map.optional("by_rows", t.windows.by_rows);
}

// Of the network: left out for the first copy.
void read_copy(YamlMap& map, int& copy, Diag& diag) {
  if (map.child("copy") != nullptr) read_number(map, "copy", copy, 0, kMostCopies - 1, diag);
}

void read_step(YamlMap& map, HostStep& s, Diag& diag) {
  if (!read_word(map, "kind", s.kind, kStepKinds, diag)) return;
  switch (s.kind) {
    case HostStep::Kind::op:
      map.required("op", s.op);
      map.required("inputs", s.inputs);
      map.required("outputs", s.outputs);
      read_attrs(map, s.attrs, diag);
      map.optional("whole_batch", s.whole_batch);
      read_copy(map, s.copy, diag);
      break;
    case HostStep::Kind::send:
    case HostStep::Kind::receive:
      map.required("port", s.port);
      map.required("tensor", s.tensor);
      read_copy(map, s.copy, diag);
      break;
    case HostStep::Kind::copy_in:
    case HostStep::Kind::copy_out:
      map.required("tensor", s.tensor);
      map.required("symbol", s.symbol);
      read_tiling(map, s.tiling, diag);
      if (s.kind == HostStep::Kind::copy_in) map.optional("words", s.words);
      break;
    case HostStep::Kind::launch:
      map.required("function", s.symbol);
      break;
  }
}

void read_constant(YamlMap& map, Constant& c, Diag& diag) {
  map.required("symbol", c.symbol);
  read_rect(map.child("rect"), c.rect, map.loc(), diag);
  read_number(map, "bytes_per_pe", c.bytes_per_pe, 0, kMaxInt, diag);
  read_number(map, "offset", c.offset, 0, kMaxBytes, diag);
}

void read_state(YamlMap& map, HostState& s, Diag& diag) {
  map.required("name", s.name);
  map.required("purpose", s.purpose);
  read_word(map, "type", s.type, names::kTensorTypes, diag);
  map.required("shape", s.shape);
  if (map.child("parts") != nullptr) {
    read_list(map, "parts", s.parts, diag, [&](YamlMap& m, StatePart& p) {
      m.required("symbol", p.symbol);
      read_rect(m.child("rect"), p.rect, m.loc(), diag);
      read_number(m, "bytes_per_pe", p.bytes_per_pe, 0, kMaxInt, diag);
      read_number(m, "elements", p.elements, 0, kMaxBytes, diag);
    });
    return;
  }
  map.required("input", s.input);
  map.required("output", s.output);
  read_number(map, "offset", s.offset, 0, kMaxBytes, diag);
  read_number(map, "bytes", s.bytes, 0, kMaxBytes, diag);
}

void read_kernel(YamlMap& map, KernelRow& k, Diag& diag) {
  map.required("name", k.name);
  map.required("op", k.op);
  map.required("kernel", k.kernel);
  read_word(map, "origin", k.origin, names::kOrigins, diag);
  map.required("reason", k.reason);
  read_rect(map.child("rect"), k.rect, map.loc(), diag);
  map.required("flops", k.flops);
  map.required("ideal_cycles", k.ideal_cycles);
  map.required("estimated_cycles", k.estimated_cycles);
  read_number(map, "bytes_per_pe", k.bytes_per_pe, 0, kMaxInt, diag);
  map.required("colors", k.colors);
  map.required("nodes", k.nodes);
  map.required("baseline", k.baseline);
  read_copy(map, k.copy, diag);
}

void read_op(YamlMap& map, OpRow& o, Diag& diag) {
  map.required("name", o.name);
  map.required("op", o.op);
  read_word(map, "origin", o.origin, names::kOrigins, diag);
  map.required("reason", o.reason);
  map.required("kernels", o.kernels);
  map.required("where", o.where);
}

void read_roof(const YamlNode& node, Roof& roof, Diag& diag) {
  YamlMap map(node, "roof", diag);
  if (!map.valid()) return;
  const std::pair<const char*, double*> fields[] = {
      {"operations", &roof.operations}, {"memory", &roof.memory}, {"host", &roof.host}};
  for (const auto& [key, value] : fields) {
    map.required(key, *value);
    if (!(*value >= 0 && *value < 1e18)) diag.error(map.loc(), fmt::format("'{}' is no number of cycles", key));
  }
  map.finish();
}

void read_port_fields(YamlMap& map, HostPort& p, Diag& diag) {
  map.required("name", p.name);
  read_word(map, "direction", p.input, names::kDirections, diag);
  read_word(map, "side", p.side, names::kPorts, diag);
  read_number(map, "position", p.position, 0, kMaxInt, diag);
  read_number(map, "color", p.color, 0, 255, diag);
}

}  // namespace

bool read_rect(const YamlNode* node, Rect& out, SourceLoc missing, Diag& diag) {
  std::vector<int> v;
  if (node == nullptr) {
    diag.error(missing, "needs the key 'rect': [x, y, width, height]");
    return false;
  }
  if (!node->read(v, "rect", diag)) return false;
  if (v.size() != 4) {
    diag.error(node->loc(), fmt::format("a rectangle is [x, y, width, height], got {} numbers", v.size()));
    return false;
  }
  out = {v[0], v[1], v[2], v[3]};
  return true;
}

bool read_port(const YamlNode& node, HostPort& out, Diag& diag) {
  const size_t errors = diag.errors();
  YamlMap map(node, "port", diag);
  if (!map.valid()) return false;
  read_port_fields(map, out, diag);
  map.finish();
  return diag.errors() == errors;
}

void read_scalar(YamlMap& map, HostScalar& s, Diag& diag) {
  map.required("input", s.input);
  if (const YamlNode* rate = map.child("rate")) s.rate = read_learning_rate(*rate, "rate", diag);
  if (s.rate) map.optional("steps_restart", s.rate->steps_restart);
  map.optional("samples", s.samples);
  map.optional("last", s.last);
  // Without samples it says whether a step trains.
  if (s.samples < (s.last ? 0 : 1))
    diag.error(map.loc(), fmt::format("a step has at least one sample, not {}", s.samples));
  if (s.rate && s.last)
    diag.error(map.loc(), "a scalar is a rate or says which sample is the last, not both");
}

bool read_host_part(const YamlNode& node, HostPart& h, std::vector<HostPort>& ports, bool with_ports, Diag& diag) {
  const size_t errors = diag.errors();
  YamlMap map(node, "host part", diag);
  if (!map.valid()) return false;
  const auto tensor = [&](YamlMap& m, HostTensor& t) { read_tensor(m, t, diag); };
  // Without a model: streams and initial memory of a program that a host program drives.
  if (with_ports && map.child("model") == nullptr) {
    h.dtype = "fp32";
    read_list(map, "ports", ports, diag, [&](YamlMap& m, HostPort& p) { read_port_fields(m, p, diag); });
    read_list(map, "constants", h.constants, diag, [&](YamlMap& m, Constant& c) { read_constant(m, c, diag); });
    map.finish();
    return diag.errors() == errors;
  }
  map.required("model", h.model);
  map.required("policy", h.policy);
  map.required("dtype", h.dtype);
  if (map.child("copies") != nullptr) read_number(map, "copies", h.copies, 1, kMostCopies, diag);
  if (const YamlNode* roof = map.child("roof")) read_roof(*roof, h.roof, diag);
  if (with_ports) read_list(map, "ports", ports, diag, [&](YamlMap& m, HostPort& p) { read_port_fields(m, p, diag); });
  read_list(map, "inputs", h.inputs, diag, tensor);
  read_list(map, "outputs", h.outputs, diag, tensor);
  read_list(map, "values", h.values, diag, tensor);
  read_list(map, "constants", h.constants, diag, [&](YamlMap& m, Constant& c) { read_constant(m, c, diag); });
  read_list(map, "host_constants", h.host_constants, diag, [&](YamlMap& m, HostConstant& c) {
    read_tensor(m, c.tensor, diag);
    read_number(m, "offset", c.offset, 0, kMaxBytes, diag);
    read_number(m, "bytes", c.bytes, 0, kMaxBytes, diag);
  });
  read_list(map, "states", h.states, diag, [&](YamlMap& m, HostState& s) { read_state(m, s, diag); });
  read_list(map, "scalars", h.scalars, diag, [&](YamlMap& m, HostScalar& s) { read_scalar(m, s, diag); });
  read_list(map, "steps", h.steps, diag, [&](YamlMap& m, HostStep& s) { read_step(m, s, diag); });
  read_list(map, "kernels", h.kernels, diag, [&](YamlMap& m, KernelRow& k) { read_kernel(m, k, diag); });
  read_list(map, "ops", h.ops, diag, [&](YamlMap& m, OpRow& o) { read_op(m, o, diag); });
  map.finish();
  return diag.errors() == errors;
}

std::optional<HostPart> host_part_from_yaml(std::string text, const std::string& name, std::vector<HostPort>& ports,
                                            Diag& diag) {
  const auto doc = YamlDoc::parse_text(std::move(text), name, diag);
  HostPart host;
  if (!doc || !read_host_part(doc->root(), host, ports, true, diag)) return std::nullopt;
  return host;
}

}  // namespace cs
