// What the parts of the library share; not installed.
#pragma once

#include <string>
#include <vector>

#include "runtime/host/array_view.h"
#include "runtime/host/device.h"
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
  std::string compile_report;                                    // compile_report.json; "" if there is none
  std::vector<std::pair<std::string, std::string>> more_files;  // of the folder, with their texts
};

std::vector<Message> messages_of(const cs::Diag&);
// Throws Error with everything that the diagnostics say.
[[noreturn]] void refuse(const cs::Diag&);

// The public figures of a report.
Statistics figures_of(const cs::sim::RunReport&);
LaunchInfo launch_of(const cs::LaunchSpan&);

// Throws Error if the bytes are not those of the shape.
cs::ArrayView view_of(const Array&);
cs::NamedArray to_named(const Array&);
Array from_named(cs::NamedArray&&);

inline Rectangle from_rect(const cs::Rect& r) { return {r.x, r.y, r.w, r.h}; }
inline cs::Rect to_rect(const Rectangle& r) { return {r.x, r.y, r.width, r.height}; }

}  // namespace wafersmith
