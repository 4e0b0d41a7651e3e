// Text of a program with resident operands: layout.csl, one PE program, and the kernel that it imports.
#include "compiler/mapping/resident_text.h"

#include <fmt/format.h>

#include "compiler/autogen/elementwise.h"
#include "compiler/autogen/reduction.h"
#include "compiler/autogen/row_code.h"

namespace cs::mapping {

namespace {

using kernels::Cut;
using kernels::Pattern;

class Writer {
 public:
  Writer(const Instance& inst, const char* function, const Machine& machine)
      : inst_(inst), cut_(inst.plan.cut), function_(function), machine_(machine) {}

  std::map<std::string, std::string> run() {
    files_["layout.csl"] = layout();
    files_["pe.csl"] = program();
    return std::move(files_);
  }

 private:
  std::string layout() {
    std::string out = fmt::format(
        "// layout.csl: {} on {} x {} PEs, operands and result in their memory.\n//\n// The host copies in, "
        "launches "
        "{}(), copies out.\n\n"
        "const memcpy = @import_module(\"<memcpy/get_params>\", .{{ .width = {}, .height = {} }});\n",
        inst_.title, cut_.w, cut_.h, function_, cut_.w, cut_.h);
    if (meets_on_line(inst_))
      out += fmt::format(
          "const colors = [6]color{{ @get_color(0), @get_color(1), @get_color(2), @get_color(3), "
          "@get_color(4), "
          "@get_color(5) }};\n"
          "const line = @import_module(\"reduce_layout.csl\", .{{\n"
          "  .P = {}, .group = {}, .colors = colors, .back_color = @get_color(6), .toward = WEST, .away = "
          "EAST }});\n",
          cut_.line, cut_.group);
    out += fmt::format(
        "\nlayout {{\n  @set_rectangle({}, {});\n  for (@range(u16, {})) |y| {{\n    for (@range(u16, {})) "
        "|x| {{\n",
        cut_.w, cut_.h, cut_.h, cut_.w);
    out += meets_on_line(inst_)
               ? line_tile()
               : "      @set_tile_code(x, y, \"pe.csl\", .{ .memcpy_params = memcpy.get_params(x) });\n";
    out += "    }\n  }\n\n";
    for (const std::string& name : resident_symbols(inst_))
      out += fmt::format("  @export_name(\"{}\", [*]f32, true);\n", name);
    return out + fmt::format("  @export_name(\"{}\", fn()void);\n}}\n", function_);
  }

  std::string line_tile() {
    return fmt::format(
        "      const role = line.configure(x, y, x, @as(line.algorithm, {}), false);\n"
        "      @set_tile_code(x, y, \"pe.csl\", .{{\n"
        "        .memcpy_params = memcpy.get_params(x), .count = role.count, .root = x == 0, .out_color = "
        "colors[role.out],\n"
        "        .in_colors = [6]color{{ colors[role.ins[0]], colors[role.ins[1]], colors[role.ins[2]], "
        "colors[role.ins[3]],\n"
        "                               colors[role.ins[4]], colors[role.ins[5]] }} }});\n",
        int(cut_.line_reduce));
  }

  std::string program() {
    std::string out = fmt::format(
        "// pe.csl: one PE of {}.\n//\n// {}\n\nparam memcpy_params: comptime_struct;\n"
        "const sys = @import_module(\"<memcpy/memcpy>\", memcpy_params);\n",
        inst_.title, sharding());
    if (meets_on_line(inst_))
      out += "param count: u16;\nparam root: bool;\nparam in_colors: [6]color;\nparam out_color: color;\n";
    out += "\n";
    std::string exports;
    for (const std::string& name : resident_symbols(inst_)) {
      out += fmt::format("var {0}: [{1}]f32 align(8) = @zeros([{1}]f32);\nvar {0}_ptr: [*]f32 = &{0};\n",
                         name, resident_words(inst_, name));
      exports += fmt::format("  @export_symbol({0}_ptr, \"{0}\");\n", name);
    }
    std::string call;
    out += "\n" + kernel(call);
    return out + fmt::format(
                     "\nfn {0}() void {{\n  {1};\n  sys.unblock_cmd_stream();\n}}\n\ncomptime {{\n{2}"
                     "  @export_symbol({0});\n}}\n",
                     function_, call, exports);
  }

  std::string sharding() {
    if (inst_.work.pattern != Pattern::reduction)
      return fmt::format("{} of {} elements; the result takes the place of x0.", cut_.n_slice, inst_.work.n);
    return fmt::format("{} rows of {}, {} elements of each{}; the results are in y{}.", cut_.m_slice,
                       inst_.work.rows, cut_.n_slice,
                       meets_on_line(inst_) ? fmt::format(" of {}", inst_.work.n) : "",
                       meets_on_line(inst_) ? " of the first column" : "");
  }

  // The import of the kernel; `call` runs it.
  std::string kernel(std::string& call) {
    call = "kernel.run()";
    switch (inst_.work.pattern) {
      case Pattern::rows:
        call = "kernel.buffers.all_rows(&x0)";
        return rows_kernel();
      case Pattern::reduction:
        return reduction_kernel();
      default:
        return chain_kernel();
    }
  }

  std::string chain_kernel() {
    if (inst_.row != nullptr) {
      return fmt::format("const kernel = @import_module(\"relu_epilogue.csl\", .{{ .n = {}, .y = &x0 }});\n",
                         cut_.n_slice);
    }
    const std::string file = inst_.name + "_kernel.csl";
    const std::string on =
        fmt::format("{} elements on {} x {} PEs, {} each", inst_.work.n, cut_.w, cut_.h, cut_.n_slice);
    const autogen::ElementwiseSpec spec{inst_.title,          on,          *inst_.expr, inst_.work.operands,
                                        inst_.expr_constants, cut_.n_slice};
    files_[file] = autogen::epilogue_module(spec, machine_);
    std::string out = fmt::format("const kernel = @import_module(\"{}\", .{{ .y = &x0", file);
    for (int k = 1; k < inst_.work.operands; ++k) out += fmt::format(", .x{0} = &x{0}", k);
    for (const PackedConstant& c : inst_.constants) out += fmt::format(", .{0} = &{0}", c.name);
    return out + " });\n";
  }

  std::string rows_kernel() {
    const bool generated = inst_.rows.has_value();
    const std::string file = generated ? inst_.name + "_kernel.csl" : std::string(inst_.row->file);
    const int rows = int(cut_.n_slice / inst_.work.row);
    std::string out = fmt::format(
        "const kernel = @import_module(\"{}\", .{{\n  .resident = true, .rows = {}, .x0 = &x0, "
        ".x1 = &x0",
        file, rows);
    for (const PackedConstant& c : inst_.constants) out += fmt::format(", .{0} = &{0}", c.name);
    if (generated) {
      const std::string on =
          fmt::format("{} rows on {} x {} PEs, {} each", inst_.work.n / inst_.work.row, cut_.w, cut_.h, rows);
      files_[file] = autogen::row_module(*inst_.rows, {inst_.title, on, true}, machine_);
      return out + " });\n";
    }
    out += fmt::format(", .n = {}", inst_.work.row);
    if (!inst_.constants.empty()) {
      out += fmt::format(",\n  .epsilon = {}, .centred = {}", autogen::float_literal(inst_.epsilon),
                         inst_.constants.size() > 1);
      if (inst_.constants.size() == 1) out += ", .bias = &scale";
    }
    return out + " });\n";
  }

  std::string reduction_kernel() {
    std::string out, along = "nothing", root = "true";
    if (meets_on_line(inst_)) {
      along = "line.reduce";
      root = "root";
      out = fmt::format(
          "const line = @import_module(\"reduce.csl\", .{{\n"
          "  .n = {}, .data = @get_dsd(mem1d_dsd, .{{ .tensor_access = |i|{{{}}} -> y[i] }}), .maximum = "
          "{},\n"
          "  .count = count, .in_colors = in_colors, .out_color = out_color, .root = root, .all = false,\n"
          "  .in_queues = [6]input_queue{{ @get_input_queue(2), @get_input_queue(3), @get_input_queue(4), "
          "@get_input_queue(5),\n"
          "                               @get_input_queue(6), @get_input_queue(7) }},\n"
          "  .out_queue = @get_output_queue(3), .back_color = out_color, .back_in = @get_input_queue(7),\n"
          "  .back_out = @get_output_queue(4) }});\n",
          cut_.m_slice, cut_.m_slice, inst_.maximum);
    } else {
      out = "fn nothing() void {}\n";
    }
    if (inst_.row == nullptr) {
      const std::string file = inst_.name + "_kernel.csl";
      autogen::ReductionSpec spec;
      spec.title = inst_.title;
      spec.sharding = fmt::format("{} rows of {} on {} x {} PEs, {} elements of each", cut_.m_slice,
                                  inst_.work.rows, cut_.w, cut_.h, cut_.n_slice);
      spec.n = cut_.n_slice;
      spec.maximum = inst_.maximum;
      spec.scale = inst_.scale;
      files_[file] = autogen::resident_reduction_module(spec, cut_.m_slice);
      return out + fmt::format(
                       "const kernel = @import_module(\"{}\", .{{ .x = &x0, .y = &y, .root = {}, .along_line "
                       "= {} }});\n",
                       file, root, along);
    }
    return out + fmt::format(
                     "const kernel = @import_module(\"reduce_rows.csl\", .{{\n"
                     "  .n = {}, .rows = {}, .x = &x0, .y = &y, .maximum = {}, .scale = {}, .root = {}, "
                     ".along_line = "
                     "{} }});\n",
                     cut_.n_slice, cut_.m_slice, inst_.maximum, autogen::float_literal(inst_.scale), root,
                     along);
  }

  const Instance& inst_;
  const Cut& cut_;
  const char* function_;
  const Machine& machine_;
  std::map<std::string, std::string> files_;
};

}  // namespace

bool meets_on_line(const Instance& inst) {
  return inst.work.pattern == Pattern::reduction && inst.plan.cut.line > 1;
}

std::vector<std::string> resident_symbols(const Instance& inst) {
  std::vector<std::string> list;
  for (int k = 0; k < inst.work.operands; ++k) list.push_back(fmt::format("x{}", k));
  if (inst.work.pattern == Pattern::reduction) list.push_back("y");
  for (const PackedConstant& c : inst.constants) list.push_back(c.name);
  return list;
}

int resident_words(const Instance& inst, const std::string& symbol) {
  const Cut& cut = inst.plan.cut;
  if (symbol == "y") return cut.m_slice;
  const bool constant = symbol[0] != 'x';
  if (constant && inst.work.pattern == Pattern::rows) return int(inst.work.row);
  return cut.n_slice * (inst.work.pattern == Pattern::reduction ? cut.m_slice : 1);
}

std::map<std::string, std::string> resident_files(const Instance& inst, const char* function,
                                                  const Machine& machine) {
  return Writer(inst, function, machine).run();
}

}  // namespace cs::mapping
