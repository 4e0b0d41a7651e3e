// Conversion between tensors and wavelets.
#include "runtime/host/wavelets.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace cs {

bool to_wavelets(const std::string& name, const ops::Tensor& t, std::vector<uint32_t>& out, Diag& diag) {
  const size_t width = size_t(data_type_bytes(t.type.dtype));
  out.assign(size_t(t.elements()), 0);
  for (size_t i = 0; i < out.size(); ++i) {
    if (data_type_is_float(t.type.dtype)) {
      std::memcpy(&out[i], &t.bytes[i * width], std::min<size_t>(width, 4));
      continue;
    }
    const int64_t v = t.get_int(int64_t(i));
    if (v != int64_t(int32_t(v))) {
      diag.error_at(name, fmt::format("element {} is {}, PEs compute integers in 32 bits", i, v),
                    "use smaller values, or keep this operator on the host with --autogen-policy disabled");
      return false;
    }
    out[i] = uint32_t(int32_t(v));
  }
  return true;
}

void from_wavelet(uint32_t word, ops::Tensor& t, size_t i) {
  const size_t width = size_t(data_type_bytes(t.type.dtype));
  if (width <= 4) {
    std::memcpy(&t.bytes[i * width], &word, width);
  } else {
    t.set_int(int64_t(i), int32_t(word));
  }
}

}  // namespace cs
