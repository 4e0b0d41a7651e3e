// Text of elementwise kernels: receive every operand into one of two buffers, compute, send in turns.
#include "compiler/autogen/elementwise.h"

#include <fmt/format.h>

#include "compiler/autogen/joins.h"

namespace cs::autogen {

namespace {

std::string header(const ElementwiseSpec& spec, const ExpressionCode& code) {
  return fmt::format(
      "// {}\n"
      "//\n"
      "// Generated. y = {}\n"
      "// Sharding: {}. Expected: {:.2f} cycles per element{}.\n\n",
      spec.title, code.text, spec.sharding, code.cycles_per_element,
      code.in_loop ? ", in a loop of scalars" : ", by vector instructions");
}

std::string array(const std::string& name, int n, int phase) {
  return fmt::format(
      "var {0}: [{1}]f32 align(8) = @zeros([{1}]f32);\n"
      "const {0}_dsd = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{2}}} -> {0}[i{3}] }});\n",
      name, n + phase, n, phase == 0 ? "" : " + 1");
}

std::string constant_parameters(int constants, int n) {
  std::string out;
  for (int j = 0; j < constants; ++j) {
    out += fmt::format(
        "param c{0}: [*]f32;\n"
        "const c{0}_dsd = @get_dsd(mem1d_dsd, .{{ .base_address = c{0}, .extent = {1} }});\n",
        j, n);
  }
  return out;
}

std::string parameters(const ElementwiseSpec& spec) {
  std::string out;
  for (int i = 0; i < spec.operands; ++i) {
    out += fmt::format("param x{0}_color: color;\nparam x{0}_queue: input_queue;\n", i);
    if (Join::has_own_task(size_t(i), size_t(spec.operands)))
      out += fmt::format("param arrived{}_id: local_task_id;\n", i);
  }
  out +=
      "param y_color: color;\nparam y_queue: output_queue;\n"
      "param send_control: bool;\nparam control: u32;\n"
      "param compute_id: local_task_id;\nparam start_id: local_task_id;\n";
  return spec.operands > 1 ? out + "param shared: bool;\n" : out;
}

std::string operand_buffers(const ElementwiseSpec& spec) {
  std::string out;
  for (int i = 0; i < spec.operands; ++i) {
    out += fmt::format(
        "const x{0}_in = @get_dsd(fabin_dsd, .{{ .extent = {1}, .fabric_color = x{0}_color, "
        ".input_queue = x{0}_queue }});\n",
        i, spec.n);
    for (char half : {'a', 'b'}) out += array(fmt::format("{}{}", half, i), spec.n, operand_phase(i));
  }
  return out;
}

// By default the main thread goes before what arrives: the next sample is taken when this one is computed.
// Where one of several operands is shared with the kernels that make another one, these wait as long; if
// computing takes many cycles for each word, words go before it.
constexpr double kDear = 4;  // cycles for each word

// The operands of a sample have arrived.
Join join_of(const ElementwiseSpec& spec) {
  std::vector<std::string> names;
  for (int i = 0; i < spec.operands; ++i) names.push_back(fmt::format("arrived{}", i));
  return Join("compute", std::move(names));
}

// fn ask_a() / ask_b(): receive the next sample into one half.
std::string ask(const ElementwiseSpec& spec, const ExpressionCode& code, char half) {
  const bool dear = spec.operands > 1 && code.cycles_per_element >= kDear * spec.operands;
  const char* priority = dear ? ", .priority = .{ .medium = shared }" : "";
  std::string out = fmt::format("fn ask_{}() void {{\n", half);
  const Join join = join_of(spec);
  for (int i = 0; i < spec.operands; ++i) {
    const Join::End end = join.end_of(size_t(i));
    out += fmt::format("  @fmovs({0}{1}_dsd, x{1}_in, .{{ .async = true, .{2} = {3}{4} }});\n", half, i, end.what,
                       end.id, priority);
  }
  return out + "}\n\n";
}

// Longer code is there once, for both halves, and gets their addresses.
constexpr size_t kShortCode = 6;

ExpressionResult apply_code(const ElementwiseSpec& spec, char half, const Machine& machine) {
  ExpressionTarget target;
  for (int i = 0; i < spec.operands; ++i) {
    const std::string name = fmt::format("{}{}", half, i);
    const char* shift = operand_phase(i) == 0 || half == 'x' ? "" : " + 1";
    target.inputs.push_back({fmt::format("{}[i{}]", name, shift), name + "_dsd", 1, operand_phase(i)});
  }
  for (int j = 0; j < spec.constants; ++j) {
    target.inputs.push_back({fmt::format("c{}[i]", j), fmt::format("c{}_dsd", j), 1, kConstantPhase});
  }
  target.out = {"y[i]", "y_dsd", 1, 0};
  target.fabric_out = "y_out";
  target.n = spec.n;
  ExpressionResult result = generate_expression(spec.expr, target, machine);
  if (!spec.in_turns || !result.code.in_parts) return result;
  // The first part would wait for the PE's turn, and with it all others: the slice is computed in its own
  // place.
  target.fabric_out.clear();
  target.out = target.inputs[0];
  return generate_expression(spec.expr, target, machine);
}

bool in_place(const ElementwiseSpec& spec, const ExpressionResult& r) {
  return spec.in_turns && r.code.in_parts;
}

std::string body(const ElementwiseSpec& spec, const ExpressionResult& result, char half) {
  std::string from = in_place(spec, result) ? fmt::format("{}0_dsd", half) : "y_dsd";
  return indented(result.code.lines, 2) +
         (result.to_fabric ? "" : fmt::format("  @fmovs(y_out, {});\n", from)) + "}\n\n";
}

std::string apply(const ElementwiseSpec& spec, const ExpressionResult& a, const Machine& machine) {
  if (a.code.lines.size() <= kShortCode) {
    return "fn apply_a() void {\n" + body(spec, a, 'a') + "fn apply_b() void {\n" +
           body(spec, apply_code(spec, 'b', machine), 'b');
  }
  std::string parameters, first, second;
  for (int i = 0; i < spec.operands; ++i) {
    const char* comma = i > 0 ? ", " : "";
    parameters += fmt::format("{}x{}: [*]f32", comma, i);
    first += fmt::format("{}@ptrcast([*]f32, &a{}[{}])", comma, i, operand_phase(i));
    second += fmt::format("{}@ptrcast([*]f32, &b{}[{}])", comma, i, operand_phase(i));
  }
  std::string out = fmt::format("fn apply({}) void {{\n", parameters);
  for (int i = 0; i < spec.operands; ++i)
    out += fmt::format("  const x{0}_dsd = @set_dsd_base_addr(a{0}_dsd, x{0});\n", i);
  return out + body(spec, apply_code(spec, 'x', machine), 'x') +
         fmt::format("fn apply_a() void {{ apply({}); }}\n", first) +
         fmt::format("fn apply_b() void {{ apply({}); }}\n\n", second);
}

std::string tasks(const ElementwiseSpec& spec) {
  const Join join = join_of(spec);
  return join.tasks() +
         "var in_a: bool = true;\n\n"
         "task compute() void {\n" +
         join.block_again() +
         "  if (in_a) {\n"
         "    in_a = false;\n"
         "    ask_b();\n"
         "    apply_a();\n"
         "  } else {\n"
         "    in_a = true;\n"
         "    ask_a();\n"
         "    apply_b();\n"
         "  }\n"
         "  if (send_control) {\n"
         "    @mov32(y_control, control);\n"
         "  }\n"
         "}\n\n"
         "task start() void {\n"
         "  ask_a();\n"
         "}\n\n";
}

std::string bindings(const ElementwiseSpec& spec) {
  std::string out = "comptime {\n";
  for (int i = 0; i < spec.operands; ++i) {
    out += fmt::format("  @initialize_queue(x{0}_queue, .{{ .color = x{0}_color }});\n", i);
  }
  return out + join_of(spec).bindings() +
         "  if (@is_arch(\"wse3\")) {\n"
         "    @initialize_queue(y_queue, .{ .color = y_color });\n"
         "  }\n"
         "  @bind_local_task(compute, compute_id);\n"
         "  @bind_local_task(start, start_id);\n"
         "  @activate(start_id);\n"
         "}\n";
}

}  // namespace

std::string indented(const std::vector<std::string>& lines, int spaces) {
  std::string out;
  for (const std::string& line : lines) out += std::string(size_t(spaces), ' ') + line + "\n";
  return out;
}

std::string declare_temporaries(const ExpressionCode& code) { return indented(code.declarations, 0); }

std::string declare_helpers(const ExpressionCode& code) {
  return scalar_helpers(code.uses_math, code.uses_round, code.uses_power);
}

namespace {

// One instruction from stream to stream; PEs take turns, and the slices of those whose turn is later wait in
// the fabric.
std::string through_module(const ElementwiseSpec& spec, const Machine& machine) {
  ExpressionTarget target;
  target.inputs.push_back({"", "x0_in"});
  for (int j = 0; j < spec.constants; ++j) target.inputs.push_back({"", fmt::format("c{}_dsd", j)});
  target.fabric_out = "y_out";
  target.n = spec.n;
  ExpressionResult result = generate_expression(spec.expr, target, machine);
  return header(spec, result.code) +
         "param x0_color: color;\nparam x0_queue: input_queue;\n"
         "param y_color: color;\nparam y_queue: output_queue;\n"
         "param send_control: bool;\nparam control: u32;\nparam send_id: local_task_id;\n" +
         constant_parameters(spec.constants, spec.n) + declare_temporaries(result.code) +
         fmt::format(
             "\nconst x0_in = @get_dsd(fabin_dsd, .{{ .extent = {0}, .fabric_color = x0_color, "
             ".input_queue = x0_queue }});\n"
             "const y_out = @get_dsd(fabout_dsd, .{{ .extent = {0}, .fabric_color = y_color, "
             ".output_queue = y_queue }});\n"
             "const y_control = @get_dsd(fabout_dsd, .{{\n"
             "  .extent = 1, .fabric_color = y_color, .output_queue = y_queue, .control = true }});\n\n"
             "task send() void {{\n  @activate(send_id);\n  {1}\n"
             "  if (send_control) {{\n    @mov32(y_control, control);\n  }}\n}}\n\n",
             spec.n, result.code.lines[0]) +
         "comptime {\n"
         "  @initialize_queue(x0_queue, .{ .color = x0_color });\n"
         "  if (@is_arch(\"wse3\")) {\n    @initialize_queue(y_queue, .{ .color = y_color });\n  }\n"
         "  @bind_local_task(send, send_id);\n"
         "  @activate(send_id);\n}\n";
}

}  // namespace

std::string elementwise_module(const ElementwiseSpec& spec, const Machine& machine) {
  if (spec.operands == 1 && passes_through(spec.expr, machine)) return through_module(spec, machine);
  ExpressionResult a = apply_code(spec, 'a', machine);
  std::string out =
      header(spec, a.code) + parameters(spec) + constant_parameters(spec.constants, spec.n) + "\n";
  out += declare_helpers(a.code) + operand_buffers(spec);
  if (!a.to_fabric && !in_place(spec, a)) out += array("y", spec.n, 0);
  out += declare_temporaries(a.code);
  out += fmt::format(
      "const y_out = @get_dsd(fabout_dsd, .{{ .extent = {}, .fabric_color = y_color, .output_queue = y_queue "
      "}});\n"
      "const y_control = @get_dsd(fabout_dsd, .{{\n"
      "  .extent = 1, .fabric_color = y_color, .output_queue = y_queue, .control = true }});\n\n",
      spec.n);
  return out + ask(spec, a.code, 'a') + ask(spec, a.code, 'b') + apply(spec, a, machine) + tasks(spec) +
         bindings(spec);
}

std::string epilogue_module(const ElementwiseSpec& spec, const Machine& machine) {
  ExpressionTarget target;
  std::string operands;
  for (int i = 0; i < spec.operands; ++i) {
    const std::string name = i == 0 ? "y" : fmt::format("x{}", i);
    target.inputs.push_back({name + "[i]", name + "_dsd", 1, operand_phase(i)});
    operands += fmt::format(
        "param {0}: [*]f32;\n"
        "const {0}_dsd = @get_dsd(mem1d_dsd, .{{ .base_address = {0}, .extent = {1} }});\n",
        name, spec.n);
  }
  for (int j = 0; j < spec.constants; ++j) {
    target.inputs.push_back({fmt::format("c{}[i]", j), fmt::format("c{}_dsd", j), 1, kConstantPhase});
  }
  target.out = {"y[i]", "y_dsd", 1, 0};
  target.n = spec.n;
  ExpressionResult result = generate_expression(spec.expr, target, machine);
  std::string out = header(spec, result.code) + operands + constant_parameters(spec.constants, spec.n);
  out += declare_helpers(result.code) + declare_temporaries(result.code);
  return out + "\nfn run() void {\n" + indented(result.code.lines, 2) + "}\n";
}

}  // namespace cs::autogen
