// Any text as host.yaml: a host part or a diagnostic; what was read is written and read back the same.
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/program/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cs::Diag diag;
  std::vector<cs::HostPort> ports, ports_again;
  const auto h =
      cs::host_part_from_yaml(std::string(reinterpret_cast<const char*>(data), size), "host.yaml", ports, diag);
  if (!h) {
    if (diag.ok()) __builtin_trap();
    return 0;
  }
  const std::string text = cs::host_part_to_yaml(*h, ports);
  cs::Diag again;
  const auto back = cs::host_part_from_yaml(text, "again", ports_again, again);
  if (!back || cs::host_part_to_yaml(*back, ports_again) != text) __builtin_trap();
  return 0;
}
