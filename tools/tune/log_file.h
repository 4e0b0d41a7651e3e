// --autotune-log: a line for every measurement, whole or not at all, whatever ends the run.
#pragma once

#include <memory>
#include <string>

#include "runtime/support/diag.h"
#include "tools/api/measure.h"

namespace cs::tune {

// Null, reported, if the file cannot be made. It is empty at first.
std::unique_ptr<api::TuneLog> open_log(const std::string& path, Diag&);

}  // namespace cs::tune
