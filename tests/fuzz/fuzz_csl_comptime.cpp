// Any bytes as the program of a PE: the comptime interpreter and all that comes after it. The layout is fixed: one PE
// with <memcpy>. The seeds are the one-PE feature programs of tests/csl (tools/fuzz).
#include <cstddef>
#include <cstdint>

#include "compile_any.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::string kLayout =
      "const memcpy = @import_module(\"<memcpy/get_params>\", .{ .width = 1, .height = 1 });\n"
      "layout {\n"
      "  @set_rectangle(1, 1);\n"
      "  @set_tile_code(0, 0, \"pe.csl\", .{ .memcpy_params = memcpy.get_params(0) });\n"
      "  @export_name(\"main\", fn () void);\n"
      "}\n";
  const std::string text(reinterpret_cast<const char*>(data), size);
  cs::fuzz::compile_any(kLayout, text, text);
  return 0;
}
