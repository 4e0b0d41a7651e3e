// Any bytes as an ONNX model: refused with a diagnostic, or imported to a graph that verifies.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "compiler/frontend/frontend.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cs::Diag diag;
  const auto g =
      cs::frontend::import_onnx({reinterpret_cast<const char*>(data), size}, "fuzz.onnx", {}, diag);
  if (g.has_value() != diag.ok()) std::abort();
  if (g && !cs::graph::verify(*g, diag)) std::abort();
  return 0;
}
