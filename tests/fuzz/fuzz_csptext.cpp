// Any text as .csptext: a Program or a diagnostic; what was read survives text and bytes.
#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/program/program.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  cs::Diag diag;
  const auto p = cs::parse_program_text(std::string(reinterpret_cast<const char*>(data), size), "p.csptext", diag);
  if (!p) {
    if (diag.ok()) __builtin_trap();
    return 0;
  }
  cs::Diag again;
  const auto back = cs::parse_program_text(cs::program_text(*p), "again", again);
  if (!back || cs::program_text(*back) != cs::program_text(*p)) __builtin_trap();
  cs::verify(*p, cs::Machine{}, diag);
  return 0;
}
