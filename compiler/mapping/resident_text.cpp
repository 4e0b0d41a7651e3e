// Text of a program with resident operands: layout.csl and one PE program; the kernel says what it adds.
#include "compiler/mapping/resident_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace cs::mapping {

namespace {

using kernels::Cut;
using kernels::ResidentArray;

// What the host copies: where it begins in an array, and of what.
struct Copied {
  std::string symbol, array, pointer;
  bool half = false, words = false;
  const char* type() const { return words ? "u32" : half ? "f16" : "f32"; }
};

// Each once: operands, the result where it is none of them, constants.
std::vector<ResidentArray> once(const kernels::ResidentArrays& all) {
  std::vector<ResidentArray> list = all.operands;
  if (!all.in_place()) list.push_back(all.result);
  list.insert(list.end(), all.more.begin(), all.more.end());
  list.insert(list.end(), all.constants.begin(), all.constants.end());
  return list;
}

std::string from_word(const ResidentArray& a, int word, const char* type) {
  return fmt::format("@ptrcast([*]{}, &{}[{}])", type, a.name, word + (a.odd_word ? 1 : 0));
}

// The first of the 16-bit floats that become the words of an operand: in their second half, since words are
// made from the first one on.
int first_half_word(const ResidentArray& a) { return a.words() / 2; }

std::vector<Copied> copied(const kernels::ResidentArrays& all, const std::set<std::string>& words) {
  std::vector<Copied> list;
  for (const ResidentArray& a : once(all)) {
    if (a.half && a.name == all.result.name && !all.in_place()) continue;
    if (a.half)
      list.push_back({a.name, a.name, from_word(a, first_half_word(a), words.contains(a.name) ? "u32" : "f16"), true,
                      words.contains(a.name)});
    else
      list.push_back({a.name, a.name, a.odd_word ? from_word(a, 0, "f32") : "&" + a.name, false});
  }
  if (all.result.half)
    list.push_back({result_symbol(all), all.result.name, from_word(all.result, 0, "f16"), true});
  return list;
}

class Writer {
 public:
  Writer(const Instance& inst, const char* function, const std::set<std::string>& words, const Machine& machine)
      : inst_(inst),
        cut_(inst.plan.cut),
        function_(function),
        arrays_(inst.work.kind->resident_arrays(inst, inst.plan.cut)),
        copied_(copied(arrays_, words)),
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
    for (const Copied& c : copied_)
      out += fmt::format("  @export_name(\"{}\", [*]{}, true);\n", c.symbol, c.type());
    return out + fmt::format("  @export_name(\"{}\", fn()void);\n}}\n", function_);
  }

  std::string program() {
    std::string out = fmt::format(
        "// pe.csl: one PE of {}.\n//\n// {}\n\nparam memcpy_params: comptime_struct;\n"
        "const sys = @import_module(\"<memcpy/memcpy>\", memcpy_params);\n",
        inst_.title, inst_.work.kind->resident_sharding(inst_.work, cut_));
    out += text_.parameters + "\n";
    std::string exports;
    for (const ResidentArray& a : once(arrays_)) {
      out += fmt::format("var {0}: [{1}]f32 align(8) = @zeros([{1}]f32);\n", a.name,
                         a.words() + (a.odd_word ? 1 : 0));
      for (const Copied& c : copied_) {
        if (c.array != a.name) continue;
        out += fmt::format("var {}_ptr: [*]{} = {};\n", c.symbol, c.type(), c.pointer);
        exports += fmt::format("  @export_symbol({0}_ptr, \"{0}\");\n", c.symbol);
      }
    }
    out += halves() + "\n" + text_.import;
    const std::string end = arrays_.result.half ? "give_back();" : "sys.unblock_cmd_stream();";
    return out + fmt::format(
                     "\nfn {0}() void {{\n{4}  {1};\n{3}}}\n\ncomptime {{\n{2}"
                     "  @export_symbol({0});\n}}\n",
                     function_, text_.call, exports, text_.gives_back ? "" : "  " + end + "\n", widen());
  }

  // Operands and results of 16-bit floats, as the host and as the kernel have them.
  std::string halves() const {
    std::string out;
    for (const ResidentArray& a : arrays_.operands)
      if (a.half) out += descriptors(a, a.name, first_half_word(a));
    if (!arrays_.result.half) return out;
    return out + descriptors(arrays_.result, "result", 0) +
           "fn give_back() void {\n  @fs2h(result_halves, result_words);\n  sys.unblock_cmd_stream();\n}\n";
  }
  static std::string descriptors(const ResidentArray& a, const std::string& name, int half_word) {
    const auto at = [&](const char* what, const std::string& address) {
      return fmt::format("const {}_{} = @get_dsd(mem1d_dsd, .{{ .base_address = {}, .extent = {} }});\n",
                         name, what, address, a.words());
    };
    return at("words", from_word(a, 0, "f32")) + at("halves", from_word(a, half_word, "f16"));
  }
  std::string widen() const {
    std::string out;
    for (const ResidentArray& a : arrays_.operands)
      if (a.half) out += fmt::format("  @fh2s({0}_words, {0}_halves);\n", a.name);
    return out;
  }

  const Instance& inst_;
  const Cut& cut_;
  const char* function_;
  kernels::ResidentArrays arrays_;
  std::vector<Copied> copied_;
  kernels::ResidentText text_;
};

}  // namespace

std::string result_symbol(const kernels::ResidentArrays& all) {
  return all.result.half && all.in_place() ? "y" : all.result.name;
}

std::map<std::string, std::string> resident_files(const Instance& inst, const char* function,
                                                  const std::set<std::string>& words, const Machine& machine) {
  return Writer(inst, function, words, machine).run();
}

}  // namespace cs::mapping
