// Memory of PEs as the linker laid it out.
#pragma once

#include "runtime/program/program.h"

namespace cs {

uint32_t tile_bytes(const TileProgram&);
// Of the kernels in the host part: what was planned for becomes what the largest of their PEs has.
void set_kernel_bytes(Program&);

}  // namespace cs
