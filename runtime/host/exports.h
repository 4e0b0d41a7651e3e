// Exported variables as arrays: where they lie, and what is in them at the present cycle.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/host/device.h"
#include "runtime/host/npz.h"

namespace cs {

// The smallest rectangle around the PEs that have the variable, in coordinates of the user rectangle, and its
// largest number of elements.
struct ExportExtent {
  Rect rect;
  uint32_t elements = 0;
  DataType type = DataType::f32;
};
std::optional<ExportExtent> extent_of_export(const Program&, const std::string& name);

// One of them as [h, w, n]; PEs without it, and elements beyond its end, are zeros. Takes no time. Nothing if
// no PE has it.
std::optional<NamedArray> read_export(Device&, const std::string& name);
// All of them, in the order of the program.
std::vector<NamedArray> read_exports(Device&);

}  // namespace cs
