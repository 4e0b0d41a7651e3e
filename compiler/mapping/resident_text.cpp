// Text of a program with resident operands: layout.csl and one PE program; the kernel says what it adds.
#include "compiler/mapping/resident_text.h"

#include <fmt/format.h>

namespace cs::mapping {

namespace {

using kernels::Cut;

class Writer {
 public:
  Writer(const Instance& inst, const char* function, const Machine& machine)
      : inst_(inst),
        cut_(inst.plan.cut),
        function_(function),
        text_(inst.work.kind->write_resident(
            inst, kernels::Setting{inst.name, inst.rect, inst.plan.cut, {}, {}, 0, {}, machine})) {}

  std::map<std::string, std::string> run() {
    std::map<std::string, std::string> files = std::move(text_.files);
    files["layout.csl"] = layout();
    files["pe.csl"] = program();
    return files;
  }

 private:
  std::string layout() {
    std::string out = fmt::format(
        "// layout.csl: {} on {} x {} PEs, operands and result in their memory.\n//\n// The host copies in, "
        "launches "
        "{}(), copies out.\n\n"
        "const memcpy = @import_module(\"<memcpy/get_params>\", .{{ .width = {}, .height = {} }});\n",
        inst_.title, cut_.w, cut_.h, function_, cut_.w, cut_.h);
    out += text_.layout;
    out += fmt::format(
        "\nlayout {{\n  @set_rectangle({}, {});\n  for (@range(u16, {})) |y| {{\n    for (@range(u16, {})) "
        "|x| {{\n",
        cut_.w, cut_.h, cut_.h, cut_.w);
    out += text_.tile;
    out += "    }\n  }\n\n";
    for (const std::string& name : resident_symbols(inst_))
      out += fmt::format("  @export_name(\"{}\", [*]f32, true);\n", name);
    return out + fmt::format("  @export_name(\"{}\", fn()void);\n}}\n", function_);
  }

  std::string program() {
    std::string out = fmt::format(
        "// pe.csl: one PE of {}.\n//\n// {}\n\nparam memcpy_params: comptime_struct;\n"
        "const sys = @import_module(\"<memcpy/memcpy>\", memcpy_params);\n",
        inst_.title, inst_.work.kind->resident_sharding(inst_.work, cut_));
    out += text_.parameters + "\n";
    std::string exports;
    for (const std::string& name : resident_symbols(inst_)) {
      out += fmt::format("var {0}: [{1}]f32 align(8) = @zeros([{1}]f32);\nvar {0}_ptr: [*]f32 = &{0};\n",
                         name, resident_words(inst_, name));
      exports += fmt::format("  @export_symbol({0}_ptr, \"{0}\");\n", name);
    }
    out += "\n" + text_.import;
    return out + fmt::format(
                     "\nfn {0}() void {{\n  {1};\n  sys.unblock_cmd_stream();\n}}\n\ncomptime {{\n{2}"
                     "  @export_symbol({0});\n}}\n",
                     function_, text_.call, exports);
  }

  const Instance& inst_;
  const Cut& cut_;
  const char* function_;
  kernels::ResidentText text_;
};

}  // namespace

bool meets_on_line(const Instance& inst) { return inst.plan.cut.line > 1; }

std::vector<std::string> resident_symbols(const Instance& inst) {
  std::vector<std::string> list;
  for (int k = 0; k < inst.work.operands; ++k) list.push_back(fmt::format("x{}", k));
  if (inst.work.kind->result_apart()) list.push_back("y");
  for (const PackedConstant& c : inst.constants) list.push_back(c.name);
  return list;
}

int resident_words(const Instance& inst, const std::string& symbol) {
  const Cut& cut = inst.plan.cut;
  const bool apart = inst.work.kind->result_apart();
  if (symbol == "y") return cut.m_slice;
  if (symbol[0] != 'x' && inst.work.kind->constants_alike()) return int(inst.work.row);
  return cut.n_slice * (apart ? cut.m_slice : 1);
}

std::map<std::string, std::string> resident_files(const Instance& inst, const char* function,
                                                  const Machine& machine) {
  return Writer(inst, function, machine).run();
}

}  // namespace cs::mapping
