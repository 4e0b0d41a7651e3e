// The host part as YAML: one line per tensor, constant, step, kernel and operator, fields in a fixed order.
#include <fmt/format.h>

#include "runtime/program/host_yaml.h"

namespace cs {
namespace {

std::string strings(const std::vector<std::string>& items) {
  std::string out = "[";
  for (const std::string& s : items) out += (out.size() > 1 ? ", " : "") + yaml_quote(s);
  return out + "]";
}

std::string pieces_field(const HostTensor& t) {
  if (t.pieces.empty()) return "";
  std::string list;
  for (const Piece& p : t.pieces)
    list += fmt::format("{}{{tensor: {}, first: {}, length: {}}}", list.empty() ? "" : ", ", yaml_quote(p.tensor),
                        p.first, p.length);
  return fmt::format(", stride: {}, pieces: [{}]", t.stride, list);
}

std::string tensor_fields(const HostTensor& t) {
  return fmt::format("name: {}, type: {}, shape: [{}], sample_dim: {}{}{}{}", yaml_quote(t.name),
                     data_type_name(t.type), fmt::join(t.shape, ", "), t.sample_dim,
                     t.is_static ? ", static: true" : "",
                     t.align > 0 ? fmt::format(", align: {}, clones: {}", t.align, t.clones) : "", pieces_field(t));
}

struct AttrText {
  std::string operator()(int64_t v) const { return fmt::format("int: {}", v); }
  std::string operator()(double v) const { return fmt::format("real: {}", v); }
  std::string operator()(const std::string& v) const { return "text: " + yaml_quote(v); }
  std::string operator()(const std::vector<int64_t>& v) const { return fmt::format("ints: [{}]", fmt::join(v, ", ")); }
  std::string operator()(const std::vector<double>& v) const { return fmt::format("reals: [{}]", fmt::join(v, ", ")); }
};

std::string attrs_text(const Attrs& attrs) {
  std::string out = "[";
  for (const auto& [name, value] : attrs) {
    out += fmt::format("{}{{name: {}, {}}}", out.size() > 1 ? ", " : "", yaml_quote(name),
                       std::visit(AttrText{}, value));
  }
  return out + "]";
}

std::string copy_field(int copy) { return copy > 0 ? fmt::format(", copy: {}", copy) : ""; }

std::string windows_field(const Windows& w) {
  if (w.planes == 0) return "";
  return fmt::format(", planes: {}, plane_rows: {}, first_row: {}, first_column: {}, row_step: {}{}",
                     w.planes, w.plane_rows, w.first_row, w.first_column, w.row_step,
                     w.by_rows ? ", by_rows: true" : "");
}

std::string order_field(TileOrder order) {
  return order == TileOrder::straight ? ""
                                      : fmt::format(", order: {}", names::name(kTileOrders, size_t(order)));
}

std::string step_line(const HostStep& s) {
  switch (s.kind) {
    case HostStep::Kind::send:
    case HostStep::Kind::receive:
      return fmt::format("{{kind: {}, port: {}, tensor: {}{}}}", s.kind == HostStep::Kind::send ? "send" : "receive",
                         yaml_quote(s.port), yaml_quote(s.tensor), copy_field(s.copy));
    case HostStep::Kind::copy_in:
    case HostStep::Kind::copy_out:
      return fmt::format(
          "{{kind: {}, tensor: {}, symbol: {}, rect: {}, columns: {}, tile_rows: {}, tile_columns: {}{}{}{}}}",
          s.kind == HostStep::Kind::copy_in ? "copy_in" : "copy_out", yaml_quote(s.tensor),
          yaml_quote(s.symbol), rect_text(s.tiling.rect), s.tiling.columns, s.tiling.tile_rows,
          s.tiling.tile_columns, order_field(s.tiling.order), windows_field(s.tiling.windows),
          s.words ? ", words: true" : "");
    case HostStep::Kind::launch: return fmt::format("{{kind: launch, function: {}}}", yaml_quote(s.symbol));
    case HostStep::Kind::op: break;
  }
  return fmt::format("{{kind: op, op: {}, inputs: {}, outputs: {}, attrs: {}{}{}}}", yaml_quote(s.op),
                     strings(s.inputs), strings(s.outputs), attrs_text(s.attrs),
                     s.whole_batch ? ", whole_batch: true" : "",
                     copy_field(s.copy));
}

std::string kernel_line(const KernelRow& k) {
  return fmt::format(
      "{{name: {}, op: {}, kernel: {}, origin: {}, reason: {}, rect: {}, flops: {}, ideal_cycles: {}, "
      "estimated_cycles: {}, bytes_per_pe: {}, colors: [{}], nodes: {}, baseline: {}{}}}",
      yaml_quote(k.name), yaml_quote(k.op), yaml_quote(k.kernel), origin_name(k.origin), yaml_quote(k.reason),
      rect_text(k.rect), k.flops, k.ideal_cycles, k.estimated_cycles, k.bytes_per_pe, fmt::join(k.colors, ", "),
      strings(k.nodes), yaml_quote(k.baseline), copy_field(k.copy));
}

std::string op_line(const OpRow& o) {
  return fmt::format("{{name: {}, op: {}, origin: {}, reason: {}, kernels: {}, where: {}}}", yaml_quote(o.name),
                     yaml_quote(o.op), origin_name(o.origin), yaml_quote(o.reason), strings(o.kernels),
                     yaml_quote(o.where));
}

std::string constant_line(const Constant& c) {
  return fmt::format("{{symbol: {}, rect: {}, bytes_per_pe: {}, offset: {}}}", yaml_quote(c.symbol), rect_text(c.rect),
                     c.bytes_per_pe, c.offset);
}

std::string of_host(const HostState& s) {
  return fmt::format("input: {}, output: {}, offset: {}, bytes: {}", yaml_quote(s.input),
                     yaml_quote(s.output), s.offset, s.bytes);
}
std::string of_wafer(const HostState& s) {
  std::string parts;
  for (const StatePart& p : s.parts)
    parts +=
        fmt::format("{}{{symbol: {}, rect: {}, bytes_per_pe: {}, elements: {}}}", parts.empty() ? "" : ", ",
                    yaml_quote(p.symbol), rect_text(p.rect), p.bytes_per_pe, p.elements);
  return fmt::format("parts: [{}]", parts);
}

}  // namespace

std::string rect_text(const Rect& r) { return fmt::format("[{}, {}, {}, {}]", r.x, r.y, r.w, r.h); }

std::string port_line(const HostPort& p) {
  return fmt::format("{{name: {}, direction: {}, side: {}, position: {}, color: {}}}", yaml_quote(p.name),
                     p.input ? "input" : "output", port_name(p.side), p.position, p.color);
}

std::string scalar_text(const HostScalar& s) {
  std::string out = "{input: " + yaml_quote(s.input);
  if (s.rate) out += ", rate: " + schedule_text(*s.rate);
  if (s.rate && !s.rate->steps_restart) out += ", steps_restart: false";
  if (s.samples != 1) out += fmt::format(", samples: {}", s.samples);
  return out + (s.last ? ", last: true}" : "}");
}

std::string host_part_lines(const HostPart& h, const std::vector<HostPort>& ports, bool with_ports,
                            const std::string& indent) {
  std::string out;
  const auto line = [&](const std::string& text) { out += indent + text + "\n"; };
  const auto list = [&](const char* key, const auto& items, auto text) {
    if (items.empty()) return;
    line(fmt::format("{}:", key));
    for (const auto& item : items) line("  - " + text(item));
  };
  const auto tensor = [](const HostTensor& t) { return "{" + tensor_fields(t) + "}"; };
  line("model: " + yaml_quote(h.model));
  line("policy: " + yaml_quote(h.policy));
  line("dtype: " + yaml_quote(h.dtype));
  if (h.copies != 1) line(fmt::format("copies: {}", h.copies));
  if (h.roof != Roof{})
    line(fmt::format("roof: {{operations: {}, memory: {}, host: {}}}", h.roof.operations, h.roof.memory, h.roof.host));
  if (with_ports) list("ports", ports, port_line);
  list("inputs", h.inputs, tensor);
  list("outputs", h.outputs, tensor);
  list("values", h.values, tensor);
  list("constants", h.constants, constant_line);
  list("host_constants", h.host_constants, [](const HostConstant& c) {
    return fmt::format("{{{}, offset: {}, bytes: {}}}", tensor_fields(c.tensor), c.offset, c.bytes);
  });
  list("states", h.states, [](const HostState& s) {
    return fmt::format("{{name: {}, purpose: {}, type: {}, shape: [{}], {}}}", yaml_quote(s.name),
                       yaml_quote(s.purpose), data_type_name(s.type), fmt::join(s.shape, ", "),
                       s.on_host() ? of_host(s) : of_wafer(s));
  });
  list("scalars", h.scalars, scalar_text);
  list("steps", h.steps, step_line);
  list("kernels", h.kernels, kernel_line);
  list("ops", h.ops, op_line);
  return out;
}

std::string host_part_to_yaml(const HostPart& h, const std::vector<HostPort>& ports) {
  return "# Host part of a program: tensors, constants, ports, steps per sample, kernels and operators.\n" +
         host_part_lines(h, ports, true, "");
}

}  // namespace cs
