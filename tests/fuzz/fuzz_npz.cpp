// Fuzz target: .npz archives and the .npy arrays in them.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/host/npz.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cs::Diag diag;
  (void)cs::parse_npz(std::string_view(reinterpret_cast<const char*>(data), size), "fuzz.npz", diag);
  return 0;
}
