// Any text as MIR: it is rejected with a diagnostic, or it prints, reads back to the same text, and goes
// through all passes.
#include <cstdlib>

#include "compiler/csl/mir_passes.h"
#include "compiler/csl/mir_text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cs::csl;
  if (size > 20'000) return 0;
  cs::Diag diag;
  auto tile = mir::read(std::string(reinterpret_cast<const char*>(data), size), "fuzz.mir", diag);
  if (tile.has_value() != diag.ok()) std::abort();
  if (!tile) return 0;
  const std::string text = mir::print(*tile);
  const auto back = mir::read(text, "back.mir", diag);
  if (!back || mir::print(*back) != text) std::abort();
  mir::optimise(*tile, cs::Machine{}, {});
  return 0;
}
