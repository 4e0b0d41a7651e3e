// Any bytes are a Program or a diagnostic: the whole CSL compiler on a layout file and a PE file.
//
// The input is the layout; after a line "=====" comes pe.csl. WSE-2 unless the layout begins with "//3".
#include <cstddef>
#include <cstdint>

#include "compile_any.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const size_t cut = text.find("=====\n");
  cs::fuzz::compile_any(text.substr(0, cut), cut == std::string::npos ? "" : text.substr(cut + 6), text);
  return 0;
}
