// Mnemonics and rates: see vector_instruction.h.
#include "compiler/autogen/vector_instruction.h"

#include <algorithm>

#include "compiler/kernels/cost_parts.h"

namespace cs::autogen {

VectorInstruction instruction_of(VectorKind kind) {
  switch (kind) {
    case VectorKind::add:
      return {"fadds"};
    case VectorKind::sub:
      return {"fsubs"};
    case VectorKind::mul:
      return {"fmuls"};
    case VectorKind::max:
      return {"fmaxs"};
    case VectorKind::multiply_add:
      return {"fmacs"};
    case VectorKind::negate:
      return {"fnegs"};
    case VectorKind::magnitude:
      return {"fabss"};
    case VectorKind::whole:
      return {"and16", true};
    case VectorKind::raise:
      return {"add16", true};
    case VectorKind::inverse:
      return {"sub16", true};
    case VectorKind::negative:
      return {"sar16", true};
    case VectorKind::both:
      return {"and16", true};
    case VectorKind::differ:
      return {"xor16", true};
    case VectorKind::scaled:
      return {"fscales"};
    case VectorKind::mantissa:
      return {"fnorms"};
    case VectorKind::opposite:
    case VectorKind::inverse_power:
    case VectorKind::root:
    case VectorKind::middle:
      return {"sub16", true};
    case VectorKind::finite:
      return {"and16", true};
    case VectorKind::exponent:
      return {"add16", true};
    default:
      return {"fmovs"};
  }
}

double elements_per_cycle(const char* mnemonic, size_t sources, const Machine& m) {
  return kernels::rate(mnemonic, int(std::max<size_t>(1, sources)), m);
}

double halves_per_cycle(const char* mnemonic, int sources, const Machine& m) {
  constexpr double kBytes = 2;
  return std::min({double(m.simd(mnemonic)), m.core.read_bytes_per_cycle / (kBytes * sources),
                   m.core.write_bytes_per_cycle / kBytes});
}

double start_cycles(size_t descriptors, const Machine& m) {
  return double(descriptors) * m.core.dsr_load_cycles - 1 + m.core.dsr_load_use_cycles + 1;
}

}  // namespace cs::autogen
