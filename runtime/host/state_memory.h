// States of a program that lie in PE memory (HostState::parts), as whole tensors.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/host/device.h"
#include "runtime/host/npz.h"

namespace cs {

// What they are now, by name. `weights` is weights.bin, which says where each element is. False (reported) if
// it does not name elements of the tensor.
bool read_states(Device&, std::span<const uint8_t> weights, std::vector<NamedArray>& states, Diag&);
// They become what the arrays of their names say, in all PEs that have a part of them; the others stay. How many words
// this put where PEs have them, each found by the number of its element.
std::optional<uint64_t> write_states(Device&, std::span<const uint8_t> weights,
                                     const std::vector<NamedArray>& states, Diag&);

}  // namespace cs
