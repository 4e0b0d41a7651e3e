// What the encodings of tile code, descriptors, wavelets and the Program have room for. A machine has any
// number up to these; how many is its description's to say (machine.h). Nothing else in the code may assume a
// number.
#pragma once

#include <cstdint>
#include <string_view>

namespace cs::widths {

inline constexpr int kColors = 32;          // a descriptor names a color in 5 bits
inline constexpr int kQueues = 16;          // a descriptor names a queue in 4 bits
inline constexpr int kMicrothreads = 16;    // a descriptor names a microthread in 4 bits
inline constexpr int kTaskIds = 64;         // a control wavelet names a task in 6 bits
inline constexpr int kLocalTaskIds = 63;    // a DSR load names the local task to activate, or none, in 6 bits
inline constexpr int kSwitchPositions = 4;  // a color's register names the position in 2 bits
inline constexpr int kRegisters = 32;       // an instruction names a register in 5 bits
inline constexpr int kDsrs = 32;            // an instruction names a DSR in 5 bits
inline constexpr int kMemoryBytes = 1 << 16;  // an address has 16 bits and counts bytes
inline constexpr int kRampWavelets = 4;       // per cycle and direction
// A control wavelet carries as many commands for the routers on its way.
inline constexpr int kControlCommands = 8;

// Why a machine key cannot be larger than its range allows; empty for keys that no field limits.
std::string_view reason(std::string_view key);

}  // namespace cs::widths
