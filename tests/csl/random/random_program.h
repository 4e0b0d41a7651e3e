// Random CSL programs of one PE: functions, loops, branches, arrays, structures, DSD operations, @map, tasks.
#pragma once

#include <cstdint>
#include <string>

namespace cs::csl::test {

// The text of pe.csl behind the memcpy prologue. `main` and the task behind it leave every variable in the
// exported arrays out16 (u16) and out32 (u32). The same seed gives the same text. Programs end, stay in their
// arrays, and read nothing that is not written.
std::string random_program(uint64_t seed);

}  // namespace cs::csl::test
