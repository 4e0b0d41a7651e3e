// An address says it all: nothing is compiled again for an array that lies elsewhere.
#include "runtime/host/aligned_inputs.h"

#include <cstring>

#include <fmt/format.h>

namespace cs {

bool align_inputs(const HostPart& host, std::span<const ArrayView> inputs, AlignedInputs& out, Diag& diag) {
  out.views.assign(inputs.begin(), inputs.end());
  bool ok = true;
  for (const HostTensor& t : host.inputs) {
    if (t.align == 0) continue;
    for (ArrayView& view : out.views) {
      if (view.name != t.name) continue;
      const uint64_t off = reinterpret_cast<uintptr_t>(view.bytes.data()) % uint64_t(t.align);
      if (off == 0 || view.bytes.empty()) continue;
      if (!t.clones) {
        diag.error_at("inputs",
                      fmt::format("array '{}' begins {} bytes behind a multiple of {}: the program was compiled with "
                                  "the promise that it begins at one",
                                  t.name, off, t.align),
                      "give an array that begins there, or compile with --align-policy always, which clones it, or "
                      "with --assume-aligned-inputs off");
        ok = false;
        continue;
      }
      std::vector<uint64_t>& clone = out.clones.emplace_back((view.bytes.size() + 7) / 8);
      std::memcpy(clone.data(), view.bytes.data(), view.bytes.size());
      out.clone_bytes.push_back(view.bytes.size());
      view.bytes = {reinterpret_cast<const uint8_t*>(clone.data()), view.bytes.size()};
    }
  }
  return ok;
}

}  // namespace cs
