// Any bytes are a machine or a diagnostic; an accepted machine is valid and its text form reads back equal.
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/machine/machine.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cs::Diag diag;
  const auto m = cs::parse_machine(std::string(reinterpret_cast<const char*>(data), size), "input", diag);
  if (!m && diag.ok()) __builtin_trap();
  if (m) {
    cs::Diag again;
    if (!cs::verify_machine(*m, again)) __builtin_trap();
    const auto back = cs::parse_machine(cs::machine_to_yaml(*m), "again", again);
    if (!back || !(*back == *m)) __builtin_trap();
  }
  return 0;
}
