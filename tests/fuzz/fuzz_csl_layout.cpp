// Any bytes as the layout file: rectangles, placement, routes, exports. What PEs run is one fixed program that takes
// what layouts like to give. The seeds are the layouts of tests/csl (tools/fuzz).
#include <cstddef>
#include <cstdint>

#include "compile_any.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string kProgram =
      "param memcpy_params = {};\n"
      "param n: u16 = 1;\n"
      "param c: color = @get_color(2);\n"
      "param sends: bool = true;\n"
      "var words = @zeros([4]u32);\n"
      "const to = @get_dsd(mem1d_dsd, .{ .base_address = &words, .extent = 4 });\n"
      "const out = @get_dsd(fabout_dsd, .{ .extent = 4, .fabric_color = c, .output_queue = @get_output_queue(2) });\n"
      "fn main() void { if (sends) { @mov32(out, to); } else { words[0] = n; } }\n"
      "comptime { @export_symbol(main); @export_symbol(words); }\n";
  const std::string text(reinterpret_cast<const char*>(data), size);
  cs::fuzz::compile_any(text, kProgram, text);
  return 0;
}
