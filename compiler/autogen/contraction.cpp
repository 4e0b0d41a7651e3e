// Text of contraction kernels, section by section in the order in which the module runs.
#include "compiler/autogen/contraction.h"

#include <fmt/format.h>

#include "compiler/autogen/elementwise.h"

namespace cs::autogen {

namespace {

constexpr int kUnrollAll = 32;  // shorter reductions have no loop at all
constexpr int kUnroll = 8;

// Of W and x.
const char* element(const ContractionSpec& spec) { return spec.native ? "f16" : "f32"; }

ExpressionResult epilogue_code(const ContractionSpec& spec, const Machine& machine) {
  if (!spec.epilogue || !spec.last) return {};
  ExpressionTarget target;
  target.inputs.push_back({"y[i]", "y_dsd", 1, 0});
  for (int j = 0; j < spec.constants; ++j) {
    target.inputs.push_back({fmt::format("c{}[i]", j), fmt::format("c{}_dsd", j), 1, kConstantPhase});
  }
  target.out = {"y[i]", "y_dsd", 1, 0};
  target.n = spec.m;
  return generate_expression(*spec.epilogue, target, machine);
}

std::string parameters(const ContractionSpec& spec) {
  std::string out = spec.bytes ? "param y: [*]f32;\nparam multiply;\nparam prepare;\n"
                               : fmt::format("param w: [*]{};\n", element(spec));
  out +=
      "param x_color: color;\nparam x_queue: input_queue;\n"
      "param east_color: color;\nparam east_queue: output_queue;\n"
      "param compute_id: local_task_id;\nparam start_id: local_task_id;\n";
  if (spec.first) out += "param b: [*]f32;\n";
  if (!spec.first) out += "param west_color: color;\nparam west_queue: input_queue;\n";
  if (spec.send_control) out += "param control: u32;\n";
  for (int j = 0; spec.last && j < spec.constants; ++j) {
    out += fmt::format(
        "param c{0}: [*]f32;\n"
        "const c{0}_dsd = @get_dsd(mem1d_dsd, .{{ .base_address = c{0}, .extent = {1} }});\n",
        j, spec.m);
  }
  return out + "\n";
}

std::string data(const ContractionSpec& spec) {
  std::string out = fmt::format(
      "var xa = @zeros([{0}]{1});\n"
      "var xb = @zeros([{0}]{1});\n"
      "const xa_dsd = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{0}}} -> xa[i] }});\n"
      "const xb_dsd = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{0}}} -> xb[i] }});\n"
      "const x_in = @get_dsd(fabin_dsd, .{{ .extent = {0}, .fabric_color = x_color, .input_queue = x_queue "
      "}});\n",
      spec.n, element(spec));
  // W starts 4 bytes beyond a multiple of 8, y at one: the two are read in the same cycle without a bank
  // conflict.
  if (spec.bytes) {
    out += fmt::format(
        "const y_all = @get_dsd(mem1d_dsd, .{{ .base_address = y, .extent = {1} }});\n"
        "const y_dsd = @get_dsd(mem1d_dsd, .{{ .base_address = y, .extent = {0} }});\n",
        spec.m, spec.m_padded);
  } else {
    out += fmt::format(
        "const w_column = @get_dsd(mem1d_dsd, .{{ .base_address = w, .offset = {2}, .extent = {1} }});\n"
        "var y: [{1}]f32 align(8) = @zeros([{1}]f32);\n"
        "const y_all = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{1}}} -> y[i] }});\n"
        "const y_dsd = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{0}}} -> y[i] }});\n",
        spec.m, spec.m_padded, spec.native ? 2 : 1);
  }
  if (spec.first) {
    out += fmt::format("const b_dsd = @get_dsd(mem1d_dsd, .{{ .base_address = b, .extent = {} }});\n",
                       spec.m_padded);
  } else {
    out += fmt::format(
        "const west = @get_dsd(fabin_dsd, .{{ .extent = {}, .fabric_color = west_color, "
        ".input_queue = west_queue }});\n",
        spec.m);
  }
  out += fmt::format(
      "const east = @get_dsd(fabout_dsd, .{{ .extent = {}, .fabric_color = east_color, "
      ".output_queue = east_queue }});\n",
      spec.m);
  if (spec.send_control) {
    out +=
        "const east_control = @get_dsd(fabout_dsd, .{\n"
        "  .extent = 1, .fabric_color = east_color, .output_queue = east_queue, .control = true });\n";
  }
  if (spec.bytes) return out + "\n";
  return out +
         "const y_dest = @get_dsr(dsr_dest, 0);\n"
         "const y_src = @get_dsr(dsr_src0, 0);\n"
         "const w_src = @get_dsr(dsr_src1, 0);\n\n";
}

// Reduction over this PE's columns: the descriptor of W advances by itself.
std::string multiply(const ContractionSpec& spec) {
  const char* add = spec.native ? "@fmachs" : "@fmacs";
  std::string out = fmt::format("fn multiply(x: [*]{}) void {{\n", element(spec));
  out +=
      "  @load_to_dsr(y_dest, y_all);\n"
      "  @load_to_dsr(y_src, y_all);\n"
      "  @load_to_dsr(w_src, w_column, .{ .save_address = true });\n";
  int rest = 0;
  if (spec.n > kUnrollAll) {
    rest = spec.n / kUnroll * kUnroll;
    out += fmt::format("  var j: u16 = 0;\n  while (j < {}) : (j += {}) {{\n", rest, kUnroll);
    for (int k = 0; k < kUnroll; ++k) {
      out += fmt::format("    {}(y_dest, y_src, w_src, x[j + {}]);\n", add, k);
    }
    out += "  }\n";
  }
  for (int k = rest; k < spec.n; ++k) out += fmt::format("  {}(y_dest, y_src, w_src, x[{}]);\n", add, k);
  return out + "}\n\n";
}

std::string compute(const ContractionSpec& spec, const ExpressionResult& epilogue) {
  std::string out = fmt::format(
      "fn receive(into: mem1d_dsd) void {{\n"
      "  @{}(into, x_in, .{{ .async = true, .activate = compute_id }});\n"
      "}}\n\n",
      spec.native ? "fmovh" : spec.half ? "fh2s" : "fmovs");
  out +=
      "var in_a: bool = true;\n\n"
      "task compute() void {\n";
  out += fmt::format("  var x: [*]{} = &xa;\n", element(spec));
  out +=
      "  if (in_a) {\n"
      "    receive(xb_dsd);\n"
      "  } else {\n"
      "    receive(xa_dsd);\n"
      "    x = &xb;\n"
      "  }\n"
      "  in_a = !in_a;\n";
  out += spec.first ? "  @fmovs(y_all, b_dsd);\n" : "  @fmovs(y_all, 0.0);\n";
  out += "  multiply(x);\n";
  if (!spec.last) {
    out += spec.first ? "  @fmovs(east, y_dsd);\n" : "  @fadds(east, west, y_dsd);\n";
    return out + "}\n\n";
  }
  if (!spec.first) out += "  @fadds(y_dsd, west, y_dsd);\n";
  out += indented(epilogue.code.lines, 2);
  out += spec.half ? "  @fs2h(east, y_dsd);\n" : "  @fmovs(east, y_dsd);\n";
  if (spec.send_control) out += "  @mov32(east_control, control);\n";
  return out + "}\n\n";
}

std::string bindings(const ContractionSpec& spec) {
  std::string out = spec.bytes ? "task start() void {\n  receive(xa_dsd);\n  prepare();\n}\n\n"
                               : "task start() void { receive(xa_dsd); }\n\n";
  out +=
      "comptime {\n"
      "  @initialize_queue(x_queue, .{ .color = x_color });\n";
  if (!spec.first) out += "  @initialize_queue(west_queue, .{ .color = west_color });\n";
  return out +
         "  if (@is_arch(\"wse3\")) {\n"
         "    @initialize_queue(east_queue, .{ .color = east_color });\n"
         "  }\n"
         "  @bind_local_task(compute, compute_id);\n"
         "  @bind_local_task(start, start_id);\n"
         "  @activate(start_id);\n"
         "}\n";
}

}  // namespace

std::string contraction_module(const ContractionSpec& spec, const Machine& machine) {
  ExpressionResult epilogue = epilogue_code(spec, machine);
  const char* place = spec.first ? (spec.last ? "only" : "first") : (spec.last ? "last" : "middle");
  std::string out = fmt::format(
      "// {}\n"
      "//\n"
      "// Generated, for the {} column: {} outputs from {} inputs here. Sharding: {}.\n"
      "// Expected: {} multiply-adds and {} more instructions per vector.\n",
      spec.title, place, spec.m, spec.n, spec.sharding, spec.m_padded * spec.n,
      4 + epilogue.code.lines.size());
  if (spec.epilogue && spec.last) out += fmt::format("// Epilogue: y = {}\n", epilogue.code.text);
  out += "\n" + parameters(spec) + declare_helpers(epilogue.code) + data(spec);
  out += declare_temporaries(epilogue.code);
  if (!spec.bytes) out += multiply(spec);
  return out + compute(spec, epilogue) + bindings(spec);
}

}  // namespace cs::autogen
