// The registers of a filter, as a core reads and writes them (docs/timing.md §6, configuration registers).
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/isa/config_space.h"
#include "runtime/program/program.h"

namespace cs::sim {

std::optional<uint16_t> read_filter_register(const FilterConfig&, uint16_t counter, isa::FilterReg);
void write_filter_register(FilterConfig&, uint16_t& counter, isa::FilterReg, uint16_t value);

}  // namespace cs::sim
