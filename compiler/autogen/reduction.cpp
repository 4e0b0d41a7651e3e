// Text of reductions: two sets of accumulators, one being filled while the other is combined and sent.
#include "compiler/autogen/reduction.h"

#include <limits>

#include <fmt/format.h>

#include "compiler/autogen/vector_code.h"

namespace cs::autogen {

namespace {

// Element i joins accumulator i mod k; k, at most so many, divides the slice.
int accumulators(int n, int most) {
  int k = most;
  while (n % k != 0) --k;
  return k;
}

const char* combiner(const ReductionSpec& spec) { return spec.maximum ? "fmaxs" : "fadds"; }

std::string neutral(const ReductionSpec& spec) {
  return spec.maximum ? float_literal(-std::numeric_limits<double>::infinity()) : "0.0";
}

std::string header(const ReductionSpec& spec) {
  return fmt::format(
      "// {}\n//\n// Generated. The {} of {} elements, times {}, as they arrive, one a cycle.\n"
      "// Sharding: {}.\n\n"
      "param x_color: color;\nparam x_queue: input_queue;\n{}"
      "param east_color: color;\nparam east_queue: output_queue;\n"
      "param compute_id: local_task_id;\nparam start_id: local_task_id;\n\n",
      spec.title, spec.maximum ? "largest" : "sum", spec.n, float_literal(spec.scale), spec.sharding,
      spec.first ? "" : "param west_color: color;\nparam west_queue: input_queue;\n");
}

std::string data(const ReductionSpec& spec) {
  const int k = accumulators(spec.n, spec.n < 16 ? 2 : 4);
  std::string out = fmt::format(
      "const x_in = @get_dsd(fabin_dsd, .{{ .extent = {}, .fabric_color = x_color, .input_queue = x_queue "
      "}});\n"
      "const east = @get_dsd(fabout_dsd, .{{ .extent = 1, .fabric_color = east_color, .output_queue = "
      "east_queue "
      "}});\n",
      spec.n);
  if (!spec.first)
    out +=
        "const west = @get_dsd(fabin_dsd, .{ .extent = 1, .fabric_color = west_color, .input_queue = "
        "west_queue "
        "});\n";
  for (char set : {'a', 'b'}) {
    out += fmt::format(
        "var {0} = @zeros([{1}]f32);\n"
        "const {0}_all = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{1}}} -> {0}[i] }});\n"
        "const {0}_round = @get_dsd(mem4d_dsd, .{{ .tensor_access = |i, j|{{{2}, {1}}} -> {0}[j] }});\n",
        set, k, spec.n / k);
  }
  return out +
         "var partial = @zeros([1]f32);\n"
         "const partial_dsd = @get_dsd(mem1d_dsd, .{ .tensor_access = |i|{1} -> partial[i] });\n"
         "var in_a: bool = true;\n\n";
}

std::string functions(const ReductionSpec& spec) {
  return fmt::format(
      "fn ask(all: mem1d_dsd, round: mem4d_dsd) void {{\n"
      "  @fmovs(all, {0});\n"
      "  @{1}(round, x_in, round, .{{ .async = true, .activate = compute_id }});\n"
      "}}\n\n"
      "fn combine(all: mem1d_dsd) f32 {{\n"
      "  var result: f32 = {0};\n"
      "  @{1}(&result, result, all);\n"
      "  return result;\n"
      "}}\n\n",
      neutral(spec), combiner(spec));
}

// Where the partial result goes: on to the east, or scaled out of the last column.
std::string pass_on(const ReductionSpec& spec) {
  if (!spec.last)
    return spec.first ? "  @fmovs(east, partial_dsd);\n"
                      : fmt::format("  @{}(east, west, partial_dsd);\n", combiner(spec));
  std::string out;
  if (!spec.first) out += fmt::format("  @{}(partial_dsd, west, partial_dsd);\n", combiner(spec));
  if (spec.scale != 1) out += fmt::format("  partial[0] = partial[0] * {};\n", float_literal(spec.scale));
  return out + "  @fmovs(east, partial_dsd);\n";
}

}  // namespace

std::string resident_reduction_module(const ReductionSpec& spec, int rows) {
  const int k = accumulators(spec.n, 4);
  const std::string scale =
      spec.scale == 1 ? ""
                      : fmt::format("  if (root) @fmuls(all_y, all_y, {});\n", float_literal(spec.scale));
  return fmt::format(
      "// {0}\n//\n// Generated. The {1} of {2} elements of each of {3} rows.\n// Sharding: {4}.\n\n"
      "param x: [*]f32;\nparam y: [*]f32;\nparam root: bool;\nparam along_line: fn() void;\n\n"
      "var partial: [{5}]f32 align(8) = @zeros([{5}]f32);\n"
      "const all = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{6}}} -> partial[i + 1] }});\n"
      "const rounds = @get_dsd(mem4d_dsd, .{{ .tensor_access = |r, i, j|{{{3}, {7}, {8}}} -> partial[r * {8} "
      "+ j + 1] }});\n"
      "const by_row = @get_dsd(mem4d_dsd, .{{ .tensor_access = |r, j|{{{3}, {8}}} -> partial[r] }});\n"
      "const all_x = @get_dsd(mem1d_dsd, .{{ .base_address = x, .extent = {9} }});\n"
      "const all_y = @get_dsd(mem1d_dsd, .{{ .base_address = y, .extent = {3} }});\n\n"
      "fn run() void {{\n  const y_by_row = @set_dsd_base_addr(by_row, y);\n"
      "  @fmovs(all, {10});\n  @fmovs(all_y, {10});\n"
      "  @{11}(rounds, rounds, all_x);\n  @{11}(y_by_row, y_by_row, all);\n  along_line();\n{12}}}\n",
      spec.title, spec.maximum ? "largest" : "sum", spec.n, rows, spec.sharding, rows * k + 1, rows * k,
      spec.n / k, k, rows * spec.n, neutral(spec), combiner(spec), scale);
}

std::string reduction_module(const ReductionSpec& spec) {
  return header(spec) + data(spec) + functions(spec) +
         "task compute() void {\n"
         "  if (in_a) {\n    ask(b_all, b_round);\n    partial[0] = combine(a_all);\n"
         "  } else {\n    ask(a_all, a_round);\n    partial[0] = combine(b_all);\n  }\n"
         "  in_a = !in_a;\n" +
         pass_on(spec) +
         "}\n\n"
         "task start() void {\n  ask(a_all, a_round);\n}\n\n"
         "comptime {\n  @initialize_queue(x_queue, .{ .color = x_color });\n" +
         (spec.first ? "" : "  @initialize_queue(west_queue, .{ .color = west_color });\n") +
         "  if (@is_arch(\"wse3\")) {\n    @initialize_queue(east_queue, .{ .color = east_color });\n  }\n"
         "  @bind_local_task(compute, compute_id);\n"
         "  @bind_local_task(start, start_id);\n"
         "  @activate(start_id);\n}\n";
}

}  // namespace cs::autogen
