// Text of a program with resident operands: layout.csl and one PE program; the kernel says what it adds.
#include "compiler/mapping/resident_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace cs::mapping {

namespace {

using kernels::Cut;
using kernels::ResidentArray;

// Each once: operands, the result where it is none of them, constants.
std::vector<ResidentArray> resident_arrays(const Instance& inst) {
  kernels::ResidentArrays all = inst.work.kind->resident_arrays(inst, inst.plan.cut);
  std::vector<ResidentArray> list = all.operands;
  if (std::none_of(list.begin(), list.end(), [&](const auto& a) { return a.name == all.result.name; }))
    list.push_back(all.result);
  list.insert(list.end(), all.constants.begin(), all.constants.end());
  return list;
}

class Writer {
 public:
  Writer(const Instance& inst, const char* function, const Machine& machine)
      : inst_(inst),
        cut_(inst.plan.cut),
        function_(function),
        arrays_(resident_arrays(inst)),
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
    for (const ResidentArray& a : arrays_)
      out += fmt::format("  @export_name(\"{}\", [*]f32, true);\n", a.name);
    return out + fmt::format("  @export_name(\"{}\", fn()void);\n}}\n", function_);
  }

  std::string program() {
    std::string out = fmt::format(
        "// pe.csl: one PE of {}.\n//\n// {}\n\nparam memcpy_params: comptime_struct;\n"
        "const sys = @import_module(\"<memcpy/memcpy>\", memcpy_params);\n",
        inst_.title, inst_.work.kind->resident_sharding(inst_.work, cut_));
    out += text_.parameters + "\n";
    std::string exports;
    for (const ResidentArray& a : arrays_) {
      out += fmt::format("var {0}: [{1}]f32 align(8) = @zeros([{1}]f32);\nvar {0}_ptr: [*]f32 = {2};\n",
                         a.name, a.words() + (a.odd_word ? 1 : 0),
                         a.odd_word ? fmt::format("@ptrcast([*]f32, &{}[1])", a.name) : "&" + a.name);
      exports += fmt::format("  @export_symbol({0}_ptr, \"{0}\");\n", a.name);
    }
    out += "\n" + text_.import;
    return out + fmt::format(
                     "\nfn {0}() void {{\n  {1};\n{3}}}\n\ncomptime {{\n{2}"
                     "  @export_symbol({0});\n}}\n",
                     function_, text_.call, exports,
                     text_.gives_back ? "" : "  sys.unblock_cmd_stream();\n");
  }

  const Instance& inst_;
  const Cut& cut_;
  const char* function_;
  std::vector<ResidentArray> arrays_;
  kernels::ResidentText text_;
};

}  // namespace

std::map<std::string, std::string> resident_files(const Instance& inst, const char* function,
                                                  const Machine& machine) {
  return Writer(inst, function, machine).run();
}

}  // namespace cs::mapping
