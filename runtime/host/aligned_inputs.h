// Arrays whose address a Program relies on (HostTensor::align): those that begin elsewhere are cloned, or are an
// error.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "runtime/host/array_view.h"
#include "runtime/program/host_part.h"
#include "runtime/support/diag.h"

namespace cs {

// The inputs as a run takes them. Views of clones hold as long as this.
struct AlignedInputs {
  std::vector<ArrayView> views;
  std::deque<std::vector<uint64_t>> clones;  // words of 8 bytes, so that they are aligned
  std::vector<uint64_t> clone_bytes;         // of each clone
};
// An error for each array that is not where the Program needs it and may not be cloned: it names the input, how far
// it is off and the multiple that is needed.
bool align_inputs(const HostPart&, std::span<const ArrayView> inputs, AlignedInputs&, Diag&);

}  // namespace cs
