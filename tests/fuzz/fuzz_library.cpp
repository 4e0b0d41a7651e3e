// Any bytes are a description of a library of kernels or a diagnostic.
#include <cstddef>
#include <cstdint>
#include <string>

#include "compiler/kernels/library.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cs::Diag diag;
  cs::kernels::Library library;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (cs::kernels::parse_library(text, "library.yaml", library, diag) != diag.ok()) __builtin_trap();
  return 0;
}
