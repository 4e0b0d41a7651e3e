// Any text as one line of assembly: it is rejected with a diagnostic, or it prints and reads back to itself.
#include <cstdlib>

#include "runtime/isa/isa.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  cs::Diag diag;
  const auto inst = cs::isa::parse_inst(text, {}, diag);
  if (inst.has_value() != diag.ok()) std::abort();
  if (!inst) return 0;
  const auto back = cs::isa::parse_inst(cs::isa::print(*inst), {}, diag);
  if (!back || !(*back == *inst)) std::abort();
  cs::isa::verify(*inst, cs::Machine{});
  return 0;
}
