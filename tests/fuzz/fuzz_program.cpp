// Any bytes as program.fb: a Program or a diagnostic; verify() judges whatever came out, and a valid Program
// has a text.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "runtime/program/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const cs::Machine machine = [] {
    cs::Diag diag;
    return cs::load_machine("wse2", diag).value_or(cs::Machine{});
  }();
  cs::Diag diag;
  const auto p = cs::parse_program_bytes({reinterpret_cast<const char*>(data), size}, "program.fb", diag);
  if (!p) {
    if (diag.ok()) __builtin_trap();
    return 0;
  }
  if (cs::verify(*p, machine, diag)) {
    cs::verify_weights(*p, 1000, diag);
    cs::Diag again;
    const auto back = cs::parse_program_text(cs::program_text(*p), "text", again);
    if (!back) __builtin_trap();
  }
  return 0;
}
