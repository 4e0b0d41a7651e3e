// What the parts of the library share; not installed.
#pragma once

#include <string>
#include <vector>

#include "runtime/host/npz.h"
#include "runtime/program/program.h"
#include "runtime/support/diag.h"
#include "wafersmith/array.h"
#include "wafersmith/error.h"
#include "wafersmith/program.h"
#include "wafersmith/session.h"

namespace cs::sim {
struct RunReport;
}

namespace wafersmith {

struct Program::Data {
  cs::Program program;
  std::vector<uint8_t> weights;
  cs::Manifest manifest;
};

std::vector<Message> messages_of(const cs::Diag&);
// Throws Error with everything that the diagnostics say.
[[noreturn]] void refuse(const cs::Diag&);

// The public figures of a report.
Statistics figures_of(const cs::sim::RunReport&);

cs::NamedArray to_named(const Array&);
Array from_named(const cs::NamedArray&);

inline Rectangle from_rect(const cs::Rect& r) { return {r.x, r.y, r.w, r.h}; }
inline cs::Rect to_rect(const Rectangle& r) { return {r.x, r.y, r.width, r.height}; }

}  // namespace wafersmith
