// See resident_reduction.h.
#include "compiler/kernels/resident_reduction.h"

#include <fmt/format.h>

#include "compiler/autogen/expression.h"
#include "compiler/autogen/reduction.h"

namespace cs::kernels {

namespace {

// Colours, and what each PE of the line does.
void line_layout(const Setting& at, bool down, bool all, ResidentText& text) {
  const char* position = down ? "y" : "x";
  text.layout = fmt::format(
      "const colors = [6]color{{ @get_color(0), @get_color(1), @get_color(2), @get_color(3), "
      "@get_color(4), "
      "@get_color(5) }};\n"
      "const line = @import_module(\"reduce_layout.csl\", .{{\n"
      "  .P = {}, .group = {}, .colors = colors, .back_color = @get_color(6), .toward = {}, .away = "
      "{} }});\n",
      at.cut.line, at.cut.group, down ? "NORTH" : "WEST", down ? "SOUTH" : "EAST");
  text.tile = fmt::format(
      "      const role = line.configure(x, y, {0}, @as(line.algorithm, {1}), {2});\n"
      "      @set_tile_code(x, y, \"pe.csl\", .{{\n"
      "        .memcpy_params = memcpy.get_params(x), .count = role.count, .root = {0} == 0, .out_color = "
      "colors[role.out],\n"
      "        .in_colors = [6]color{{ colors[role.ins[0]], colors[role.ins[1]], colors[role.ins[2]], "
      "colors[role.ins[3]],\n"
      "                               colors[role.ins[4]], colors[role.ins[5]] }} }});\n",
      position, int(at.cut.line_reduce), all);
  text.parameters =
      "param count: u16;\nparam root: bool;\nparam in_colors: [6]color;\nparam out_color: color;\n";
}

// Of the first words of an array.
std::string line_import(const char* array, int words, bool maximum, bool all) {
  return fmt::format(
      "const line = @import_module(\"reduce.csl\", .{{\n"
      "  .n = {0}, .data = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{0}}} -> {1}[i] }}), .maximum = "
      "{2},\n"
      "  .count = count, .in_colors = in_colors, .out_color = out_color, .root = root, .all = {3},\n"
      "  .in_queues = [6]input_queue{{ @get_input_queue(2), @get_input_queue(3), @get_input_queue(4), "
      "@get_input_queue(5),\n"
      "                               @get_input_queue(6), @get_input_queue(7) }},\n"
      "  .out_queue = @get_output_queue(3), .back_color = {4}, .back_in = @get_input_queue(7),\n"
      "  .back_out = @get_output_queue(4) }});\n",
      words, array, maximum, all, all ? "@get_color(6)" : "out_color");
}

// The kernel of a PE, which calls `along` when its own sums are made.
void kernel_import(const Choice& choice, const Setting& at, const LineNames& line, ResidentText& text) {
  if (choice.row == nullptr) {
    const std::string file = at.name + "_kernel.csl";
    autogen::ReductionSpec spec;
    spec.title = choice.title;
    spec.sharding = fmt::format("{} rows of {} on {} x {} PEs, {} elements of each", at.cut.m_slice,
                                choice.work.rows, at.cut.w, at.cut.h, at.cut.n_slice);
    spec.n = at.cut.n_slice;
    spec.maximum = choice.maximum;
    spec.scale = choice.scale;
    text.files[file] = autogen::resident_reduction_module(spec, at.cut.m_slice);
    text.import += fmt::format(
        "const kernel = @import_module(\"{}\", .{{ .x = &x0, .y = &y, .root = {}, .along_line "
        "= {} }});\n",
        file, line.root, line.reduce);
    return;
  }
  text.import += fmt::format(
      "const kernel = @import_module(\"reduce_rows.csl\", .{{\n"
      "  .n = {}, .rows = {}, .x = &x0, .y = &y, .maximum = {}, .scale = {}, .root = {}, "
      ".along_line = "
      "{} }});\n",
      at.cut.n_slice, at.cut.m_slice, choice.maximum, autogen::float_literal(choice.scale), line.root,
      line.reduce);
}

}  // namespace

LineNames add_line(const Setting& at, bool down, int words, bool maximum, ResidentText& text) {
  const bool line = at.cut.line > 1;
  if (line) line_layout(at, down, false, text);
  text.import += line ? line_import("y", words, maximum, false) : "fn nothing() void {}\n";
  return line ? LineNames{"root", "line.reduce"} : LineNames{};
}

void add_numbers_of_line(const Setting& at, ResidentText& text) {
  line_layout(at, false, true, text);
  text.import += "var number = @zeros([1]f32);\n" + line_import("number", 1, false, true);
  for (const char* what : {"sum", "largest"})
    text.import += fmt::format(
        "fn {0}_of_line(mine: f32) f32 {{\n  number[0] = mine;\n  line.{0}();\n  return number[0];\n}}\n", what);
}

ResidentText resident_reduction(const Choice& choice, const Setting& at, ResidentText text) {
  kernel_import(choice, at, add_line(at, false, at.cut.m_slice, choice.maximum, text), text);
  return text;
}

}  // namespace cs::kernels
